package run_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/ordinary"
	"dpsgd/internal/pate"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

// carried is a run of some kind.
type carried struct {
	*run.Run
	fit func(context.Context) (run.Status, error)
}

// watching calls a function after each step.
type watching struct{ stepped func() }

func (watching) Warned(string)            {}
func (watching) Started(train.Overview)   {}
func (w watching) Stepped(train.Progress) { w.stepped() }
func (watching) Finished(train.Result)    {}

type watchingPlain struct{ stepped func() }

func (watchingPlain) Warned(string)               {}
func (watchingPlain) Started(ordinary.Overview)   {}
func (w watchingPlain) Stepped(ordinary.Progress) { w.stepped() }
func (watchingPlain) Finished(ordinary.Result)    {}

// noisy and plain start a run of a configuration, or go on with the one in dir.
func noisy(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error) {
	options := train.Options{RunsDir: o.RunsDir, Source: o.Given, Waits: o.Waits, Watcher: watching{stepped}}
	start := func() (*train.Run, error) { return train.Create(c, options) }
	if dir != "" {
		start = func() (*train.Run, error) { return train.Open(dir, options) }
	}
	r, err := start()
	if err != nil {
		return carried{}, err
	}
	return carried{r.Run, func(ctx context.Context) (run.Status, error) {
		result, err := r.Fit(ctx)
		return result.Status, err
	}}, nil
}

func plain(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error) {
	options := ordinary.Options{Options: o, Watcher: watchingPlain{stepped}}
	start := func() (*ordinary.Run, error) { return ordinary.Create(c, options) }
	if dir != "" {
		start = func() (*ordinary.Run, error) { return ordinary.Open(dir, options) }
	}
	r, err := start()
	if err != nil {
		return carried{}, err
	}
	return carried{r.Run, func(ctx context.Context) (run.Status, error) {
		result, err := r.Fit(ctx)
		return result.Status, err
	}}, nil
}

// teachers is a run of teachers, whose steps are teachers and questions: a student who is stopped learns
// from the beginning.
func teachers(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error) {
	options := pate.Options{Options: o, Progress: func(p pate.Progress) {
		if p.Stage != "student" {
			stepped()
		}
	}}
	start := func() (*pate.Run, error) { return pate.Create(c, options) }
	if dir != "" {
		start = func() (*pate.Run, error) { return pate.Open(dir, options) }
	}
	r, err := start()
	if err != nil {
		return carried{}, err
	}
	return carried{r.Run, func(ctx context.Context) (run.Status, error) {
		err := r.CarryOut(ctx)
		return r.Result.Status, err
	}}, nil
}

// kind is a job that the contract is held by.
type kind struct {
	name  string
	begin func(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error)
	set   []string
	own   bool // steps are in files of their own: there are no checkpoints
}

var kinds = []kind{
	{"noisy gradients", noisy, nil, false},
	{"clients", noisy, []string{"federated.clients=60", "training.batch_size=20", "privacy.delta=1e-3"}, false},
	{"baseline", plain, []string{"privacy.none=true"}, false},
	{"private labels", plain, []string{"privacy.unit=label", "privacy.epsilon=2", "privacy.noise_multiplier=calibrated"}, false},
	{"private labels in two stages", plain, []string{"privacy.unit=label", "privacy.epsilon=2", "privacy.noise_multiplier=calibrated", "privacy.label_stages=2"}, false},
	{"teachers", teachers, []string{"privacy.noise_multiplier=calibrated", "privacy.epsilon=20", "privacy.delta=1e-3", "pate.teachers=10", "pate.pool=60", "pate.queries=10",
		"pate.noise=2", "pate.threshold=5", "pate.threshold_noise=3", "training.batch_size=15"}, true},
}

// withCheckpoints are the kinds whose steps are in checkpoints.
func withCheckpoints() []kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.own })
}

// each holds a contract by some kinds: start begins a run, or goes on with that in dir.
func each(t *testing.T, kinds []kind, contract func(t *testing.T, o run.Options, start func(dir string, stepped func(), set ...string) (carried, error))) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			o := run.Options{RunsDir: filepath.Join(t.TempDir(), "runs"), Request: setup.Request{Given: tiny.Source(t, tiny.Examples)}}
			contract(t, o, func(dir string, stepped func(), set ...string) (carried, error) {
				o.Waits = waits
				cadence := []string{"run.checkpoint_every=1", "training.evaluate_every=1"}
				if kind.own {
					cadence = nil
				}
				return kind.begin(dir, tiny.Parse(t, slices.Concat(kind.set, cadence, []string{"training.steps=4", "run.name=a"}, set)...), o, stepped)
			})
		})
	}
}

func nothing() {}

// waits is told that a run waits, where it is not nil.
var waits func(string)

// finish carries out a run to its end, and looks at what it leaves.
func finish(t *testing.T, r carried, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if status, err := r.fit(t.Context()); err != nil || status != run.Done {
		t.Fatalf("found %q (%v), expected a run that is done", status, err)
	}
	for _, name := range []string{folder.Model, folder.Statement, folder.StatementData, folder.MetricsEvents} {
		if !folder.HoldsAny(r.Dir, name) {
			t.Errorf("found no %s", name)
		}
	}
	metrics, err := run.ReadMetrics(r.Dir)
	table := strings.Count(tiny.Read(t, r.Path(folder.MetricsTable)), "\n")
	if err != nil || len(metrics) < 2 || metrics[len(metrics)-1].Step != r.Step || table != len(metrics)+1 {
		t.Errorf("found %d lines of metrics (%v) and %d of their table, expected one for each step up to %d and a heading", len(metrics), err, table, r.Step)
	}
}

// A run that is stopped after any of its steps goes on to its end.
func TestGoesOnAfterEveryStep(t *testing.T) {
	each(t, kinds, func(t *testing.T, o run.Options, start func(string, func(), ...string) (carried, error)) {
		dir := ""
		for parts := 1; ; parts++ {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := start(dir, cancel)
			if err != nil || parts > 100 {
				t.Fatalf("in part %d: %v", parts, err)
			}
			status, err := r.fit(ctx)
			r.Close()
			if err != nil {
				t.Fatal(err)
			}
			if dir = r.Dir; status == run.Done {
				if parts < 4 {
					t.Errorf("found %d parts, expected one for each step", parts)
				}
				break
			}
		}
		again, err := start(dir, nothing)
		finish(t, again, err)
	})
}

// A run that was killed when a checkpoint was written goes on from it, whichever that was.
func TestGoesOnFromEveryCheckpoint(t *testing.T) {
	save := run.SaveState
	defer func() { run.SaveState = save }()
	each(t, withCheckpoints(), func(t *testing.T, o run.Options, start func(string, func(), ...string) (carried, error)) {
		var killed []string
		run.SaveState = func(dir string, s *checkpoints.State) (string, error) {
			path, err := save(dir, s)
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(o.RunsDir)); err != nil {
				t.Error(err)
			}
			killed = append(killed, copied)
			return path, err
		}
		r, err := start("", nothing)
		finish(t, r, err)
		run.SaveState = save
		for _, dir := range []string{killed[0], killed[len(killed)/2], killed[len(killed)-1]} {
			again, err := start(filepath.Join(dir, "a"), nothing)
			finish(t, again, err)
		}
	})
}

// fullDisk makes checkpoints below a folder fail, but the first, until it is emptied.
func fullDisk(t *testing.T, below string, pause time.Duration) (empty func()) {
	save, pauses := run.SaveState, run.Pauses
	empty = func() { run.SaveState, run.Pauses = save, pauses }
	t.Cleanup(empty)
	run.Pauses = []time.Duration{pause}
	run.SaveState = func(dir string, s *checkpoints.State) (string, error) {
		if strings.HasPrefix(dir, below) && s.Step > 0 {
			return "", &os.PathError{Op: "write", Path: dir, Err: syscall.ENOSPC}
		}
		return save(dir, s)
	}
	return empty
}

// A disk that stays full ends a run with an error; what was trained is elsewhere, readable by its owner
// alone, and moved back the run goes on from there.
func TestFullDiskLosesNothing(t *testing.T) {
	each(t, withCheckpoints(), func(t *testing.T, o run.Options, start func(string, func(), ...string) (carried, error)) {
		elsewhere := t.TempDir()
		t.Setenv("TMPDIR", elsewhere)
		r, err := start("", nothing)
		if err != nil {
			t.Fatal(err)
		}
		empty := fullDisk(t, r.Dir, time.Millisecond)
		_, err = r.fit(t.Context())
		r.Close()
		empty()
		kept, _ := filepath.Glob(filepath.Join(elsewhere, "dpsgd-*", folder.Checkpoints, "*.ckpt"))
		if !errors.Is(err, run.ErrNotSaved) || len(kept) != 1 || !strings.Contains(err.Error(), "it is kept in "+kept[0]) || !strings.Contains(err.Error(), "go on with `train resume "+r.Dir+"`") {
			t.Fatalf("found %v with %q elsewhere, expected the checkpoint, its path, and how to go on", err, kept)
		}
		for path, perm := range map[string]os.FileMode{kept[0]: 0o600, filepath.Dir(filepath.Dir(kept[0])): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != perm {
				t.Errorf("found %v, %v, expected permissions %o", info, err, perm)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(r.Dir, folder.Checkpoints, ".*")); len(left) > 0 {
			t.Errorf("found %q beside the checkpoints", left)
		}
		if err := os.Rename(kept[0], filepath.Join(r.Dir, folder.Checkpoints, filepath.Base(kept[0]))); err != nil {
			t.Fatal(err)
		}
		again, err := start(r.Dir, nothing)
		if err == nil && again.ResumedAt != r.Step {
			t.Errorf("the run goes on after step %d, expected %d", again.ResumedAt, r.Step)
		}
		finish(t, again, err)
	})
}

// Whoever stops a run that waits for a disk does not wait any longer.
func TestStopEndsWaiting(t *testing.T) {
	each(t, withCheckpoints(), func(t *testing.T, o run.Options, start func(string, func(), ...string) (carried, error)) {
		t.Setenv("TMPDIR", t.TempDir())
		ctx, cancel := context.WithCancel(t.Context())
		waits = func(string) { cancel() }
		defer func() { waits = nil }()
		r, err := start("", nothing)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		fullDisk(t, r.Dir, 100*time.Hour)
		if _, err := r.fit(ctx); !errors.Is(err, run.ErrNotSaved) {
			t.Errorf("found %v, expected that nothing was saved", err)
		}
	})
}

// What the machine has too little memory for is refused before there is a folder.
func TestMemoryIsRefused(t *testing.T) {
	each(t, kinds, func(t *testing.T, o run.Options, start func(string, func(), ...string) (carried, error)) {
		if _, err := start("", nothing, "performance.max_memory=1 MiB"); !errors.Is(err, setup.ErrTooLarge) || folder.HoldsAny(o.RunsDir) {
			t.Errorf("found %v, expected too little memory and no folder", err)
		}
	})
}

// stopped is a new run that was stopped after its first step. It has its folder until it is closed.
func stopped(t *testing.T, start func(dir string, stepped func(), set ...string) (carried, error)) carried {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := start("", cancel)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.fit(ctx); err != nil {
		t.Fatal(err)
	}
	return r
}

// A run whose configuration was changed under it is refused, and so is a second process at work. Nothing
// is written.
func TestChangedPlanIsRefused(t *testing.T) {
	each(t, kinds, func(t *testing.T, o run.Options, start func(string, func(), ...string) (carried, error)) {
		r := stopped(t, start)
		if _, err := start(r.Dir, nothing); !errors.Is(err, checkpoints.ErrLocked) {
			t.Errorf("found %v, expected that another process has the folder", err)
		}
		r.Close()
		path := r.Path(folder.Config)
		changed := strings.Replace(tiny.Read(t, path), "learning_rate: ", "learning_rate: 1", 1)
		if err := os.WriteFile(path, []byte(changed), folder.FilePerm); err != nil {
			t.Fatal(err)
		}
		before := tiny.Snapshot(t, o.RunsDir)
		if _, err := start(r.Dir, nothing); !errors.Is(err, books.ErrOtherPlan) {
			t.Errorf("found %v, expected another plan", err)
		}
		if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
			t.Error("a refused start changed something")
		}
	})
}

// A folder in which a file of the run is a directory, or is another file too, is refused before
// anything is written: what the run appends there would go into the other one.
func TestForeignFilesAreRefused(t *testing.T) {
	each(t, kinds, func(t *testing.T, o run.Options, start func(string, func(), ...string) (carried, error)) {
		r := stopped(t, start)
		r.Close()
		for name, put := range map[string]func(path string) error{
			folder.StatementData: func(path string) error { return os.Mkdir(path, folder.Perm) },
			folder.MetricsTable:  func(path string) error { return os.Link(r.Path(folder.Config), path) },
			"copy":               func(path string) error { return os.Link(r.Path(folder.Config), path) },
		} {
			path := r.Path(name)
			kept, _ := os.ReadFile(path)
			os.Remove(path)
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			before := tiny.Snapshot(t, o.RunsDir)
			if _, err := start(r.Dir, nothing); !errors.Is(err, checkpoints.ErrNotRegular) {
				t.Errorf("%s: found %v, expected that it is refused", name, err)
			}
			if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
				t.Errorf("%s: a refused start changed something", name)
			}
			os.Remove(path)
			if kept != nil {
				if err := os.WriteFile(path, kept, folder.FilePerm); err != nil {
					t.Fatal(err)
				}
			}
		}
		r, err := start(r.Dir, nothing)
		if err != nil {
			t.Fatalf("found %v, expected a folder that is whole again", err)
		}
		r.Close()
	})
}
