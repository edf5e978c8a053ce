package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/cmd/train/internal/terminal"
	"dpsgd/configs/statistics"
	"dpsgd/internal/folder"
	"dpsgd/internal/stats"

	"github.com/spf13/cobra"
)

func statsCommand(a *shell.App) *cobra.Command {
	var dataDir, runsDir string
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
			given, err := parseBounds(bounds)
			if err != nil {
				return err
			}
			file, err := stats.Read(args[0], set, given)
			if err != nil {
				return shell.AsUsage(err)
			}
			run, err := stats.Create(file, stats.Options{DataDir: dataDir, RunsDir: runsDir, Name: nameOf(args[0])})
			if err != nil {
				return err
			}
			return answerStats(a, c, run)
		},
	}
	dataDirFlag(c, &dataDir)
	runsDirFlag(c, &runsDir)
	setFlag(c, &set)
	c.Flags().StringArrayVar(&bounds, "bounds", nil, "bounds of a column, as in --bounds age=0:120 or --bounds age=private (repeatable)")
	return c
}

// nameOf names runs after their file or their folder of data, statistics as they are.
func nameOf(path string) string {
	name := baseName(filepath.Clean(path))
	if name == "." || name == ".." || name == string(filepath.Separator) {
		return "statistics"
	}
	return strings.TrimSuffix(name, "-statistics") + "-statistics"
}

// parseBounds reads NAME=LOW:HIGH and NAME=private.
func parseBounds(texts []string) (map[string]statistics.Bounds, error) {
	bounds := map[string]statistics.Bounds{}
	for _, text := range texts {
		refused := shell.Usagef("found --bounds %s, expected NAME=LOW:HIGH with finite numbers, LOW below HIGH, or NAME=private", text)
		at := strings.LastIndex(text, "=")
		if at < 1 {
			return nil, refused
		}
		if text[at+1:] == "private" {
			bounds[text[:at]] = statistics.Bounds{Private: true}
			continue
		}
		low, high, found := strings.Cut(text[at+1:], ":")
		from, errLow := strconv.ParseFloat(low, 64)
		to, errHigh := strconv.ParseFloat(high, 64)
		if !found || errors.Join(errLow, errHigh) != nil || !(from < to) || from < -1e12 || to > 1e12 {
			return nil, refused
		}
		bounds[text[:at]] = statistics.Bounds{Interval: statistics.Interval{Low: from, High: to}}
	}
	return bounds, nil
}

func resumeStats(a *shell.App, c *cobra.Command, dir, dataDir, dataFolder string) error {
	run, err := stats.Open(dir, stats.Options{DataDir: dataDir, DataFolder: dataFolder})
	if err != nil {
		return err
	}
	return answerStats(a, c, run)
}

// answerStats answers what has no answer, and prints all results: with --json one object for each.
func answerStats(a *shell.App, c *cobra.Command, run *stats.Run) error {
	defer run.Close()
	a.Saves(true)
	defer a.Saves(false)
	results, status, err := run.Answer(c.Context())
	if err != nil {
		return err
	}
	for _, r := range results {
		if err := a.PrintJSON(r); err != nil {
			return err
		}
	}
	shown := a.Display()
	printStats(shown.W, run, results)
	if status != stats.Interrupted {
		return nil
	}
	fmt.Fprintf(a.Err, "train: stopped with %d statistics answered; go on with `train resume %s`\n", len(results), folder.Argument(run.Dir)+shell.DataGiven(c))
	return shell.Stopped(c.Context())
}

// mostNumbers is how many numbers of a list are shown.
const mostNumbers = 16

func printStats(w io.Writer, run *stats.Run, results []stats.Result) {
	table := [][]string{{"statistic", "of", "value", "95 %", "ε"}}
	for _, r := range results {
		how := strings.ReplaceAll(r.Mechanism, "_", " ")
		if r.Trust == statistics.Shuffler {
			how += ", mixed"
		}
		head := []string{r.Statistic, terminal.Cut(terminal.Plain(r.Column), 24), "", how, accountant.RoundUp(r.Epsilon, 4)}
		switch {
		case r.Lost():
			head[2] = "lost"
		case r.Refused:
			head[2] = "no answer"
		case r.Value.One:
			head[2], head[3] = figures(r.Value.List[0]), interval(r, 0)
		}
		table = append(table, head)
		for i := range min(len(r.Value.List), mostNumbers) {
			if !r.Value.One {
				table = append(table, []string{"", "  " + terminal.Cut(terminal.Plain(r.Names[i]), 22), figures(r.Value.List[i]), interval(r, i), ""})
			}
		}
		if more := len(r.Value.List) - mostNumbers; more > 0 {
			table = append(table, []string{"", fmt.Sprintf("  and %s more", terminal.Count(more)), "", "", ""})
		}
	}
	terminal.PrintTable(w, table)
	fmt.Fprintf(w, "\nprivacy   %s\nin %s: statistics.jsonl, privacy.md\n", run.Spent(), run.Dir)
}

// interval is that of the noise on a number.
func interval(r stats.Result, i int) string {
	if r.Low.List[i] == r.High.List[i] {
		return ""
	}
	return figures(r.Low.List[i]) + " to " + figures(r.High.List[i])
}

// figures writes a number with the digits that a person reads.
func figures(x float64) string {
	if x == float64(int64(x)) && x < 1e9 && x > -1e9 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
