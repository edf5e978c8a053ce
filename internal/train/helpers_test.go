package train

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
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

// measured expects an evaluation of a run's model to say what the run reported.
func measured(t testing.TB, r Result, o Options) score.Score {
	t.Helper()
	s := tiny.Must(Evaluate(r.Run, o))(t)
	if s.TestAccuracy != r.TestAccuracy || s.Epsilon != r.Epsilon {
		t.Errorf("measured as %+v, expected what the run reported: %+v", s, r)
	}
	return s
}

// linesOf reads a file of lines in JSON.
func linesOf[T any](t testing.TB, dir, name string) (all []T) {
	t.Helper()
	for line := range strings.Lines(tiny.Read(t, filepath.Join(dir, name))) {
		var v T
		tiny.Check(t, json.Unmarshal([]byte(line), &v))
		all = append(all, v)
	}
	return all
}

// newest returns the newest checkpoint of a run.
func newest(t testing.TB, dir string) *checkpoints.State {
	t.Helper()
	state, _, err := checkpoints.Latest(filepath.Join(dir, folder.Checkpoints))
	tiny.Check(t, err)
	return state
}

// saver saves a checkpoint in a folder.
type saver func(dir string, s *checkpoints.State) (path string, err error)

// saving hands checkpoints to save, with what would have saved them, until the test ends.
func saving(t testing.TB, save func(dir string, s *checkpoints.State, next saver) (string, error)) {
	t.Helper()
	next := run.SaveState
	t.Cleanup(func() { run.SaveState = next })
	run.SaveState = func(dir string, s *checkpoints.State) (string, error) { return save(dir, s, next) }
}

// stepwise carries a run out, and returns the parameters before the first step and after each, and
// the clip norm of each step and the next.
func stepwise(t testing.TB, r *Run) (path [][]float32, norms []float64) {
	t.Helper()
	path, norms = [][]float32{slices.Clone(r.Model.Values)}, []float64{r.plan.movingClipNorm(r.Step)}
	r.watcher.Stepped = func(p Progress) {
		path, norms = append(path, slices.Clone(r.Model.Values)), append(norms, p.ClipNorm)
	}
	fit(t, r)
	return path, norms
}

// moved returns how far each step of a path moved the parameters, in units of deviation.
func moved(path [][]float32, deviation func(step int) float64) (steps [][]float64) {
	for step, before := range path[:len(path)-1] {
		by := make([]float64, len(before))
		for i, v := range before {
			by[i] = (float64(v) - float64(path[step+1][i])) / deviation(step)
		}
		steps = append(steps, by)
	}
	return steps
}

// prepare is a run without a folder.
func prepare(c *configs.Config, o Options) (*Run, error) {
	r := new(Run)
	_, _, err := run.Prepare(c, r.found(o), func(base *run.Run) (*Run, error) { return r, r.build(base, o, nil) })
	return r, err
}

// stub is the exact accountant with a counter, and with refusals on demand.
type stub struct {
	accountant.Accountant
	asked   int
	refuses func(l *accountant.Ledger) bool // nil never
}

func newStub(t testing.TB, refuses func(*accountant.Ledger) bool) *stub {
	t.Helper()
	exact := tiny.Must(accountants.New("exact", accountant.ZeroOut))(t)
	return &stub{Accountant: exact, refuses: refuses}
}

func (s *stub) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	s.asked++
	if s.refuses != nil && s.refuses(l) {
		return accountant.Guarantee{}, fmt.Errorf("%w: the stub knows nothing of %d releases", accountant.ErrUncertified, l.Count())
	}
	return s.Accountant.Guarantee(l, delta)
}

func always(*accountant.Ledger) bool { return true }

// stubPlan is a plan that a stub accounts for.
func stubPlan(t testing.TB, s *stub, overrides ...string) *RunPlan {
	t.Helper()
	return tiny.Must(newPlan(tiny.Parse(t, overrides...), tiny.Examples, Options{account: s}, nil, nil))(t)
}

func guarantee(t testing.TB, a accountant.Accountant, l *accountant.Ledger, delta float64) accountant.Guarantee {
	t.Helper()
	return tiny.Must(a.Guarantee(l, delta))(t)
}
