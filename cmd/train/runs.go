package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/report"

	"github.com/spf13/cobra"
)

func runsCommand(a *shell.App) *cobra.Command {
	var runsDir string
	c := &cobra.Command{
		Use:   "runs",
		Short: "List runs: what they have spent and left, accuracy, status",
		Long: `List the runs and sweeps of a folder: their data, the ε that each of them has spent and has left of its budget,
the newest test accuracy, and how it stands. A sweep has one line: the ε of all its trials together, and the best
accuracy among them. Runs that are damaged, or whose folder is gone, are named; train ledger verify says more.`,
		Example: `  train runs
  train runs --runs-dir runs --json`,
		Args: shell.None,
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := report.Lines(runsDir)
			return a.Print(map[string]any{"runs": list}, err, func(w io.Writer) { printRuns(w, runsDir, list) })
		},
	}
	ledgerDirFlag(c, &runsDir)
	return c
}

// Widths at which the names of runs and of data are cut, so that a line fits 80 columns.
const (
	runWidth  = 28
	dataWidth = 14
)

// testOf returns the test accuracy of a run in percent, or in words its mean test error.
func testOf(r report.Line) string {
	if r.Numbers() {
		return "error " + r.Test.String()
	}
	return r.Bare()
}

func printRuns(w io.Writer, dir string, list []report.Line) {
	if len(list) == 0 {
		fmt.Fprintf(w, "no runs in %s; `train run` makes one\n", dir)
		return
	}
	table := [][]string{{"run", "data", "ε", "left", "test %", "status"}}
	var problems []string
	for _, r := range list {
		if r.Sweep != "" {
			continue
		}
		name, left := filepath.Base(r.Run), "–"
		if r.Left != nil {
			left = accountant.RoundDown(*r.Left, 3)
		}
		if r.Trials > 0 {
			name += fmt.Sprintf(" (%s trials)", shell.Count(r.Trials))
		}
		table = append(table, []string{
			shell.Cut(name, runWidth), shell.Cut(cmp.Or(r.Data, "–"), dataWidth),
			account.OrDash(r.Epsilon), left, testOf(r), r.Status,
		})
		if r.Problem != "" {
			problems = append(problems, name+": "+r.Problem)
		}
	}
	shell.PrintTable(w, table)
	limits, err := books.Limits(dir)
	for i, limit := range limits {
		fmt.Fprint(w, strings.Repeat("\n", 1-min(i, 1)), limit, "\n")
	}
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, problem := range problems {
		fmt.Fprintf(w, "\n%s\n", strings.Join(shell.Wrap(problem, shell.Width), "\n"))
	}
}
