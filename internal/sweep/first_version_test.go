package sweep

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// firstVersion holds what the first version left on disk; its README.md says how it was made.
const firstVersion = "testdata/first-version"

// firstReleases counts the entries in the ledger of each run.
var firstReleases = map[string]int{
	"finished": 12, "interrupted": 8, "killed": 9, "sweep/clip_norm=0.03": 6, "sweep/clip_norm=0.1": 6,
}

// firstPlanned is ε of all the steps that the budget of the interrupted run, 0.5, allows.
const firstPlanned = 0.4999999997774812

// as reports whether an ε is the one that the first version reported. The last digits may differ:
// sums are rounded in another order now.
func as(epsilon, first float64) bool { return math.Abs(epsilon-first) <= 1e-13*first }

// firstSpent is ε that the first version reported at the end of a run. It reported none for the one
// that was killed.
func firstSpent(t *testing.T, run string) float64 {
	t.Helper()
	var s statement.Statement
	tiny.Check(t, json.Unmarshal([]byte(tiny.Read(t, filepath.Join(firstVersion, "runs", run, folder.StatementData))), &s))
	return s.Epsilon
}

var drawn = sync.OnceValues(func() (*data.Split, error) { return data.Load(data.Spec{Name: "digits", Seed: 1}) })

// firstRuns copies the runs of the first version and returns options with which they go on.
func firstRuns(t *testing.T) train.Options {
	t.Helper()
	source := tiny.Must(drawn())(t)
	runs := filepath.Join(t.TempDir(), "runs")
	copyFolder(t, runs, filepath.Join(firstVersion, "runs"))
	return train.Options{Options: run.Options{Request: setup.Request{Given: source}, RunsDir: runs}}
}

// A configuration in the folder of a run is the one from which the hash in its checkpoints was
// made: a key that changed its default or its spelling would make another.
func TestFirstVersionConfigurations(t *testing.T) {
	for run := range firstReleases {
		path := filepath.Join(firstVersion, "runs", run, folder.Config)
		src := tiny.Read(t, path)
		c, err := configs.Parse(path, []byte(src), nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := string(c.YAML()); got != src {
			t.Errorf("%s is written as\n%s\nexpected\n%s", path, got, src)
		}
	}
}

// The model of the first version predicts what it predicted, for the ε that it reported.
func TestFirstVersionEvaluates(t *testing.T) {
	o := firstRuns(t)
	before := tiny.Snapshot(t, o.RunsDir)
	for run := range firstReleases {
		if run == "killed" {
			continue // it has no model
		}
		lines := strings.Split(strings.TrimSpace(tiny.Read(t, filepath.Join(o.RunsDir, run, folder.Metrics))), "\n")
		var reported struct {
			TestAccuracy float64 `json:"test_accuracy"`
		}
		tiny.Check(t, json.Unmarshal([]byte(lines[len(lines)-1]), &reported))
		score, err := train.Evaluate(filepath.Join(o.RunsDir, run), o)
		if err != nil {
			t.Error(err)
			continue
		}
		// Kernels of other processors round differently, which may move a picture or two of 2,000.
		if !(math.Abs(float64(score.TestAccuracy)-reported.TestAccuracy) <= 0.001) {
			t.Errorf("%s: found accuracy %v, expected %v", run, score.TestAccuracy, reported.TestAccuracy)
		}
		want := firstSpent(t, run)
		if run == "interrupted" { // the first version claimed what was released by then
			want = firstPlanned
		}
		if !as(score.Epsilon, want) || score.Warning != "" {
			t.Errorf("%s: found ε = %v with warning %q, expected %v and none", run, score.Epsilon, score.Warning, want)
		}
	}
	if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
		t.Error("evaluating changed something")
	}
}

// Before anything is written the ledgers already answer, one by one and together.
func TestFirstVersionAnswers(t *testing.T) {
	o := firstRuns(t)
	before := tiny.Snapshot(t, o.RunsDir)
	for run := range firstReleases {
		c, err := costOf(filepath.Join(o.RunsDir, run))
		made := &c
		if run == "interrupted" || run == "killed" {
			made = c.Made
		}
		if err != nil || made == nil || run != "killed" && !as(made.Epsilon, firstSpent(t, run)) || run == "interrupted" && !as(c.Epsilon, firstPlanned) {
			t.Errorf("%s: found %+v (%v)", run, c, err)
		}
	}
	if total := mustShow(t, o.RunsDir).Datasets; len(total) != 1 || total[0].Releases != 12+8+9+2*6 || len(total[0].Runs) != 5 {
		t.Errorf("before there is a ledger of data sets found %+v", total)
	}
	if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
		t.Error("questions changed something")
	}
}

// The next commands that write take runs and sweep into the ledger of data sets with what they have
// spent. A stopped run goes on to its end, never below what its ledger held before; steps after the
// last checkpoint are made again, and last ones left out for them. A ledger that is shortened after that is found out.
func TestFirstVersionIsAdopted(t *testing.T) {
	o := firstRuns(t)
	file := tiny.Must(configs.LoadSweep(filepath.Join(firstVersion, "sweep.yaml")))(t)
	again := runSweep(t, file, Options{Request: o.Request, RunsDir: o.RunsDir})
	report := tiny.Read(t, filepath.Join(firstVersion, "runs", "sweep", folder.Report))
	if again.Composed.Releases != 12 || !strings.Contains(report, "(ε = "+accountant.RoundUp(again.Composed.Epsilon, 3)+", δ = 1e-05)") {
		t.Errorf("found %+v, expected what is in\n%s", again.Composed, report)
	}
	want := maps.Clone(firstReleases)
	want["interrupted"], want["killed"] = 24, 24
	for _, name := range []string{"finished", "interrupted", "killed"} {
		dir := filepath.Join(o.RunsDir, name)
		before := tiny.Must(costOf(dir))(t)
		r := tinyrun.Fit(t, tinyrun.Open(t, dir, o))
		if r.Status == run.Interrupted || tiny.Releases(t, dir) != want[name] || r.Epsilon < before.Epsilon || r.Epsilon > 3 {
			t.Errorf("%s: found %+v with %d releases, expected %d for ε from %v to 3", name, r, tiny.Releases(t, dir), want[name], before.Epsilon)
		}
	}
	found := map[string]int{}
	for _, m := range datasets(t, o.RunsDir).Members {
		found[m.Path] = m.Entries
	}
	if !maps.Equal(found, want) {
		t.Errorf("found members %v, expected %v", found, want)
	}
	check, err := books.Verify(o.RunsDir, "")
	if err != nil || len(check.Problems) != 0 || check.Runs != 5 || check.Sweeps != 1 || check.Releases != 12+24+24+2*6 {
		t.Errorf("found %+v (%v), expected no problem", check, err)
	}

	path := filepath.Join(o.RunsDir, "interrupted", folder.Ledger)
	lines := strings.SplitAfter(tiny.Read(t, path), "\n")
	tiny.Write(t, path, strings.Join(lines[:3], ""))
	for _, witness := range []string{folder.Checkpoints, folder.StatementData} { // datasets.jsonl alone is left
		tiny.Check(t, os.RemoveAll(filepath.Join(o.RunsDir, "interrupted", witness)))
	}
	refuses(t, o.RunsDir, checkpoints.ErrRollback, "found 2 ledger entries, expected at least the 24 of", func() error {
		_, err := costOf(filepath.Join(o.RunsDir, "interrupted"))
		return err
	})
}
