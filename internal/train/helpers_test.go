package train

import (
	"context"
	"path/filepath"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
)

// options are those of a test run in a folder of its own.
func options(t testing.TB) Options {
	return Options{Options: run.Options{Request: setup.Request{Given: tiny.Source(t, tiny.Examples)}, RunsDir: filepath.Join(t.TempDir(), "runs"), Name: "tiny"}}
}

func create(t testing.TB, c *configs.Config, o Options) *Run {
	t.Helper()
	r := tiny.Must(Create(c, o))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

func open(t testing.TB, dir string, o Options) *Run {
	t.Helper()
	r := tiny.Must(Open(dir, o))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

func fit(t testing.TB, r *Run) Result {
	t.Helper()
	return tiny.Fit(t, context.Background(), r)
}

// train creates a run and carries it out.
func train(t testing.TB, o Options, overrides ...string) Result {
	t.Helper()
	return fit(t, create(t, tiny.Parse(t, overrides...), o))
}

// interruptAfter trains until the run holds so many steps, and returns what Fit says then.
func interruptAfter(t testing.TB, r *Run, steps int) Result {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.atStep(steps, cancel)
	return tiny.Fit(t, ctx, r)
}

// killAfter trains until the run holds so many steps and drops it then, as kill -9 would: nothing
// more is saved, and the system takes back the lock. It returns the folder of the run.
func killAfter(t testing.TB, r *Run, steps int) (dir string) {
	t.Helper()
	dir = r.Dir
	type killed struct{}
	r.atStep(steps, func() { panic(killed{}) })
	defer func() {
		if _, ok := recover().(killed); !ok {
			t.Fatalf("the run ended before step %d", steps)
		}
		r.Close()
	}()
	if _, err := r.Fit(context.Background()); err != nil {
		t.Error(err)
	}
	return dir
}

// atStep calls a function when the run holds so many steps, after the watcher that it has.
func (r *Run) atStep(steps int, call func()) {
	stepped := r.watcher.Stepped
	r.watcher.Stepped = func(p Progress) {
		run.Tell(stepped, p)
		if p.Step == steps {
			call()
		}
	}
}

// prepare is a run without a folder.
func prepare(c *configs.Config, o Options) (*Run, error) {
	r := new(Run)
	_, _, err := run.Prepare(c, r.found(o), func(base *run.Run) (*Run, error) { return r, r.build(base, o, nil) })
	return r, err
}
