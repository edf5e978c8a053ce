package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/selftest"

	"github.com/spf13/cobra"
)

func selftestCommand(a *shell.App, run func(context.Context, *configs.Config, int, func(selftest.Check)) (*selftest.Result, error)) *cobra.Command {
	var set []string
	var examples int
	c := &cobra.Command{
		Use:   "selftest [CONFIG|PRESET]",
		Short: "Check what ε rests on, with a network of yours and random data",
		Long: `Check what the ε of runs of a configuration rests on: the gradients of single examples, which every layer has a rule
for, isolation, how far one record moves the sum, noise, samples, the ledger, and that public files depend on the data
through noisy vectors alone.

It computes on random examples of the shape that the configuration declares and reads no example. Files of your own
data are counted; --examples takes a number in place of that. What it writes goes into a temporary folder.`,
		Example: `  train selftest
  train selftest own.yaml --examples 4500`,
		Args: shell.Args(0, 1, oneConfig),
		RunE: func(c *cobra.Command, args []string) error {
			name, config, err := plannedConfig(c, args, set, examples)
			if err != nil {
				return err
			}
			told := func(done selftest.Check) {
				if !a.JSON {
					printCheck(a.Out, done)
				}
			}
			r, err := run(c.Context(), config, examples, told)
			if err != nil {
				return configs.Placed(shell.Ended(c.Context(), err), name, set)
			}
			return cmp.Or(a.Print(r, nil, func(io.Writer) {}), r.Err())
		},
	}
	setFlag(c, &set)
	examplesFlag(c, &examples)
	return c
}

func printCheck(w io.Writer, c selftest.Check) {
	switch {
	case c.Skipped != "":
		shell.Prosef(w, "–       %-18s  %s", c.Name, c.Skipped)
	case c.Passed:
		shell.Prosef(w, "holds   %-18s  %s%s", c.Name, c.Measured, byChance(c.Chance))
	default:
		shell.Prosef(w, "FAILED  %-18s  %s%s", c.Name, c.Measured, byChance(c.Chance))
		for _, fault := range c.Faults {
			shell.Prosef(w, "        %s", fault)
		}
		shell.Prosef(w, "        This means: %s", c.Means)
	}
}

func byChance(p float64) string {
	if p == 0 {
		return ""
	}
	return fmt.Sprintf("; fails by chance at most %.2g of the times", p)
}
