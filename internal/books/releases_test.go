package books_test

import (
	"errors"
	"path/filepath"
	"testing"

	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// costOf asks what a run has spent by its ledger, by the accountant and at the δ of its
// configuration.
func costOf(dir string) (account.Cost, error) {
	r, err := books.ReadReleases(dir)
	if err != nil {
		return account.Cost{}, err
	}
	return new(account.Answerer).Answer(r.Question(account.Epsilon))
}

// What a run claims, and what it has released, can be read while it is going on, and reading changes nothing.
func TestReleasesAreReadWhileRunning(t *testing.T) {
	o := tinyrun.Options(t)
	plan := tinyrun.Plan(t)
	planned := must(plan.After(plan.Steps))
	asked := 0
	o.Stepped = func(p train.Progress) {
		dir := filepath.Join(o.RunsDir, "tiny-1")
		c := must(costOf(dir))
		want := must(plan.After(p.Step))
		made := &c
		if p.Step < p.Steps {
			made = c.Made
		}
		if made == nil || made.Epsilon != want.Epsilon || *made.Releases != p.Step || c.Epsilon != planned.Epsilon || *c.Releases != p.Steps || c.Delta != 1e-4 || c.Run != dir {
			t.Errorf("step %d: found %+v", p.Step, c)
		}
		asked++
	}
	r := tinyrun.Train(t, o)
	if asked != 12 {
		t.Errorf("asked %d times, expected 12", asked)
	}
	if c, err := costOf(r.Run); err != nil || c.Epsilon != r.Epsilon {
		t.Errorf("found %+v (%v) of a run that ended at ε = %v", c, err, r.Epsilon)
	}
	if _, err := costOf(o.RunsDir); !errors.Is(err, folder.ErrNoRun) {
		t.Errorf("found error %v, expected ErrNoRun", err)
	}
}

// A run is asked about by the accountant and the budget of its configuration, and further steps are
// of the kind of its last one.
func TestQuestionOfARun(t *testing.T) {
	o := tinyrun.Options(t)
	plan := tinyrun.Plan(t)
	r := tinyrun.Train(t, o)
	releases := must(books.ReadReleases(r.Run))
	q := releases.Question(account.Steps)
	if q.Accountant != plan.Accountant.Name() || q.Delta != plan.Delta || q.Step != plan.Event(0) || q.Ledger.Count() != 12 {
		t.Errorf("found %+v", q)
	}
	q.Epsilon = 2 * r.Epsilon
	c := must(new(account.Answerer).Answer(q))
	more := *c.Steps
	for _, test := range []struct {
		steps  int
		within bool
	}{{12 + more, true}, {13 + more, false}} {
		if g, err := plan.After(test.steps); err != nil || (g.Epsilon <= q.Epsilon) != test.within {
			t.Errorf("%d steps cost %v (%v) of %v after 12 and %d more were said to fit", test.steps, g.Epsilon, err, q.Epsilon, more)
		}
	}
	if *c.Releases != 12 || c.Run != r.Run || c.TargetEpsilon != q.Epsilon {
		t.Errorf("found %+v", c)
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
