// Package tinyrun makes runs of the data set and configuration of package tiny, for tests.
package tinyrun

import (
	"context"
	"path/filepath"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

// Options returns the options of a run on the pictures of [tiny.Source], in a new folder.
func Options(t testing.TB) train.Options {
	return train.Options{Options: run.Options{Request: setup.Request{Given: tiny.Source(t, tiny.Examples)}, RunsDir: filepath.Join(t.TempDir(), "runs"), Name: "tiny"}}
}

// Create calls [train.Create], and closes the run when the test ends.
func Create(t testing.TB, c *configs.Config, o train.Options) *train.Run {
	t.Helper()
	r, err := train.Create(c, o)
	tiny.Check(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// Open calls [train.Open], and closes the run when the test ends.
func Open(t testing.TB, dir string, o train.Options) *train.Run {
	t.Helper()
	r, err := train.Open(dir, o)
	tiny.Check(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// Fit carries a run out and closes it.
func Fit(t testing.TB, r *train.Run) train.Result {
	t.Helper()
	return tiny.Fit(t, context.Background(), r)
}

// Train creates a run and carries it out.
func Train(t testing.TB, o train.Options, overrides ...string) train.Result {
	t.Helper()
	return Fit(t, Create(t, tiny.Parse(t, overrides...), o))
}

// Interrupted creates a run, stops it after so many steps, and returns its result.
func Interrupted(t testing.TB, steps int, o train.Options, overrides ...string) train.Result {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.Stepped = func(p train.Progress) {
		if p.Step == steps {
			cancel()
		}
	}
	return tiny.Fit(t, ctx, Create(t, tiny.Parse(t, overrides...), o))
}

// Plan returns the plan of a run of [tiny.Config].
func Plan(t testing.TB, overrides ...string) *train.RunPlan {
	t.Helper()
	p, err := train.NewPlan(tiny.Parse(t, overrides...), tiny.Examples)
	tiny.Check(t, err)
	return p
}
