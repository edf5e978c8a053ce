package main

import (
	"fmt"
	"io"
	"slices"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"

	"github.com/spf13/cobra"
)

func tradeoffCommand(a *shell.App) *cobra.Command {
	q := &question{unknown: account.Epsilon}
	var out string
	c := &cobra.Command{
		Use:   "tradeoff [RUN]",
		Short: "Say what an attacker can find out about one record",
		Long: `Say what an attacker can find out about one record who sees everything that was released and knows all other
records: ε at many δ; the errors of the best test for whether the record was there, which is the trade-off curve of f-DP;
and what he believes afterwards who believed something before.

With the folder of a run: of everything in its ledger. Without one: of --steps updates with the given noise and sampling.`,
		Example: `  train tradeoff runs/digits-1 --out tradeoff.svg
  train tradeoff --sampling-probability 0.01 --steps 1000 --noise-multiplier 1 --delta 1e-5`,
		Args: runArgs,
		RunE: func(c *cobra.Command, args []string) error {
			asked, err := q.read(a, c, args)
			if err != nil {
				return err
			}
			t, err := account.AskTradeoff(asked)
			return shell.ShowDrawn(a, out, picture, printTradeoff)(t, unanswered(err))
		},
	}
	q.addFlags(c)
	q.accountantFlag(c)
	shell.PictureFlag(c, &out, "out", "a picture")
	return c
}

// shownErrors lists the rates of false alarms that have a row in the table for people.
var shownErrors = []float64{1e-5, 1e-3, 0.01, 0.1, 0.5}

// printTradeoff writes three tables: ε at δ, the errors of the best test for a record, and beliefs.
func printTradeoff(w io.Writer, t *account.Tradeoff) {
	shell.Prosef(w, "%s releases; %s; datasets that differ by %s\n", shell.Count(t.Releases), t.Accountant, neighbours(t.Unit, t.Relation))
	shell.PrintRows(w, []string{"δ", "ε"}, t.Epsilons, func(p accountant.ProfilePoint) []string {
		return []string{fmt.Sprintf("%.0e", p.Delta), shell.Epsilon(p.Epsilon)}
	})
	shell.Prosef(w, "\nWhich of two such datasets was it? How well the best test can tell:\n")
	table := [][]string{{"false alarms %", "notices at most %", "misses at least %"}}
	for _, e := range t.Curve {
		if slices.Contains(shownErrors, e.FalsePositive) {
			table = append(table, []string{fmt.Sprintf("%g", 100*e.FalsePositive), accountant.RoundUp(100*(1-e.FalseNegative), 4), accountant.RoundDown(100*e.FalseNegative, 4)})
		}
	}
	shell.PrintTable(w, table)
	shell.Prosef(w, "\nWhere both are equally likely, a guess is right in at most %s %% of cases.", accountant.RoundUp(100*t.BestGuess, 2))
	shell.Prosef(w, "Somebody's belief that it was the one, before and after. Each bound fails with a probability of at most %.3g (10·δ):\n", t.Except)
	shell.PrintRows(w, []string{"before %", "at least %", "at most %"}, t.Beliefs, func(b accountant.Belief) []string {
		return []string{fmt.Sprintf("%g", 100*b.Prior), shell.SignificantDown(100*b.Low, 4), belief(b.High)}
	})
}

// belief returns p in percent, rounded up: to 4 significant digits or, above 0.999, to 6 decimals.
func belief(p float64) string {
	if p > 0.999 {
		return accountant.RoundUp(100*p, 6)
	}
	return shell.SignificantUp(100*p, 4)
}
