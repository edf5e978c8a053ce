package stats

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// given are the options of a run on examples that are there.
func given(source *data.Split) Options {
	return Options{Options: run.Options{Request: setup.Request{Given: source}}}
}

func named(runs, name string, source *data.Split) Options {
	o := given(source)
	o.RunsDir, o.Name = runs, name
	return o
}

// finished are the results of a run that is carried out and closed.
func finished(t testing.TB, r *Run) []Result {
	t.Helper()
	defer r.Close()
	if err := r.CarryOut(t.Context()); err != nil || r.Status != run.Done {
		t.Fatalf("found %s (%v), expected done", r.Status, err)
	}
	return r.Results
}

func create(t testing.TB, f *configs.StatisticsFile, o Options) *Run {
	t.Helper()
	o.RunsDir, o.Name, o.Given = t.TempDir(), "people", people(t, 2000)
	return tiny.Must(Create(f, o))(t)
}

func open(t testing.TB, r *Run) *Run {
	t.Helper()
	return tiny.Must(Open(r.Dir, given(people(t, 2000))))(t)
}

// A run leaves a ledger of all that it released, a statement about it, and results; everybody who
// reads ledgers agrees with it.
func TestWhatARunLeaves(t *testing.T) {
	f := file(t, 1, every()...)
	f.Statistics = slices.DeleteFunc(f.Statistics, discreteSum)
	r := create(t, f, Options{})
	results, runs := finished(t, r), filepath.Dir(r.Dir)
	if len(results) != len(f.Statistics) {
		t.Fatalf("found %d results, expected %d", len(results), len(f.Statistics))
	}
	check, err := books.Verify(runs, "")
	if err != nil || check.Runs != 1 || check.Releases != r.Books.Len() {
		t.Errorf("found %+v (%v), expected one run that agrees with its ledgers", check, err)
	}
	totals, err := books.Show(runs)
	if err != nil || len(totals.Datasets) != 1 || totals.Datasets[0].Data.Name != "people" || totals.Datasets[0].Fixed.Epsilon > 1 || totals.Datasets[0].Fixed.Epsilon < 0.997 || !(totals.Datasets[0].Epsilon < 2) {
		t.Errorf("found %+v (%v), expected ε 1 for people", totals, err)
	}
	s, err := statement.Read(r.Dir)
	if err != nil || s.System != "statistics" || s.LedgerEntries != check.Releases || len(s.Facts) != len(results) || s.Epsilon > 1 {
		t.Errorf("found the statement %+v (%v), expected one about %d statistics", s, err, len(results))
	}
	if !strings.Contains(s.Trusted, "whoever mixes") || !strings.Contains(s.Trusted, "nobody") {
		t.Errorf("found %q, expected who has to be trusted for each kind", s.Trusted)
	}
	numbers := 0.0 // with Gaussian noise
	for _, result := range results {
		if result.Mechanism == configs.Gaussian {
			numbers += float64(len(result.Value.List))
		}
	}
	const large = 2790 // at which an ε makes (1 + e^ε)·2^-4040 a float64
	if added, least := r.addedDelta(large), numbers*math.Exp2(large/math.Ln2-4040); !(added >= least && added < 1) || s.AddedDelta != math.SmallestNonzeroFloat64 {
		t.Errorf("the noise of %v numbers adds %v to δ at a large ε, expected at least %v; and %v at %v", numbers, added, least, s.AddedDelta, s.Epsilon)
	}
	widest := slices.IndexFunc(r.plan.asked, func(a asked) bool { return a.Mechanism == configs.Gaussian })
	r.plan.asked[widest].Columns = make([]string, 128) // of a covariance: 128 + 128·129/2 sums
	if added, least := r.addedDelta(2770), 8384*math.Exp2(2770/math.Ln2-4040); !(added >= least && added < 1) {
		t.Errorf("the noise of the widest covariance adds %v to δ, expected at least %v", added, least)
	}
	if words := tiny.Read(t, r.Path(folder.Statement)); !strings.Contains(words, "\n\nIf one person contributed several records,") {
		t.Errorf("found\n%s\nexpected what holds for a person with several records", words)
	}
	ledger, lines := tiny.Must(books.Inspect(r.Dir))(t).Ledger, slices.Collect(strings.Lines(tiny.Read(t, r.Path(folder.Answers))))
	if read, err := ReadResults(r.Dir, ledger, f.Config.Privacy.Delta); err != nil || len(read) != len(results) || len(lines) != len(results) {
		t.Errorf("read %d results in %d lines (%v), expected %d", len(read), len(lines), err, len(results))
	}
	if read, err := ReadResults(r.Dir, nil, f.Config.Privacy.Delta); err != nil || len(read) != len(results) {
		t.Errorf("read %d results without a ledger (%v), expected %d", len(read), err, len(results))
	}
	edits := []string{`"epsilon":0.001`, `"delta":0.5`, `"number":99`}
	for n, line := range lines {
		if n > 0 { // the accountant is asked about all lines before, which takes a while
			edits = edits[:1]
		}
		for _, edit := range edits {
			key, _, _ := strings.Cut(edit, ":")
			lines[n] = strings.Replace(line, key+":", edit+`,"x":`, 1)
			tiny.Write(t, r.Path(folder.Answers), strings.Join(lines, ""))
			if _, err := ReadResults(r.Dir, ledger, f.Config.Privacy.Delta); !errors.Is(err, checkpoints.ErrCorrupt) {
				t.Errorf("read line %d with %s (%v), expected a refusal: %s", n+1, edit, err, line)
			}
		}
		lines[n] = line
	}
}

// A run that is stopped goes on where it was: what was released stays as it is, nothing is released
// twice, and the budget covers the whole.
func TestStoppedAndResumed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	list := every()[:8]
	r := create(t, file(t, 1, list...), Options{Answered: func(Result) {
		if n++; n == 3 {
			stop()
		}
	}})
	err := r.CarryOut(ctx)
	before := r.Results
	if err != nil || r.Status != run.Interrupted || len(before) != 3 {
		t.Fatalf("found %d results, %s, %v, expected 3 and interrupted", len(before), r.Status, err)
	}
	r.Close()
	again := open(t, r)
	after := finished(t, again)
	if len(after) != len(list) {
		t.Fatalf("found %d results, expected %d", len(after), len(list))
	}
	for i := range before {
		if !reflect.DeepEqual(before[i].Value, after[i].Value) {
			t.Errorf("result %d was %v and is %v, expected that it stays", i, before[i], after[i])
		}
	}
	if len(again.Books.Ledger().Entries()) == 0 || again.Books.Len() != len(list) {
		t.Errorf("found %d releases, expected one for each of %d statistics", again.Books.Len(), len(list))
	}
}

// A run that is killed between the event and the result counts the event. It pays again where the
// budget allows that beside everything that is to come, and else reports the statistic as lost and
// answers the others.
func TestKilledBetweenEventAndResult(t *testing.T) {
	search := every()[slices.IndexFunc(every(), func(s string) bool { return strings.Contains(s, "above_threshold") })]
	for i := range 4 {
		slack, list := i%2 > 0, slices.Clone(every()[:4])
		if i >= 2 {
			list[1] = search
		}
		r := create(t, file(t, 1, list...), Options{})
		tiny.Check(t, r.Next(t.Context()))
		tiny.Check(t, r.Books.Begin(2, r.plan.asked[1].releases.Entries()[0].Event)())
		r.Close()
		again := open(t, r)
		if slack { // as if a tighter accountant had come
			tiny.Must(again.plan.dry(records{config: again.file.Config, public: 2000}, 3))(t)
		}
		results := finished(t, again)
		if len(results) != 4 || results[1].Lost() == slack || results[2].Lost() || results[3].Lost() {
			t.Errorf("%s, slack %v: found %+v, expected the second of four lost without slack", list[1], slack, results)
		}
		if within, err := again.plan.within(again.Books.Ledger()); err != nil || !within {
			t.Errorf("slack %v: the budget was passed (%v)", slack, err)
		}
		s, err := statement.Read(r.Dir)
		if err != nil || strings.Contains(s.Facts[1].Value, "LOST") == slack {
			t.Errorf("found %q (%v), expected a loss to be said", s.Facts[1].Value, err)
		}
	}
}

// Everything that can be wrong shows before there is a folder, in one line.
func TestWhatDoesNotFitTheData(t *testing.T) {
	small := people(t, 100)
	apart := "{statistic: sum, column: age, bounds: [0, 1], mechanism: discrete_gaussian}\n- {statistic: median, column: age, bounds: [0, 1], step: 0.1}"
	wide := "{statistic: histogram, column: age, bounds: [0, 1], bins: 600, trust: nobody, mechanism: rappor}"
	for _, tt := range []struct {
		change func(f *configs.StatisticsFile)
		list   string
		want   string
	}{
		{func(f *configs.StatisticsFile) { f.Config.Privacy.Delta = 0.02 }, every()[0], "train: the configuration does not fit the data: privacy.delta is 0.02, expected less than 1/n = 0.01 for n = 100 records"},
		{func(*configs.StatisticsFile) {}, apart, "train: the configuration does not fit the data: what the statistics cost together: accountant: unsupported: no dominating pair is known for DiscreteGaussian"},
		{func(*configs.StatisticsFile) {}, wide, "train: the configuration does not fit the data: the histogram of age: local: invalid parameter: found 600 values, expected at most 512 in filters"},
	} {
		f := file(t, 1, tt.list)
		tt.change(f)
		runs := filepath.Join(t.TempDir(), "runs")
		_, err := Create(f, named(runs, "people", small))
		if !errors.Is(err, setup.ErrPlan) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("found %v, expected %s", err, tt.want)
		}
		if _, err := os.Stat(runs); err == nil {
			t.Error("a folder was made")
		}
	}
}

// The presets fit their budget, and a mixed report may cost more than one that is not.
func TestDigits(t *testing.T) {
	f := tiny.Must(Read("digits-statistics", nil, nil))(t)
	r := tiny.Must(Create(f, named(t.TempDir(), "digits", nil)))(t)
	results := finished(t, r)
	curator, shuffler, nobody := results[0], results[1], results[2]
	width := func(r Result) float64 { return r.High.List[0] - r.Low.List[0] }
	if !(width(curator) < width(shuffler) && width(shuffler) < width(nobody)) {
		t.Errorf("intervals are %g, %g and %g wide, expected the more the fewer are trusted", width(curator), width(shuffler), width(nobody))
	}
	each, err := mixed("unary", 10, 20000, shuffler.Epsilon, shuffler.Delta)
	if err != nil || each < 5*shuffler.Epsilon {
		t.Errorf("a mixed report costs %g (%v), expected more than five times the %g of all of them", each, err, shuffler.Epsilon)
	}
}

// A folder with a table is read as one, and asks for the bounds of its columns.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train.csv", "test.csv"} {
		tiny.Write(t, filepath.Join(dir, name), "age,sick\n30,no\n40,yes\n50,no\n")
	}
	if _, err := Read(dir, nil, nil); !errors.Is(err, configs.ErrInvalid) || !strings.Contains(err.Error(), "found no bounds for age") {
		t.Errorf("found %v, expected that bounds are missing", err)
	}
	f := tiny.Must(Read(dir, []string{`data.classes=["no", "yes"]`, "privacy.delta=0.01"}, map[string]configs.Bounds{"age": {Interval: configs.Interval{Low: 0, High: 120}}}))(t)
	r := tiny.Must(Create(f, named(t.TempDir(), "table", nil)))(t)
	if results := finished(t, r); len(results) != 4 {
		t.Errorf("found %s, expected a histogram, mean, variance and quartiles", tiny.JSON(t, results))
	}
	if l := r.Books.Ledger(); l.Entries()[0].Event != (accountant.DiscreteLaplace{Scale: r.plan.asked[0].noise().scale, Sensitivity: 1}) {
		t.Errorf("the first event is %v, expected that of counts", l.Entries()[0].Event)
	}
}

// What is edited in the folder of a run is refused in one line: nobody gets a larger budget,
// another δ or other data for what was seen already, and results agree with the ledger and the
// plan.
func TestEditedRun(t *testing.T) {
	r := create(t, file(t, 1, every()[:2]...), Options{})
	tiny.Check(t, r.Next(t.Context()))
	r.Close()
	for _, edit := range []struct {
		old, new string
		files    []string
		err      error
		want     string
	}{
		{"epsilon: 1\n", "epsilon: 5\n", []string{folder.Statistics}, books.ErrOtherPlan, "privacy.epsilon 1, found 5"},
		{"epsilon: 1\n", "epsilon: 5\n", []string{folder.Statistics, folder.Config}, books.ErrOtherPlan, ", expected the 2.5"},
		{"delta: ", "delta: 9", []string{folder.Statistics, folder.Config}, books.ErrOtherPlan, "found privacy.delta"},
		{"accountant: exact", "accountant: rdp", []string{folder.Statistics}, books.ErrOtherPlan, "privacy.accountant exact, found rdp"},
		{"share: 1}", "share: 3}", []string{folder.Statistics}, books.ErrOtherPlan, "of the plan"},
		{"count", "sum", []string{folder.Answers}, checkpoints.ErrCorrupt, "found no result of statistic 0"},
		{"{", "", []string{folder.Answers}, checkpoints.ErrCorrupt, "found no result of statistic 0"},
		{`"ledger_entries":1`, `"ledger_entries":2`, []string{folder.Answers}, checkpoints.ErrRollback, "found 2 entries of the ledger, which has 1"},
		{`"epsilon":`, `"epsilon":0.01,"x":`, []string{folder.Answers}, books.ErrOtherPlan, "found ε = 0.01 and δ = 0, expected the 0.5"},
		{`"delta":0`, `"delta":1e-9`, []string{folder.Answers}, books.ErrOtherPlan, "found ε = 0.5 and δ = 1e-09"},
		{`"column":"`, `"column":"x`, []string{folder.Answers}, checkpoints.ErrCorrupt, "found no result of statistic 0"},
		{`"low":`, `"low":[1,2],"x":`, []string{folder.Answers}, checkpoints.ErrCorrupt, "found 1, 2 and 1 numbers, expected as many in each"},
	} {
		whole := map[string]string{}
		for _, name := range edit.files {
			if whole[name] = tiny.Read(t, r.Path(name)); !strings.Contains(whole[name], edit.old) {
				t.Fatalf("%s:\n%s", name, whole[name])
			}
			tiny.Write(t, r.Path(name), strings.Replace(whole[name], edit.old, edit.new, 1))
		}
		_, err := Open(r.Dir, given(people(t, 2000)))
		if !errors.Is(err, edit.err) || !strings.Contains(err.Error(), edit.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s in %s: found %v, expected %q in one line", edit.new, edit.files, err, edit.want)
		}
		for name, content := range whole {
			tiny.Write(t, r.Path(name), content)
		}
	}
}

// Whoever removes results gets no second draw: what the budget does not allow to pay again is lost,
// and the run ends.
func TestResultsRemoved(t *testing.T) {
	r := create(t, file(t, 1, every()[:3]...), Options{})
	finished(t, r)
	tiny.Check(t, os.Remove(filepath.Join(r.Dir, folder.Answers)))
	again := open(t, r)
	results := finished(t, again)
	if len(results) != 3 || again.Books.Len() != 3 {
		t.Fatalf("found %v after %d releases, expected three results after three", results, again.Books.Len())
	}
	for _, result := range results {
		if !result.Lost() {
			t.Errorf("found %+v, expected that it is lost", result)
		}
	}
}
