package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/run"
	"dpsgd/internal/stats"

	"github.com/spf13/cobra"
)

func statsCommand(a *shell.App) *cobra.Command {
	var o run.Options
	var set, bounds []string
	c := &cobra.Command{
		Use:   "stats CONFIG|FOLDER|PRESET",
		Short: "Release private statistics of a data set",
		Long: `Release counts, sums, means, variances, histograms, quantiles and covariances of the training examples, each with the
interval of its noise. A file of statistics says which, by which mechanism, and who is trusted; of a folder or of the
configuration of a run it is classes, means, variances and quartiles. The budget is shared out, and never passed.

Bounds of columns are public: they stand in the file, come by --bounds, or are found privately, for a price.`,
		Example: `  train stats digits-statistics
  train stats digits --set privacy.epsilon=0.5 --json
  train stats people --bounds age=0:120 --bounds income=private --set 'data.classes=["no", "yes"]'`,
		Args: shell.Args(1, 1, "one: a file of statistics, a configuration, a preset, or a folder with data"),
		RunE: func(c *cobra.Command, args []string) error {
			given, err := configs.ParseBounds(bounds)
			if err != nil {
				return shell.AsUsage(err)
			}
			return runStats(a, c, args[0], set, given, o)
		},
	}
	dataDirFlag(c, &o.DataDir)
	runsDirFlag(c, &o.RunsDir)
	setFlag(c, &set)
	c.Flags().StringArrayVar(&bounds, "bounds", nil, "bounds of a column, as in --bounds age=0:120 or --bounds age=private (repeatable)")
	return c
}

// nameOf returns the name of a run of statistics: its file's or folder's, ending in -statistics.
func nameOf(path string) string {
	name := baseName(filepath.Clean(path))
	if name == "." || name == ".." || name == string(filepath.Separator) {
		return "statistics"
	}
	return strings.TrimSuffix(name, "-statistics") + "-statistics"
}

// runStats makes a new run of the statistics that name stands for, computes them and prints the
// results. name is a file of statistics, a configuration, a preset of either, or a folder with data
// ([stats.Read]).
func runStats(a *shell.App, c *cobra.Command, name string, set []string, bounds map[string]configs.Bounds, o run.Options) error {
	file, err := stats.Read(name, set, bounds)
	if err != nil {
		return shell.AsUsage(err)
	}
	o.Name, o.Warned, o.Waits = nameOf(name), a.Warn, a.Waits
	r, err := stats.Create(file, stats.Options{Options: o})
	return answerStats(a, c, r, err)
}

func resumeStats(a *shell.App, c *cobra.Command, dir string, o run.Options) error {
	o.Warned, o.Waits = a.Warn, a.Waits
	r, err := stats.Open(dir, stats.Options{Options: o})
	return answerStats(a, c, r, err)
}

// answerStats answers the statistics of r that have no answer yet, and prints the results of all as
// a table, with --json also each as an object. If err, of making r, is not nil, it returns that.
func answerStats(a *shell.App, c *cobra.Command, r *stats.Run, err error) error {
	if err != nil {
		return err
	}
	defer r.Close()
	defer a.Saving()()
	if err := r.CarryOut(c.Context()); err != nil {
		return err
	}
	for _, result := range r.Results {
		if err := a.PrintJSON(result); err != nil {
			return err
		}
	}
	shown, table := a.Display(), stats.Table(r.Results)
	for _, line := range table {
		line[1] = shell.Cut(shell.Plain(line[1]), 24)
	}
	shell.PrintTable(shown.W, table)
	fmt.Fprintf(shown.W, "\nprivacy   %s\nin %s: statistics.jsonl, privacy.md\n", r.Spent(), r.Dir)
	return stopped(a, c, r.Status, fmt.Sprintf("with %d statistics answered; %s", len(r.Results), goOn(c, r.Dir)), nil)
}
