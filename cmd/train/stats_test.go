package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
)

// With --json there is one object for each statistic, with exactly these keys.
func TestStatisticsAsJSON(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(succeed(t, "stats", own(t, 5), "--set", "privacy.epsilon=1", "--json"), "\n"), "\n")
	var kinds []string
	for _, line := range lines {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		var keys []string
		for key := range object {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		if want := []string{"column", "delta", "epsilon", "high", "low", "mechanism", "statistic", "value"}; !slices.Equal(keys, want) {
			t.Errorf("found the keys %q, expected %q", keys, want)
		}
		kinds = append(kinds, object["statistic"].(string)+" of "+object["column"].(string))
	}
	if want := []string{"histogram of label", "mean of brightness", "variance of brightness", "quantiles of brightness"}; !slices.Equal(kinds, want) {
		t.Errorf("found %q, expected %q", kinds, want)
	}
}

// The run of statistics is one among others for every command that looks at runs.
func TestStatisticsAreARun(t *testing.T) {
	t.Chdir(t.TempDir())
	const run = "runs/own-statistics-1"
	tiny.Write(t, "own.yaml", "data: {folder: "+pictures(t)+", classes: [up, down], size: 8, channels: 1}\nprivacy: {epsilon: 1, delta: 1e-3}\nstatistics:\n"+
		"  - {statistic: histogram, column: label, trust: shuffler}\n  - {statistic: quantiles, column: brightness, quantiles: [0.25, 0.5, 0.75]}\n")
	out := succeed(t, "stats", "own.yaml")
	if !strings.Contains(out, " of 1 at δ = 0.001") || !strings.Contains(out, "randomized response, mixed") {
		t.Errorf("found\n%s\nexpected what was spent, and by which mechanisms", out)
	}
	if list := succeed(t, "runs"); !strings.Contains(list, "own-statistics-1  pictures  0.9") || !strings.Contains(list, "done") {
		t.Errorf("found\n%s\nexpected the run with its ε", list)
	}
	if r := lastLine(t, succeed(t, "epsilon", run, "--json")); r["epsilon"].(float64) > 1 || r["epsilon"].(float64) < 0.99 {
		t.Errorf("found %v, expected ε 1", r)
	}
	succeed(t, "ledger", "verify")
	succeed(t, "report", run, "-o", "report.html")
	says(t, tiny.Read(t, "report.html"), "The quantiles of brightness", "discrete laplace", "train stats own-statistics-1.yaml")
	before := tiny.Read(t, filepath.Join(run, "statistics.jsonl"))
	succeed(t, "resume", run)
	if after := tiny.Read(t, filepath.Join(run, "statistics.jsonl")); before != after {
		t.Errorf("found %q after a resume, expected %q", after, before)
	}
	refused(t, shell.ExitUsage, "found a run of statistics, expected one that trains", "extend", run, "--epsilon", "2")
	refused(t, command("eval", run).code, "holds statistics, expected a run that trains", "eval", run)
}

// Every mistake is one line that says what was found and what was expected.
func TestWrongStatistics(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Check(t, os.Mkdir("empty", 0o700))
	tiny.Write(t, "wrong.yaml", "data: {name: digits}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: mode, column: label}]\n")
	for _, tt := range []struct {
		args, want string
		code       int
	}{
		{"stats", "expected one: a file of statistics, a configuration, a preset, or a folder with data", 2},
		{"stats nosuch", `found no file of statistics and no file "nosuch"`, 2},
		{"stats empty", `found data "empty", expected one of digits`, 2},
		{"stats wrong.yaml", "wrong.yaml:3:26: statistics[0].statistic: found mode, expected one of count, sum", 2},
		{"stats digits --bounds age", "found --bounds age, expected NAME=LOW:HIGH", 2},
		{"stats digits --bounds age=3:1", "found --bounds age=3:1, expected NAME=LOW:HIGH", 2},
		{"stats digits --bounds age=0:NaN", "found --bounds age=0:NaN, expected NAME=LOW:HIGH", 2},
		{"stats digits --bounds age=0:1", "--bounds: found age, expected columns that a statistic with bounds is of", 2},
		{"stats digits-statistics --set privacy.delta=0.1", "privacy.delta is 0.1, expected less than 1/n", 2},
		{"stats digits-statistics --set training.steps=1", "--set training.steps: found a key without a meaning for statistics", 2},
		{"stats mnist-statistics --data-dir here", "train data fetch mnist --data-dir here", 3},
		{"resume runs/nosuch", "runs/nosuch", 4},
	} {
		refused(t, tt.code, tt.want, strings.Fields(tt.args)...)
	}
	if _, err := os.Stat("runs"); err == nil {
		t.Error("a folder of runs was made")
	}
}
