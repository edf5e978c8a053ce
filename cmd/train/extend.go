package main

import (
	"fmt"
	"io"
	"math"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/folder"
	"dpsgd/internal/stats"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

func extendCommand(a *shell.App) *cobra.Command {
	var o train.Options
	var epsilon float64
	var steps int
	c := &cobra.Command{
		Use:   "extend RUN",
		Short: "Give a run more steps, by a larger budget or number of steps",
		Long: `Give a run more steps: as many as fit a larger --epsilon, at most --steps in all. Then train resume goes on.

What was spent counts on in the same ledger. That somebody who has seen results chose how long the run goes on has
a price, too, which is in every ε of the run from then on; and the statement says that the run was extended, after
which step and from what. The number of steps is one of a list that was fixed before the first step, which grows by
a fifth from one to the next. Noise, sampling and everything else stay as they are.`,
		Example: `  train extend runs/digits-1 --epsilon 4
  train extend runs/digits-1 --epsilon 4 --steps 700`,
		Args: shell.Args(1, 1, oneRun),
		RunE: func(c *cobra.Command, args []string) error {
			switch given := c.Flags().Changed; {
			case stats.IsRun(args[0]):
				return shell.Usagef("%s: found a run of statistics, expected one that trains; ask for more by another file", args[0])
			case !given("epsilon") && !given("steps"):
				return shell.Usagef("found neither --epsilon nor --steps, expected one of the two")
			case given("epsilon") && !(epsilon > 0 && !math.IsInf(epsilon, 1)):
				return shell.Usagef("found --epsilon %g, expected a finite number above 0", epsilon)
			case given("steps") && steps < 1:
				return shell.Usagef("found --steps %d, expected at least 1", steps)
			}
			display := a.Display()
			o.RunsDir, o.Warned = folder.Around(args[0]), display.Warned
			extended, err := train.Extend(args[0], epsilon, steps, o)
			return a.Print(extended, err, func(w io.Writer) { printExtended(w, extended, shell.DataGiven(c)) })
		},
	}
	c.Flags().Float64Var(&epsilon, "epsilon", 0, "the new budget")
	c.Flags().IntVar(&steps, "steps", 0, "the most steps in all, those that were made among them")
	dataFlags(a, c, &o.Request)
	a.ProgressFlag(c)
	return c
}

func printExtended(w io.Writer, e train.Extended, dataGiven string) {
	budget := ""
	if e.To.Epsilon > 0 {
		budget = fmt.Sprintf(" of %g", e.To.Epsilon)
	}
	fmt.Fprintf(w, "steps     %s in all, %s of them made; before, %s were planned\n", shell.Count(e.To.Steps), shell.Count(e.Step), shell.Count(e.From.Steps))
	fmt.Fprintf(w, "spent     ε = %s so far\n", accountant.RoundUp(e.SpentEpsilon, 3))
	fmt.Fprintf(w, "will be   ε = %s%s at δ = %g (%s), with the price of the choice\n", accountant.RoundUp(e.Epsilon, 3), budget, e.Delta, e.Accountant)
	fmt.Fprintf(w, "\ngo on with `train resume %s`\n", folder.Argument(e.Run)+dataGiven)
}
