package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"dpsgd/internal/chart"
	"dpsgd/internal/questions"

	"github.com/spf13/cobra"
)

// comparedPoints is how many points the curves of a plot have.
const comparedPoints = 40

func (a *app) compareCommand() *cobra.Command {
	q := question{unknown: questions.Epsilon}
	var plot string
	c := &cobra.Command{
		Use:   "compare [RUN]",
		Short: "Compare what all accountants say about a run's ledger, or about planned steps",
		Long: `Ask every accountant for ε at δ and print the answers side by side: ε, which is an upper bound; a lower bound of
the true ε where the accountant has one; and how long it took to answer for the first time. Accountants that cannot
analyse the releases, or cannot certify their answer, say so. An estimate is no bound, and no promise can rest on it.

With --plot, also draw ε over steps, as SVG or PNG.`,
		Example: `  train compare runs/digits-1
  train compare --examples 60000 --batch-size 512 --epochs 40 --noise-multiplier 1.1 --delta 1e-5 --plot epsilon.svg
  train compare --sampling-probability 0.01 --steps 10000 --noise-multiplier 1 --delta 1e-5 --json`,
		Args: runArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if given := c.Flags().Changed("plot"); given && !slices.Contains(chart.Formats(), strings.ToLower(filepath.Ext(plot))) {
				return usagef("found --plot %s, expected a file that ends in %s", plot, strings.Join(chart.Formats(), " or "))
			}
			asked, err := q.read(c, args)
			if err != nil {
				return err
			}
			a.warn(q.warning)
			return a.compare(c, asked, plot)
		},
	}
	q.addFlags(c)
	c.Flags().StringVar(&plot, "plot", "", "also draw ε over steps into this file, .svg or .png")
	return c
}

func (a *app) compare(c *cobra.Command, asked questions.Question, plot string) error {
	points := 0
	if plot != "" {
		points = comparedPoints
	}
	result, err := questions.Compare(c.Context(), asked, points)
	if c.Context().Err() != nil {
		return stopped(c.Context())
	}
	if err != nil {
		return unanswered(err)
	}
	if plot != "" {
		if err := result.WritePlot(plot); err != nil {
			return err
		}
	}
	return a.print(result, func(w io.Writer) {
		printComparison(w, result)
		if plot != "" {
			fmt.Fprintf(w, "\nin %s: ε over steps\n", plot)
		}
	})
}

// terminalWidth is the width of a terminal on which everything can be read.
const terminalWidth = 80

// printComparison writes a table of the answers and, below it, the refusals.
func printComparison(w io.Writer, c *questions.Comparison) {
	what := fmt.Sprintf("%s releases", count(c.Releases))
	if c.NoiseMultiplier > 0 {
		what = fmt.Sprintf("%s steps with noise multiplier %.6g, sampling probability %.6g", count(c.Releases), c.NoiseMultiplier, c.SamplingProbability)
	}
	if c.GroupSize > 1 {
		what += fmt.Sprintf(", in groups of %s", count(c.GroupSize))
	}
	fmt.Fprintf(w, "%s\nε at δ = %g; datasets that differ by %s\n\n", cut(what, terminalWidth), c.Delta, c.Relation)
	table := [][]string{{"accountant", "ε", "at least", "ms"}}
	var refusals []questions.Compared
	estimates := false
	for _, one := range c.Accountants {
		if one.Epsilon == nil {
			refusals = append(refusals, one)
			continue
		}
		epsilon, lower := epsilonText(*one.Epsilon), "–"
		if one.Lower != nil {
			lower = significantDown(*one.Lower, 8)
		}
		name := one.Accountant
		if one.Estimate {
			name, estimates = name+" *", true
		}
		table = append(table, []string{name, epsilon, lower, decimals(1000*one.Seconds, 2)})
	}
	if len(table) > 1 {
		printTable(w, table)
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
		for _, text := range wrap(why, terminalWidth-names) {
			fmt.Fprintln(w, indent+text)
			indent = strings.Repeat(" ", names)
		}
	}
}

// wrap breaks a text into lines at spaces; a longer word is cut.
func wrap(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		word = cut(word, width)
		if n := len(lines); n > 0 && utf8.RuneCountInString(lines[n-1])+1+utf8.RuneCountInString(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
