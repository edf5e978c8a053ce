package main

import (
	"fmt"
	"io"

	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

func (a *app) evalCommand() *cobra.Command {
	var dataDir string
	c := &cobra.Command{
		Use:     "eval RUN",
		Short:   "Measure the model of a run on its test examples",
		Example: "  train eval runs/digits-1",
		Args:    args(1, 1, "one: the folder of a run, such as runs/digits-1"),
		RunE: func(c *cobra.Command, args []string) error {
			score, err := train.Evaluate(args[0], train.Options{DataDir: dataDir})
			if err != nil {
				return err
			}
			a.warn(score.Warning)
			return a.print(score, func(w io.Writer) {
				fmt.Fprintf(w, "test accuracy   %.2f %% of %s %s\n", 100*score.TestAccuracy, count(score.TestExamples), score.Noun)
				fmt.Fprintf(w, "test loss       %.4f\n", score.TestLoss)
				fmt.Fprintf(w, "privacy         %s\n", guarantee(score.Epsilon, score.Delta, score.Accountant, score.EpsilonRDP))
			})
		},
	}
	dataDirFlag(c, &dataDir)
	return c
}
