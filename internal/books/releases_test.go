package books_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/configs"
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

// A row has its swept values as JSON, and is read again with them in their order.
func TestRowsOfSweptValues(t *testing.T) {
	for value, want := range map[string]string{
		"0.1": "0.1", "1e-5": "1e-5", ".5": "0.5", "true": "true", "none": `"none"`, "adam": `"adam"`, "[1, 2]": "[1,2]", ".inf": `".inf"`,
	} {
		line := must(json.Marshal(books.Row{Trial: "a", Settings: []configs.Setting{{Key: "b.z", Value: value}, {Key: "b.a", Value: "c"}}}))
		if !strings.HasPrefix(string(line), `{"trial":"a","b.z":`+want+`,"b.a":"c","test_accuracy":null,`) {
			t.Errorf("%s: found %s, expected %s", value, line, want)
		}
		var row books.Row
		if err := json.Unmarshal(line, &row); err != nil || len(row.Settings) != 2 || row.Settings[0].Key != "b.z" || row.Value("b.z") != strings.Trim(want, `"`) || row.Value("b.a") != "c" || row.Value("b.c") != "" {
			t.Errorf("%s: found %+v (%v)", line, row, err)
		}
	}
	if json.Unmarshal([]byte(`{"status":"done"}`), new(books.Row)) == nil {
		t.Error("a row without a trial is read")
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
