package books_test

import (
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/sgd"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// costOf asks what a run has spent by its ledger, by the accountant and at the δ of its configuration.
func costOf(t *testing.T, dir string) account.Cost {
	return tiny.Must(new(account.Answerer).Answer(tiny.Must(books.ReadReleases(dir))(t).Question(account.Epsilon)))(t)
}

// What a run claims, and what it has released, can be read while it is going on, and reading
// changes nothing.
func TestReleasesAreReadWhileRunning(t *testing.T) {
	o := tinyrun.Options(t)
	plan := tinyrun.Plan(t)
	planned := tiny.Must(plan.After(plan.Steps))(t)
	asked := 0
	o.Stepped = func(p train.Progress) {
		dir := filepath.Join(o.RunsDir, "tiny-1")
		c := costOf(t, dir)
		want := tiny.Must(plan.After(p.Step))(t)
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
	if c := costOf(t, r.Run); c.Epsilon != r.Epsilon {
		t.Errorf("found %+v of a run that ended at ε = %v", c, r.Epsilon)
	}
	if _, err := books.ReadReleases(o.RunsDir); !errors.Is(err, folder.ErrNoRun) {
		t.Errorf("found error %v, expected ErrNoRun", err)
	}
}

// A run is asked about by the accountant and the budget of its configuration, and further steps are
// of the kind of its last one.
func TestQuestionOfARun(t *testing.T) {
	o := tinyrun.Options(t)
	plan := tinyrun.Plan(t)
	r := tinyrun.Train(t, o)
	releases := tiny.Must(books.ReadReleases(r.Run))(t)
	q := releases.Question(account.Steps)
	if q.Accountant != plan.Accountant.Name() || q.Delta != plan.Delta || q.Step != plan.Event(0) || q.Ledger.Count() != 12 {
		t.Errorf("found %+v", q)
	}
	q.Epsilon = 2 * r.Epsilon
	c := tiny.Must(new(account.Answerer).Answer(q))(t)
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
	releases.Divisor, releases.OfClaimed = 2, 4 // of a run that made steps again
	if q := releases.Question(account.Epsilon); q.Divisor != 4 || q.Made == nil || q.Made.Divisor != 2 {
		t.Errorf("found %+v, expected the δ of what is claimed", q)
	}
}

// A row has its swept values as JSON, and is read again with them in their order.
func TestRowsOfSweptValues(t *testing.T) {
	for value, want := range map[string]string{
		"0.1": "0.1", "1e-5": "1e-5", ".5": "0.5", "true": "true", "none": `"none"`, "adam": `"adam"`, "[1, 2]": "[1,2]", ".inf": `".inf"`,
	} {
		line := tiny.Must(json.Marshal(books.Row{Trial: "a", Test: score.Untested(), Settings: []configs.Setting{{Key: "b.z", Value: value}, {Key: "b.a", Value: "c"}}}))(t)
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

// Every question about an extended run is answered at the share of δ that its choices leave: ε is
// what the run itself says, δ at that ε is the δ of its configuration, further steps fit as far as
// that goes.
func TestQuestionsOfAnExtendedRun(t *testing.T) {
	for _, name := range []string{"rdp", "exact", "pld"} {
		o := tinyrun.Options(t)
		first := tinyrun.Train(t, o, "privacy.accountant="+name)
		tiny.Must(train.Extend(first.Run, 0, 24, o))(t)
		run := tinyrun.Fit(t, tinyrun.Open(t, first.Run, o))
		r, err := books.ReadReleases(first.Run)
		tiny.Check(t, err)
		var a account.Answerer
		found, err := a.Answer(r.Question(account.Epsilon))
		if err != nil || found.Epsilon != run.Epsilon || found.Delta != 1e-4 || *found.Releases != 24 {
			t.Errorf("%s: %+v (%v), expected ε %v at δ 1e-4 of 24 releases", name, found, err, run.Epsilon)
		}
		at := r.Question(account.Delta)
		at.Epsilon = run.Epsilon
		if found, err = a.Answer(at); err != nil || !(math.Abs(found.Delta-1e-4) <= 1e-6) {
			t.Errorf("%s: δ %v (%v) at ε %v, expected 1e-4", name, found.Delta, err, run.Epsilon)
		}
		further := r.Question(account.Steps)
		further.Epsilon = run.Epsilon * 1.1
		steps, err := a.Answer(further)
		if err != nil || *steps.Steps < 1 {
			t.Fatalf("%s: %+v (%v), expected a step to fit", name, steps, err)
		}
		for extra, within := range map[int]bool{*steps.Steps: true, *steps.Steps + 1: false} {
			longer := r.Question(account.Epsilon)
			if longer.Ledger, err = r.Ledger.With(further.Step, extra); err != nil {
				t.Fatal(err)
			}
			if found, err := a.Answer(longer); err != nil || (found.Epsilon <= further.Epsilon) != within {
				t.Errorf("%s: %d further steps cost %v (%v) of %v, expected within: %v", name, extra, found.Epsilon, err, further.Epsilon, within)
			}
		}
		pair := r.Question(account.Epsilon)
		pair.GroupSize = 2
		if found, err := a.Answer(pair); err != nil || found.Epsilon <= run.Epsilon || math.IsInf(found.Epsilon, 1) {
			t.Errorf("%s: ε %v (%v) for two examples, expected more than %v and finite", name, found.Epsilon, err, run.Epsilon)
		}
	}
}

// The total over runs is that of their ledgers together, for each data set; the same run twice is
// refused.
func TestSumOfRuns(t *testing.T) {
	o := tinyrun.Options(t)
	a, b, c := tinyrun.Train(t, o).Run, tinyrun.Train(t, o).Run, tinyrun.Train(t, o).Run
	whole := tiny.Must(books.Show(o.RunsDir))(t)
	all, err := books.Sum([]string{a, b, c})
	if err != nil || len(all) != 1 || all[0].Epsilon != whole.Datasets[0].Epsilon || all[0].Releases != 36 || len(all[0].Runs) != 3 {
		t.Errorf("%+v (%v), expected what the ledger of the data says: %+v", all, err, whole.Datasets)
	}
	two, err := books.Sum([]string{a, b})
	if err != nil || two[0].Epsilon >= all[0].Epsilon || two[0].Epsilon <= two[0].Runs[0].Epsilon || two[0].Runs[1].Run != b {
		t.Errorf("%+v (%v) of two", two, err)
	}
	if _, err := books.Sum([]string{a, b, a}); !errors.Is(err, books.ErrSame) {
		t.Errorf("the same run twice is %v", err)
	}
	if _, err := books.Sum([]string{a, t.TempDir()}); !errors.Is(err, folder.ErrNoRun) {
		t.Errorf("no run is %v", err)
	}
	other := tinyrun.Options(t)
	other.Given.Name = "other"
	elsewhere, err := books.Sum([]string{a, tinyrun.Train(t, other).Run})
	if err != nil || len(elsewhere) != 2 || elsewhere[0].Data.Name != "other" {
		t.Errorf("%+v (%v), expected two data sets", elsewhere, err)
	}
}

// A data set that is called "labels of pets" and the private labels of "pets" have the same name,
// and are told apart by their unit: neither adds to the total of the other, nor says that it
// protects something of the same examples.
func TestLabelsAndExamplesOfOneName(t *testing.T) {
	o := tinyrun.Options(t)
	o.Given.Name = "pets"
	told := tiny.Must(sgd.Create(tiny.Parse(t, "privacy.unit=label", "privacy.epsilon=2", "privacy.noise_multiplier=calibrated", "training.steps=4"), sgd.Options{Options: o.Options}))(t)
	labels := tiny.Must(told.Fit(t.Context()))(t)
	tiny.Check(t, told.Close())
	o.Given.Name = "labels of pets"
	trained := tinyrun.Train(t, o)
	shown := tiny.Must(books.Show(o.RunsDir))(t)
	if len(shown.Datasets) != 2 {
		t.Fatalf("found %+v, expected two totals", shown.Datasets)
	}
	for i, want := range []checkpoints.Unit{{Kind: checkpoints.Label}, {Kind: checkpoints.Example}} {
		if d := shown.Datasets[i]; d.Data.Name != "labels of pets" || d.Data.Unit != want || len(d.Runs) != 1 {
			t.Errorf("found %+v, expected one run that protects the %s", d, want.Kind)
		}
	}
	for _, dir := range []string{labels.Run, trained.Run} {
		if s := tiny.Must(statement.Read(dir))(t); s.DatasetRuns != 0 || s.DatasetOthers != "" {
			t.Errorf("%s: found %+v, expected no others", dir, s.Together)
		}
	}
}
