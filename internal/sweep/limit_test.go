package sweep

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// The limit of a data set that a configuration names is set before its first release. Runs, going
// on, sweeps and tasks ask it for all that they plan; what would pass it is refused and leaves the
// folder as it was.
func TestLimitOfADataSet(t *testing.T) {
	o := tinyrun.Options(t)
	first := tinyrun.Train(t, o, "data.limit.epsilon=9", "data.limit.delta=1e-4")
	if first.DatasetLimit != 9 || first.DatasetLimitDelta != 1e-4 || !(first.DatasetSpent > first.Epsilon && first.DatasetSpent < 6) {
		t.Errorf("found %+v, expected the limit and what is spent of it", first.Together)
	}
	if text := tiny.Read(t, filepath.Join(first.Run, folder.Statement)); !strings.Contains(text, "limit ε = 9 at δ = 0.0001, of which") {
		t.Errorf("the statement says nothing of the limit:\n%s", text)
	}
	refused := func(what, want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: found %v, expected one line with %q", what, err, want)
		}
	}
	long := tiny.Parse(t, "training.steps=60")
	before := tiny.Snapshot(t, o.RunsDir)
	_, err := train.Create(long, o)
	refused("a long run", "expected at most 9", err)
	s := Options{Request: o.Request, RunsDir: o.RunsDir}
	large := sweepOf(t, tiny.Config, "name: sweep\nbase: base.yaml\ngrid: {privacy.clip_norm: [0.1, 1, 2, 3, 4]}\n")
	_, err = Run(context.Background(), large, s)
	refused("a large sweep", "expected at most 9", err)
	_, err = RunTask(context.Background(), sweepOf(t, tiny.Config, "name: tasks\nbase: base.yaml\ngrid: {privacy.clip_norm: [0.1]}\n"), Share{First: 1}, s)
	refused("a task", "--collect", err)
	os.RemoveAll(filepath.Join(o.RunsDir, "tasks"))
	_, err = train.Create(tiny.Parse(t, "data.limit.epsilon=8", "data.limit.delta=1e-4"), o)
	refused("another limit", "expected the epsilon 9 and delta 0.0001", err)
	if after := tiny.Snapshot(t, o.RunsDir); !maps.Equal(before, after) {
		t.Errorf("what was refused changed on disk: %v", changed(before, after))
	}

	// A run that knows of no limit works under it, and its folder keeps it.
	stopped := tinyrun.Interrupted(t, 3, o)
	if c, err := folder.ReadConfig(stopped.Run); err != nil || c.Data.Limit.Epsilon != 9 {
		t.Errorf("found %+v (%v), expected the limit in the configuration", c.Data.Limit, err)
	}
	tinyrun.Fit(t, tinyrun.Open(t, stopped.Run, o))
	collected := sweepOf(t, tiny.Config, "name: tasks\nbase: base.yaml\ngrid: {privacy.clip_norm: [0.1]}\n")
	tiny.Must(Collect(t.Context(), collected, s))(t)
	shown := mustShow(t, o.RunsDir)
	if l := shown.Limits; len(l) != 1 || !(l[0].Spent < l[0].Reserved && l[0].Reserved <= 9) {
		t.Errorf("found %+v, expected what the task has reserved", l)
	}
	task(t, collected, Share{First: 1}, s)
	tiny.Must(Collect(t.Context(), collected, s))(t)
	shown = mustShow(t, o.RunsDir)
	if l := shown.Limits[0]; l.Spent != l.Reserved || l.Spent <= first.DatasetSpent || l.Spent > 9 || l.Spent != shown.Datasets[0].Epsilon {
		t.Errorf("found %+v, expected all of it spent", l)
	}
	tiny.Check(t, os.RemoveAll(stopped.Run))
	if l := mustShow(t, o.RunsDir).Limits[0]; l != shown.Limits[0] {
		t.Errorf("found %+v, expected that a deleted run counts", l)
	}
	if s, err := statement.Read(first.Run); err != nil || s.DatasetLimit != 9 {
		t.Errorf("found %+v (%v)", s.Together, err)
	}
}

// The ledger of the data put back to a copy from before the limit, or written again without it, is
// refused by whoever reads a run that was begun under it.
func TestLimitDoesNotVanish(t *testing.T) {
	o := tinyrun.Options(t)
	tiny.Check(t, os.MkdirAll(o.RunsDir, folder.Perm))
	tiny.Must(books.EnsureDatasets(o.RunsDir))(t)
	path := filepath.Join(o.RunsDir, folder.Datasets)
	old := tiny.Read(t, path)
	if _, err := books.SetLimit(o.RunsDir, checkpoints.Limit{Subject: checkpoints.Subject{Data: "stripes"}, Epsilon: 9, Delta: 1e-4}); err != nil {
		t.Fatal(err)
	}
	run := tinyrun.Interrupted(t, 3, o)
	tiny.Write(t, path, old)
	before := tiny.Snapshot(t, o.RunsDir)
	for what, err := range map[string]error{
		"a new run": func() error { _, err := train.Create(tiny.Parse(t), o); return err }(),
		"resume":    func() error { _, err := train.Open(run.Run, o); return err }(),
		"verify":    func() error { _, err := books.Verify(o.RunsDir, ""); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "found no limit of stripes, expected one of at most ε = 9") {
			t.Errorf("%s: found %v", what, err)
		}
	}
	if after := tiny.Snapshot(t, o.RunsDir); !maps.Equal(before, after) {
		t.Errorf("what was refused changed on disk: %v", changed(before, after))
	}
}

// One run may have all of a limit by its own accounting, stopped and gone on with. What goes beyond
// it is refused, and runs that make what it has left are not.
func TestLimitOfOneRun(t *testing.T) {
	o := tinyrun.Options(t)
	limited := []string{"privacy.epsilon=3", "privacy.noise_multiplier=calibrated", "privacy.accountant=exact", "data.limit.epsilon=3", "data.limit.delta=1e-4"}
	dearer := append([]string{"privacy.epsilon=3.01"}, limited[1:]...)
	if _, err := train.Create(tiny.Parse(t, dearer...), o); err == nil || !strings.Contains(err.Error(), "found ε = 3.0") || !strings.Contains(err.Error(), "expected at most 3;") {
		t.Fatalf("found %v, expected what the plan costs by itself", err)
	}
	first := tinyrun.Interrupted(t, 3, o, limited...)
	if first.Epsilon > 3 || first.DatasetLimit != 3 || first.DatasetSpent > 3 {
		t.Errorf("found %+v", first.Together)
	}
	_, err := train.Create(tiny.Parse(t, limited...), o)
	if err == nil || !strings.Contains(err.Error(), "releases would fit, with ε = ") {
		t.Errorf("found %v, expected that a second such run is refused, and what would fit", err)
	}
	rest := tinyrun.Interrupted(t, 9, o, "privacy.noise_multiplier="+strconv.FormatFloat(first.NoiseMultiplier, 'g', -1, 64), "privacy.accountant=exact", "training.steps=9")
	if rest.LedgerEntries != 9 {
		t.Errorf("found %d releases, expected the 9 that the first plan had left", rest.LedgerEntries)
	}
	r, err := train.Open(first.Run, o)
	if err == nil {
		r.Close()
		t.Error("the first run goes on beyond the limit")
	}
	shown := mustShow(t, o.RunsDir)
	if l := shown.Limits[0]; l.Spent != 3 || l.Reserved != 3 || l.String() != "limit of stripes: ε = 3 at δ = 0.0001, of which 3.000 is spent" {
		t.Errorf("found %v", l)
	}
	if _, err := books.SetLimit(o.RunsDir, checkpoints.Limit{Subject: checkpoints.Subject{Data: "stripes"}, Epsilon: 2.9, Delta: 1e-4}); err == nil || !strings.Contains(err.Error(), "split for a first plan") {
		t.Errorf("found %v for a limit that is lowered after its δ was split", err)
	}

	// Alone, it ends and has all that it planned.
	o = tinyrun.Options(t)
	stopped := tinyrun.Interrupted(t, 5, o, limited...)
	if ended := tinyrun.Fit(t, tinyrun.Open(t, stopped.Run, o)); ended.Steps != 12 || ended.Epsilon > 3 || ended.Epsilon < 2.99 {
		t.Errorf("found %d steps and ε = %v, expected all of a budget of 3", ended.Steps, ended.Epsilon)
	}
}
