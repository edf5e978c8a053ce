package main

import (
	"fmt"
	"io"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"

	"github.com/spf13/cobra"
)

// comparedPoints is how many points each curve of --plot has.
const comparedPoints = 40

func compareCommand(a *shell.App) *cobra.Command {
	q := question{unknown: account.Epsilon}
	var plot string
	c := &cobra.Command{
		Use:   "compare [RUN]",
		Short: "Compare what all accountants say about a run or planned steps",
		Long: `Ask every accountant for ε at δ and print the answers side by side: ε, which is an upper bound; a lower bound of
the true ε where the accountant has one; and how long it took to answer for the first time. Accountants that cannot
analyse the releases, or cannot certify their answer, say so. An estimate is no bound, and no promise can rest on it.

With --plot, also draw ε over steps, as SVG or PNG.`,
		Example: `  train compare runs/digits-1
  train compare --examples 60000 --batch-size 512 --epochs 40 --noise-multiplier 1.1 --delta 1e-5 --plot epsilon.svg
  train compare --sampling-probability 0.01 --steps 10000 --noise-multiplier 1 --delta 1e-5 --json`,
		Args: runArgs,
		RunE: func(c *cobra.Command, args []string) error {
			asked, err := q.read(a, c, args)
			if err != nil {
				return err
			}
			points := 0
			if plot != "" {
				points = comparedPoints
			}
			result, err := account.Compare(c.Context(), asked, points)
			return shell.ShowDrawn(a, plot, "ε over steps", printComparison)(result, unanswered(shell.Ended(c.Context(), err)))
		},
	}
	q.addFlags(c)
	shell.PictureFlag(c, &plot, "plot", "ε over steps")
	return c
}

// printComparison writes a table of each accountant's ε and, below it, why some gave none.
func printComparison(w io.Writer, c *account.Comparison) {
	what := fmt.Sprintf("%s releases", shell.Count(c.Releases))
	if c.NoiseMultiplier > 0 {
		what = fmt.Sprintf("%s steps with noise multiplier %.6g, sampling probability %.6g", shell.Count(c.Releases), c.NoiseMultiplier, c.SamplingProbability)
	}
	if c.GroupSize > 1 {
		what += fmt.Sprintf(", in groups of %s", shell.Count(c.GroupSize))
	}
	shell.Prosef(w, "%s\nε at δ = %g; datasets that differ by %s\n", shell.Cut(what, shell.Width), c.Delta, neighbours(c.Unit, c.Relation))
	table := [][]string{{"accountant", "ε", "at least", "ms"}}
	var refusals []account.Compared
	estimates := false
	for _, one := range c.Accountants {
		if one.Epsilon == nil {
			refusals = append(refusals, one)
			continue
		}
		epsilon, lower := shell.Epsilon(*one.Epsilon), "–"
		if one.Lower != nil {
			lower = shell.SignificantDown(*one.Lower, 8)
		}
		name := one.Accountant
		if one.Estimate {
			name, estimates = name+" *", true
		}
		table = append(table, []string{name, epsilon, lower, shell.Decimals(1000*one.Seconds, 2)})
	}
	if len(table) > 1 {
		shell.PrintTable(w, table)
	}
	if estimates {
		fmt.Fprintln(w, "* an estimate, not a bound")
	}
	if len(refusals) > 0 && len(table) > 1 {
		fmt.Fprintln(w)
	}
	const names = 12
	for _, one := range refusals {
		why := strings.TrimPrefix(strings.TrimPrefix(one.Error, "accountant: "), "unsupported: ")
		indent := fmt.Sprintf("%-*s", names, one.Accountant)
		for _, text := range shell.Wrap(why, shell.Width-names) {
			fmt.Fprintln(w, indent+text)
			indent = strings.Repeat(" ", names)
		}
	}
}
