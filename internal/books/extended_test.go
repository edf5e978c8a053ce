package books_test

import (
	"errors"
	"math"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/sgd"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// Every question about an extended run is answered at the share of δ that its choices leave: ε is what
// the run itself says, δ at that ε is the δ of its configuration, further steps fit as far as that goes.
func TestQuestionsOfAnExtendedRun(t *testing.T) {
	for _, name := range []string{"rdp", "exact", "pld"} {
		o := tinyrun.Options(t)
		first := tinyrun.Train(t, o, "privacy.accountant="+name)
		must(train.Extend(first.Run, 0, 24, o))
		run := tinyrun.Fit(t, tinyrun.Open(t, first.Run, o))
		r, err := books.ReadReleases(first.Run)
		if err != nil {
			t.Fatal(err)
		}
		var a account.Answerer
		found, err := a.Answer(r.Question(account.Epsilon))
		if err != nil || found.Epsilon != run.Epsilon || found.Delta != 1e-4 || *found.Releases != 24 {
			t.Errorf("%s: %+v (%v), expected ε %v at δ 1e-4 of 24 releases", name, found, err, run.Epsilon)
		}
		at := r.Question(account.Delta)
		at.Epsilon = run.Epsilon
		if found, err = a.Answer(at); err != nil || math.Abs(found.Delta-1e-4) > 1e-6 {
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

// The total over runs is that of their ledgers together, for each data set; the same run twice is refused.
func TestSumOfRuns(t *testing.T) {
	o := tinyrun.Options(t)
	a, b, c := tinyrun.Train(t, o).Run, tinyrun.Train(t, o).Run, tinyrun.Train(t, o).Run
	whole := must(books.Show(o.RunsDir))
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

// A data set that is called "labels of pets" and the private labels of "pets" have the same name, and are told apart by
// their unit: neither adds to the total of the other, nor says that it protects something of the same examples.
func TestLabelsAndExamplesOfOneName(t *testing.T) {
	o := tinyrun.Options(t)
	o.Given.Name = "pets"
	told := must(sgd.Create(tiny.Parse(t, "privacy.unit=label", "privacy.epsilon=2", "privacy.noise_multiplier=calibrated", "training.steps=4"), sgd.Options{Options: o.Options}))
	labels := must(told.Fit(t.Context()))
	must(0, told.Close())
	o.Given.Name = "labels of pets"
	trained := tinyrun.Train(t, o)
	shown := must(books.Show(o.RunsDir))
	if len(shown.Datasets) != 2 {
		t.Fatalf("found %+v, expected two totals", shown.Datasets)
	}
	for i, want := range []checkpoints.Unit{{Kind: checkpoints.Label}, {Kind: checkpoints.Example}} {
		if d := shown.Datasets[i]; d.Data.Name != "labels of pets" || d.Data.Unit != want || len(d.Runs) != 1 {
			t.Errorf("found %+v, expected one run that protects the %s", d, want.Kind)
		}
	}
	for _, dir := range []string{labels.Run, trained.Run} {
		if s := must(statement.Read(dir)); s.DatasetRuns != 0 || s.DatasetOthers != "" {
			t.Errorf("%s: found %+v, expected no others", dir, s.Together)
		}
	}
}
