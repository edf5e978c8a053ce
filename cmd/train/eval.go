package main

import (
	"fmt"

	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

func (a *app) evalCommand() *cobra.Command {
	var dataDir string
	c := &cobra.Command{
		Use:     "eval RUN",
		Short:   "Measure the model of a run on its test pictures",
		Example: "  train eval runs/digits-1",
		Args:    args(1, 1, "one: the folder of a run, such as runs/digits-1"),
		RunE: func(c *cobra.Command, args []string) error {
			score, err := train.Evaluate(args[0], train.Options{DataDir: dataDir})
			if err != nil {
				return err
			}
			a.warn(score.Warning)
			if a.json {
				return a.printJSON(score)
			}
			fmt.Fprintf(a.out, "test accuracy   %.2f %% of %s %s\n", 100*score.TestAccuracy, count(score.TestExamples), score.Noun)
			fmt.Fprintf(a.out, "test loss       %.4f\n", score.TestLoss)
			fmt.Fprintf(a.out, "privacy         %s\n", guarantee(score.Epsilon, score.Delta, score.Accountant, score.EpsilonRDP))
			return nil
		},
	}
	dataDirFlag(c, &dataDir)
	return c
}
