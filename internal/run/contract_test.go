package run_test

import (
	"context"
	"errors"
	"fmt"
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
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/mpi"
	"dpsgd/internal/mpi/mpitest"
	"dpsgd/internal/pate"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/sgd"
	"dpsgd/internal/stats"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

// carried is a run of some kind.
type carried struct {
	*run.Run
	fit     func(context.Context) (run.Status, error)
	answers bool // and neither a model nor metrics
}

// noisy and plain start a run of a configuration, or go on with the one in dir.
func noisy(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error) {
	return noisyBy(nil, dir, c, o, stepped)
}

func noisyBy(ranks mpi.Group, dir string, c *configs.Config, o run.Options, stepped func()) (carried, error) {
	options := train.Options{Options: o, Group: ranks, Watcher: train.Watcher{Stepped: func(train.Progress) { stepped() }}}
	return begun(dir, func() (*train.Run, error) { return train.Create(c, options) }, func() (*train.Run, error) { return train.Open(dir, options) },
		func(r *train.Run) carried {
			return carried{r.Run, func(ctx context.Context) (run.Status, error) {
				result, err := r.Fit(ctx)
				return result.Status, err
			}, false}
		})
}

// begun creates a run, or opens it where dir says which.
func begun[R any](dir string, create, open func() (R, error), as func(R) carried) (carried, error) {
	if dir != "" {
		create = open
	}
	r, err := create()
	if err != nil {
		return carried{}, err
	}
	return as(r), nil
}

func plain(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error) {
	options := sgd.Options{Options: o, Watcher: sgd.Watcher{Stepped: func(sgd.Progress) { stepped() }}}
	return begun(dir, func() (*sgd.Run, error) { return sgd.Create(c, options) }, func() (*sgd.Run, error) { return sgd.Open(dir, options) },
		func(r *sgd.Run) carried {
			return carried{r.Run, func(ctx context.Context) (run.Status, error) {
				result, err := r.Fit(ctx)
				return result.Status, err
			}, false}
		})
}

// teachers is a run of teachers, whose steps are teachers and questions: a student who is stopped
// learns from the beginning.
func teachers(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error) {
	options := pate.Options{Options: o, Progress: func(p pate.Progress) {
		if p.Stage != "student" {
			stepped()
		}
	}}
	return begun(dir, func() (*pate.Run, error) { return pate.Create(c, options) }, func() (*pate.Run, error) { return pate.Open(dir, options) },
		func(r *pate.Run) carried {
			return carried{r.Run, func(ctx context.Context) (run.Status, error) {
				err := r.CarryOut(ctx)
				return r.Result.Status, err
			}, false}
		})
}

// persons is noisy on a table of 60 persons with five records each.
func persons(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error) {
	visits := filepath.Join(filepath.Dir(o.RunsDir), "visits")
	table := "age,ill,who\n"
	for i := range tiny.Examples {
		table += fmt.Sprintf("%d,%d,person %d\n", 30+20*(i%2), i%2, i/5)
	}
	err := os.MkdirAll(visits, folder.Perm)
	for _, part := range []string{"train.csv", "test.csv"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(visits, part), []byte(table), folder.FilePerm))
	}
	if err != nil {
		return carried{}, err
	}
	c.Data.Spec = data.Spec{Table: visits, Columns: []string{"age"}, Label: "ill", Group: "who", Classes: []string{"0", "1"}}
	c.Privacy.Unit = configs.UnitPerson
	c.Data.Mean, c.Data.Std = []float64{40}, []float64{10}
	o.Given = nil
	return noisy(dir, c, o, stepped)
}

// several is noisy by 3 ranks, then by 2, by 1, and again: another number whenever the run goes on.
func several() beginning {
	begun := 0
	return func(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error) {
		members := mpitest.Local(3 - begun%3)
		begun++
		for _, g := range members[1:] {
			go train.Follow(train.Options{Options: o, Group: g})
		}
		r, err := noisyBy(members[0], dir, c, o, stepped)
		if err != nil {
			members[0].Abort(1)
		}
		return r, err
	}
}

// answers is a run of statistics, a step for each.
func answers(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error) {
	told, known := 0, 0
	options := stats.Options{Options: o, Answered: func(stats.Result) {
		if told++; told > known { // what earlier processes answered is told first
			stepped()
		}
	}}
	return begun(dir, func() (*stats.Run, error) {
		f, err := configs.ParseStatistics("tiny.yaml", []byte(fourStatistics), nil)
		if err != nil {
			return nil, err
		}
		f.Config.Performance, options.Name = c.Performance, c.Run.Name
		return stats.Create(f, options)
	}, func() (*stats.Run, error) { return stats.Open(dir, options) }, func(r *stats.Run) carried {
		known = r.Step
		return carried{r.Run, func(ctx context.Context) (run.Status, error) {
			err := r.CarryOut(ctx)
			return r.Status, err
		}, true}
	})
}

const fourStatistics = `
data: {folder: stripes, classes: [top, middle, bottom], size: 6, channels: 1}
privacy: {epsilon: 1, delta: 1e-6}
statistics:
- {statistic: mean, column: brightness}
- {statistic: variance, column: brightness}
- {statistic: histogram, column: label}
- {statistic: count, column: brightness, range: [0.5, 1]}
`

// beginning starts a run of a configuration, or goes on with the one in dir.
type beginning func(dir string, c *configs.Config, o run.Options, stepped func()) (carried, error)

// kind is a job that the contract is held by.
type kind struct {
	name  string
	begin func() beginning
	set   []string
	own   bool   // steps are in files of their own: there are no checkpoints
	plan  string // a key of the configuration that is kept, which the run may not go on without
}

func always(b beginning) func() beginning { return func() beginning { return b } }

var kinds = []kind{
	{"noisy gradients", always(noisy), nil, false, "learning_rate: "},
	{"several ranks", several, nil, false, "learning_rate: "},
	{"persons", always(persons), []string{"training.batch_size=20", "privacy.delta=1e-3"}, false, "learning_rate: "},
	{"clients", always(noisy), []string{"federated.clients=60", "training.batch_size=20", "privacy.delta=1e-3"}, false, "learning_rate: "},
	{"baseline", always(plain), []string{"privacy.none=true"}, false, "learning_rate: "},
	{"private labels", always(plain), []string{"privacy.unit=label", "privacy.epsilon=2", "privacy.noise_multiplier=calibrated"}, false, "learning_rate: "},
	{"private labels in two stages", always(plain), []string{"privacy.unit=label", "privacy.epsilon=2", "privacy.noise_multiplier=calibrated", "privacy.label_stages=2"}, false, "learning_rate: "},
	{"teachers", always(teachers), []string{"privacy.noise_multiplier=calibrated", "privacy.epsilon=20", "privacy.delta=1e-3", "pate.teachers=10", "pate.pool=60", "pate.queries=10",
		"pate.noise=2", "pate.threshold=5", "pate.threshold_noise=3", "training.batch_size=15"}, true, "learning_rate: "},
	{"statistics", always(answers), nil, true, "epsilon: "},
}

// withCheckpoints are the kinds whose steps are in checkpoints.
func withCheckpoints() []kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.own })
}

// starting begins a run of a kind, or goes on with that in dir.
type starting func(dir string, stepped func(), set ...string) (carried, error)

// each holds a contract by some kinds.
func each(t *testing.T, kinds []kind, contract func(t *testing.T, k kind, o run.Options, start starting)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			o := run.Options{RunsDir: filepath.Join(t.TempDir(), "runs"), Request: setup.Request{Given: tiny.Source(t, tiny.Examples)}}
			begin := kind.begin()
			contract(t, kind, o, func(dir string, stepped func(), set ...string) (carried, error) {
				o.Waits = waits
				cadence := []string{"run.checkpoint_every=1", "training.evaluate_every=1"}
				if kind.own {
					cadence = nil
				}
				return begin(dir, tiny.Parse(t, slices.Concat(kind.set, cadence, []string{"training.steps=4", "run.name=a"}, set)...), o, stepped)
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
	tiny.Check(t, err)
	defer r.Close()
	if status, err := r.fit(t.Context()); err != nil || status != run.Done {
		t.Fatalf("found %q (%v), expected a run that is done", status, err)
	}
	left := []string{folder.Statement, folder.StatementData}
	if !r.answers {
		left = append(left, folder.Model, folder.MetricsEvents)
	}
	for _, name := range left {
		if !folder.HoldsAny(r.Dir, name) {
			t.Errorf("found no %s", name)
		}
	}
	if r.answers {
		return
	}
	metrics, err := run.ReadMetrics(r.Dir)
	table := strings.Count(tiny.Read(t, r.Path(folder.MetricsTable)), "\n")
	if err != nil || len(metrics) < 2 || metrics[len(metrics)-1].Step != r.Step || table != len(metrics)+1 {
		t.Errorf("found %d lines of metrics (%v) and %d of their table, expected one for each step up to %d and a heading", len(metrics), err, table, r.Step)
	}
}

// A run that is stopped after any of its steps goes on to its end.
func TestGoesOnAfterEveryStep(t *testing.T) {
	each(t, kinds, func(t *testing.T, k kind, o run.Options, start starting) {
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
			tiny.Check(t, err)
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
	each(t, withCheckpoints(), func(t *testing.T, k kind, o run.Options, start starting) {
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

// A disk that stays full ends a run with an error; what was trained is elsewhere, readable by its
// owner alone, and moved back the run goes on from there.
func TestFullDiskLosesNothing(t *testing.T) {
	each(t, withCheckpoints(), func(t *testing.T, k kind, o run.Options, start starting) {
		elsewhere := t.TempDir()
		t.Setenv("TMPDIR", elsewhere)
		r, err := start("", nothing)
		tiny.Check(t, err)
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
		tiny.Check(t, os.Rename(kept[0], filepath.Join(r.Dir, folder.Checkpoints, filepath.Base(kept[0]))))
		again, err := start(r.Dir, nothing)
		if err == nil && again.ResumedAt != r.Step {
			t.Errorf("the run goes on after step %d, expected %d", again.ResumedAt, r.Step)
		}
		finish(t, again, err)
	})
}

// Whoever stops a run that waits for a disk does not wait any longer.
func TestStopEndsWaiting(t *testing.T) {
	each(t, withCheckpoints(), func(t *testing.T, k kind, o run.Options, start starting) {
		t.Setenv("TMPDIR", t.TempDir())
		ctx, cancel := context.WithCancel(t.Context())
		waits = func(string) { cancel() }
		defer func() { waits = nil }()
		r := tiny.Must(start("", nothing))(t)
		defer r.Close()
		fullDisk(t, r.Dir, 100*time.Hour)
		if _, err := r.fit(ctx); !errors.Is(err, run.ErrNotSaved) {
			t.Errorf("found %v, expected that nothing was saved", err)
		}
	})
}

// What the machine has too little memory for is refused before there is a folder.
func TestMemoryIsRefused(t *testing.T) {
	each(t, kinds, func(t *testing.T, k kind, o run.Options, start starting) {
		if _, err := start("", nothing, "performance.max_memory=1 MiB"); !errors.Is(err, setup.ErrTooLarge) || folder.HoldsAny(o.RunsDir) {
			t.Errorf("found %v, expected too little memory and no folder", err)
		}
	})
}

// stopped is a new run that was stopped after its first step. It has its folder until it is closed.
func stopped(t *testing.T, start starting) carried {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := tiny.Must(start("", cancel))(t)
	tiny.Must(r.fit(ctx))(t)
	return r
}

// A run whose configuration was changed under it is refused, and so is a second process at work.
// Nothing is written.
func TestChangedPlanIsRefused(t *testing.T) {
	each(t, kinds, func(t *testing.T, k kind, o run.Options, start starting) {
		r := stopped(t, start)
		if _, err := start(r.Dir, nothing); !errors.Is(err, checkpoints.ErrLocked) {
			t.Errorf("found %v, expected that another process has the folder", err)
		}
		r.Close()
		path := r.Path(folder.Config)
		changed := strings.Replace(tiny.Read(t, path), k.plan, k.plan+"1", 1)
		tiny.Check(t, os.WriteFile(path, []byte(changed), folder.FilePerm))
		before := tiny.Snapshot(t, o.RunsDir)
		if _, err := start(r.Dir, nothing); !errors.Is(err, books.ErrOtherPlan) {
			t.Errorf("found %v, expected another plan", err)
		}
		if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
			t.Error("a refused start changed something")
		}
	})
}

// A folder in which a file of the run is a directory, or is another file too, or in which checkpoints
// are a link, is refused before anything is written: what the run appends would go into another one.
func TestForeignFilesAreRefused(t *testing.T) {
	each(t, kinds, func(t *testing.T, k kind, o run.Options, start starting) {
		r := stopped(t, start)
		r.Close()
		for name, put := range map[string]func(path string) error{
			folder.StatementData: func(path string) error { return os.Mkdir(path, folder.Perm) },
			folder.MetricsTable:  func(path string) error { return os.Link(r.Path(folder.Config), path) },
			"copy":               func(path string) error { return os.Link(r.Path(folder.Config), path) },
			folder.Checkpoints:   func(path string) error { os.Rename(path, path+"-"); return os.Symlink(os.DevNull, path) },
		} {
			path := r.Path(name)
			kept, _ := os.ReadFile(path)
			os.Remove(path)
			tiny.Check(t, put(path))
			before := tiny.Snapshot(t, o.RunsDir)
			if _, err := start(r.Dir, nothing); !errors.Is(err, checkpoints.ErrNotRegular) {
				t.Errorf("%s: found %v, expected that it is refused", name, err)
			}
			if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
				t.Errorf("%s: a refused start changed something", name)
			}
			os.Remove(path)
			os.Rename(path+"-", path)
			if len(kept) > 0 {
				tiny.Check(t, os.WriteFile(path, kept, folder.FilePerm))
			}
		}
		r, err := start(r.Dir, nothing)
		if err != nil {
			t.Fatalf("found %v, expected a folder that is whole again", err)
		}
		r.Close()
	})
}
