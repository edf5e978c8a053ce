package main

import (
	"encoding/json"
	"fmt"
	"maps"
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
		same(t, "keys", fmt.Sprint(slices.Sorted(maps.Keys(object))), "[column delta epsilon high low mechanism statistic value]")
		kinds = append(kinds, object["statistic"].(string)+" of "+object["column"].(string))
	}
	same(t, "statistics", strings.Join(kinds, ", "), "histogram of label, mean of brightness, variance of brightness, quantiles of brightness")
}

// The run of statistics is one among others for every command that looks at runs.
func TestStatisticsAreARun(t *testing.T) {
	t.Chdir(t.TempDir())
	const run = "runs/own-statistics-1"
	tiny.Write(t, "own.yaml", "data: {folder: "+pictures(t)+", classes: [up, down], size: 8, channels: 1}\nprivacy: {epsilon: 1, delta: 1e-3}\nstatistics:\n"+
		"  - {statistic: histogram, column: label, trust: shuffler}\n  - {statistic: quantiles, column: brightness, quantiles: [0.25, 0.5, 0.75]}\n")
	out := succeed(t, "stats", "own.yaml")
	says(t, out, " of 1 at δ = 0.001", "randomized response, mixed")
	says(t, succeed(t, "runs"), "own-statistics-1  pictures  0.9", "done")
	if r := lastLine(t, succeed(t, "epsilon", run, "--json")); r["epsilon"].(float64) > 1 || r["epsilon"].(float64) < 0.99 {
		t.Errorf("found %v, expected ε 1", r)
	}
	succeed(t, "ledger", "verify")
	succeed(t, "report", run, "-o", "report.html")
	says(t, tiny.Read(t, "report.html"), "The quantiles of brightness", "discrete laplace", "train stats own-statistics-1.yaml")
	before := tiny.Read(t, filepath.Join(run, "statistics.jsonl"))
	succeed(t, "resume", run)
	same(t, "after a resume", tiny.Read(t, filepath.Join(run, "statistics.jsonl")), before)
	refused(t, shell.ExitUsage, "found a run of statistics, expected one that trains", "extend", run, "--epsilon", "2")
	refused(t, shell.ExitUsage, "found a run of statistics, expected one that trains", "audit", run)
	refused(t, shell.ExitUsage, "", "calibrate", run)
	refused(t, command("eval", run).code, "holds statistics, expected a run that trains", "eval", run)
}

// Every mistake is one line that says what was found and what was expected.
func TestWrongStatistics(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Check(t, os.Mkdir("empty", 0o700))
	tiny.Write(t, "wrong.yaml", "data: {name: digits}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: mode, column: label}]\n")
	for args, want := range map[string]string{
		"stats":                           "expected one: a file of statistics, a configuration, a preset, or a folder with data",
		"stats nosuch":                    `found no file of statistics and no file "nosuch"`,
		"stats empty":                     `found data "empty", expected one of digits`,
		"stats wrong.yaml":                "wrong.yaml:3:26: statistics[0].statistic: found mode, expected one of count, sum",
		"stats digits --bounds age":       "found --bounds age, expected NAME=LOW:HIGH",
		"stats digits --bounds age=3:1":   "found --bounds age=3:1, expected NAME=LOW:HIGH",
		"stats digits --bounds age=0:NaN": "found --bounds age=0:NaN, expected NAME=LOW:HIGH",
		"stats digits --bounds age=0:1":   "--bounds: found age, expected columns that a statistic with bounds is of",
		"stats digits-statistics --set privacy.delta=0.1": "privacy.delta is 0.1, expected less than 1/n",
		"stats digits-statistics --set training.steps=1":  "--set training.steps: found a key without a meaning for statistics",
	} {
		refused(t, shell.ExitUsage, want, strings.Fields(args)...)
	}
	refused(t, shell.ExitData, "train data fetch mnist --data-dir here", strings.Fields("stats mnist-statistics --data-dir here")...)
	refused(t, shell.ExitDamaged, "runs/nosuch", strings.Fields("resume runs/nosuch")...)
	if _, err := os.Stat("runs"); err == nil {
		t.Error("a folder of runs was made")
	}
}

// teachersOf are the overrides that make a configuration of pictures one of teachers.
func teachersOf(teachers string) []string {
	var args []string
	for _, set := range []string{"pate.teachers=" + teachers, "pate.pool=5", "pate.aggregation=gnmax", "pate.noise=20", "privacy.epsilon=10"} {
		args = append(args, "--set", set)
	}
	return args
}

// The result has exactly the promised keys, and what reads runs reads this one.
func TestPate(t *testing.T) {
	config := own(t, 5)
	result := lastLine(t, succeed(t, append([]string{"pate", config, "--json"}, teachersOf("4")...)...))
	same(t, "keys", fmt.Sprint(slices.Sorted(maps.Keys(result))), "[answered delta epsilon epsilon_data_dependent_not_private epsilon_released queries run seconds status student_accuracy teacher_accuracy_not_private]")
	run, _ := result["run"].(string)
	for _, args := range [][]string{{"eval", run}, {"epsilon", run}, {"runs"}, {"ledger", "verify"}, {"export", run}, {"card", run}, {"resume", run}, {"report", run}} {
		succeed(t, args...)
	}
	succeed(t, "card", run, "-o", "card.md")
	says(t, tiny.Read(t, "card.md"), fmt.Sprint("value: ", result["student_accuracy"]))
	says(t, tiny.Read(t, run+"/privacy.md"), "votes.private.jsonl")
	config = own(t, 5)
	says(t, succeed(t, append([]string{"pate", config}, teachersOf("4")...)...), "(NOT PRIVATE: not released)", "(NOT PRIVATE)  answered")
}

// Votes of a file are analysed by the section of a configuration, what depends on them is marked,
// and nothing is written.
func TestPateOfVotes(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Write(t, "votes.csv", strings.Repeat("90,5,5\n", 40))
	said := succeed(t, "pate", "pate-digits", "--votes", "votes.csv")
	matches(t, said, "100 teachers, 40 questions, 3 classes", `privacy         ε = 1\.467 at δ = 1e-05 for any votes, 40 answers`, `data-dependent  ε = 1\.167 \(NOT PRIVATE: `)
	if result := lastLine(t, succeed(t, "pate", "pate-digits", "--votes", "votes.csv", "--json")); result["answers"] != 40. || result["epsilon"].(float64) > 3 {
		t.Errorf("found %v", result)
	}
	refused(t, 2, "none.csv", "pate", "pate-digits", "--votes", "none.csv")
	refused(t, 2, "", "pate", "pate-digits", "--votes", "")
	if files, err := os.ReadDir("."); err != nil || len(files) != 1 {
		t.Errorf("found %v, %v", files, err)
	}
}

// A federated run ends with one object of these keys; the commands for runs take it like every
// other, and run takes its configuration.
func TestFederated(t *testing.T) {
	config := "own.yaml"
	tiny.Check(t, os.Rename(own(t, 4), config))
	clients := []string{"--set", "federated.clients=20", "--set", "training.batch_size=10"}
	out := succeed(t, append([]string{"federated", config, "--json"}, clients...)...)
	matches(t, out, `(?m)^{"status":"done","rounds":4,"epsilon":[^,]+,"delta":[^,]+,"unit":"one client with all its examples","test_accuracy":[^,]+,"seconds":[^,]+,"run":[^,]+}$`)
	same(t, "train run", lastLine(t, succeed(t, append([]string{"run", config, "--json"}, clients...)...))["steps"], any(4.0))
	for _, line := range []string{"eval runs/own-1", "epsilon runs/own-1", "ledger show", "ledger verify", "runs", "resume runs/own-2", "report runs/own-1 runs/own-2 --output report.html", "describe " + config + " " + strings.Join(clients, " ")} {
		succeed(t, strings.Fields(line)...)
	}
	says(t, succeed(t, "ledger", "show"), "20 clients (iid, seed 1) of")
	refused(t, shell.ExitUsage, "without federated.clients, expected clients", "federated", config)
}

// Pictures that do not say whose they are stop a run that protects persons, by name.
func TestPersonsOfPictures(t *testing.T) {
	t.Chdir(t.TempDir())
	folder := t.TempDir()
	drawPictures(t, folder)
	config := ownConfig(t, folder, 4)
	persons := []string{"run", config, "--set", "privacy.unit=person", "--set", "data.group=prefix", "--set", "training.batch_size=10"}
	refused(t, shell.ExitData, "does not say whose it is", persons...)
	for _, class := range []string{"up", "down"} {
		found := tiny.Must(filepath.Glob(filepath.Join(folder, "train", class, "*.png")))(t)
		for i, path := range found { // 30 persons, each with one of each class and the last ones with more
			who := string(rune('a'+min(i, 29))) + "_" + filepath.Base(path)
			tiny.Check(t, os.Rename(path, filepath.Join(filepath.Dir(path), who)))
		}
	}
	out := succeed(t, persons...)
	says(t, out, "protects  one person with all their examples, of 30")
}

// The ε of private labels is never shown as one of examples, whose pictures are not protected.
func TestEpsilonOfLabelsSaysSo(t *testing.T) {
	succeed(t, "run", own(t, 5), "--set", "privacy.unit=label", "--set", "privacy.label_stages=2")
	const unit = "the label of one training example"
	for _, args := range [][]string{{"epsilon"}, {"delta", "--epsilon", "1"}, {"tradeoff"}, {"compare"}, {"eval"}} {
		args = append([]string{args[0], "runs/own-1"}, args[1:]...)
		if text := succeed(t, args...); !strings.Contains(text, unit) || strings.Contains(text, "zero-out") {
			t.Errorf("%q: found\n%s\nexpected %q and no relation of examples", args, text, unit)
		}
		if o := lastLine(t, succeed(t, append(args, "--json")...)); o["unit"] != unit || o["relation"] == "zero-out" {
			t.Errorf("%q: found the unit %v and the relation %v", args, o["unit"], o["relation"])
		}
	}
	refused(t, 2, unit, "epsilon", "runs/own-1", "--relation", "zero-out")
	says(t, succeed(t, "steps", "runs/own-1"), "0 steps are the most")
	succeed(t, "report", "runs/own-1", "-o", "report.html")
	says(t, tiny.Read(t, "report.html"), "for "+unit+", after")
}

// No output is written over a file that runs keep.
func TestOutputsLeaveRunsAlone(t *testing.T) {
	config := own(t, 2)
	succeed(t, "run", config)
	tiny.Write(t, "runs/own-1/extended.json", "")
	before := tiny.Snapshot(t, "runs")
	for _, args := range [][]string{
		{"card", "runs/own-1", "-o", "runs/own-1/extended.json"}, {"export", "runs/own-1", "-o", "runs/datasets.jsonl"}, {"export", "runs/own-1", "-o", "runs/own-1/../own-1/ledger.jsonl"},
		{"card", "runs/own-1", "-o", "runs/own-1/privacy.json"}, {"import", "runs/own-1/model.safetensors", config, "-o", "runs/own-1/model.safetensors"},
	} {
		refused(t, shell.ExitUsage, "expected a name that no run uses", args...)
	}
	if !maps.Equal(before, tiny.Snapshot(t, "runs")) {
		t.Error("what was refused changed a file")
	}
}

// No one file that is edited makes the model of a baseline private, or private labels private
// examples.
func TestForgedUnitsAreRefused(t *testing.T) {
	config := own(t, 5)
	says(t, succeed(t, "run", config, "--set", "privacy.none=true", "--set", "run.name=none", "--set", "training.evaluate_every=2"),
		"privacy   NOT PRIVATE: no guarantee", "step 2/5  NOT PRIVATE", "privacy         NOT PRIVATE: ε is infinite")
	refused(t, shell.ExitUsage, "was trained with privacy.none", "extend", "runs/none", "--steps", "9")
	matches(t, succeed(t, "runs"), `none +pictures .*NOT PRIVATE`)
	succeed(t, "run", config, "--set", "privacy.unit=label", "--set", "run.name=labels")
	says(t, succeed(t, "ledger", "show"), "NOT PRIVATE, and in no total: none;", "Only the labels are protected: ")
	for _, forged := range []struct{ run, file, from, to, command string }{
		{"runs/none", "privacy.json", `"system": "none"`, `"system": ""`, "card"},
		{"runs/labels", "privacy.json", "the label of one training example", "one training example", "card"},
		{"runs/labels", "privacy.json", `"system": "label"`, `"system": ""`, "card"},
		{"runs/labels", "config.yaml", "unit: label", "unit: example", "epsilon"},
		{"runs/labels", "config.yaml", "unit: label", "unit: example", "card"},
	} {
		succeed(t, "card", forged.run)
		path := filepath.Join(forged.run, forged.file)
		content := tiny.Read(t, path)
		replace(t, path, forged.from, forged.to)
		if r := command(forged.command, forged.run); r.code == 0 || !strings.Contains(r.err, forged.run) {
			t.Errorf("%s with %q in %s: found exit code %d and %q, expected a refusal", forged.command, forged.to, path, r.code, r.err)
		}
		tiny.Write(t, path, content)
	}
}
