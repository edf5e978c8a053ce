package main

import (
	"fmt"
	"io"
	"path/filepath"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/cmd/train/internal/terminal"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

func evalCommand(a *shell.App) *cobra.Command {
	var dataDir string
	c := &cobra.Command{
		Use:     "eval RUN",
		Short:   "Measure the model of a run on its test examples",
		Example: "  train eval runs/digits-1",
		Args:    shell.Args(1, 1, "one: the folder of a run, such as runs/digits-1"),
		RunE: func(c *cobra.Command, args []string) error {
			score, err := train.Evaluate(args[0], train.Options{DataDir: dataDir, RunsDir: filepath.Dir(filepath.Clean(args[0])), Computed: computed(a)})
			if err != nil {
				return err
			}
			a.Warn(score.Warning)
			return a.Print(score, func(w io.Writer) {
				fmt.Fprintf(w, "test accuracy   %.2f %% of %s %s\n", 100*score.TestAccuracy, terminal.Count(score.TestExamples), score.Noun)
				fmt.Fprintf(w, "test loss       %.4f\n", score.TestLoss)
				fmt.Fprintf(w, "privacy         %s\n", terminal.Guarantee(score.Epsilon, score.Delta, score.Accountant, score.EpsilonRDP))
			})
		},
	}
	dataDirFlag(c, &dataDir)
	return c
}
