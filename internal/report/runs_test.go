package report

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// Every run has its line, with what it has spent and has left: those that ended, that were stopped,
// that go on, that are damaged and that are gone. Listing changes nothing.
func TestListHasEveryRun(t *testing.T) {
	o := tinyrun.Options(t)
	ended := tinyrun.Train(t, o, "privacy.epsilon=30", "run.name=ended")
	without := tinyrun.Train(t, o, "run.name=without-budget")
	path := func(parts ...string) string { return filepath.Join(o.RunsDir, filepath.Join(parts...)) }
	for _, name := range []string{"damaged-ledger", "damaged-words", "damaged-end", "gone"} {
		tinyrun.Train(t, o, "run.name="+name)
	}
	ledger := strings.SplitAfter(tiny.Read(t, path("damaged-ledger", folder.Ledger)), "\n")
	tiny.Write(t, path("damaged-ledger", folder.Ledger), strings.Join(ledger[:len(ledger)-2], "")) // without its last line
	tiny.Write(t, path("damaged-words", folder.Config), "no: yes")
	tiny.Write(t, path("damaged-end", folder.StatementData), "{")
	tiny.Check(t, os.RemoveAll(path("gone")))
	tinyrun.Create(t, tiny.Parse(t, "run.name=stopped"), o).Close()
	tiny.Write(t, path("notes.txt"), "")
	running := tinyrun.Create(t, tiny.Parse(t, "run.name=running"), o)
	defer running.Close()

	before := tiny.Snapshot(t, o.RunsDir)
	list := tiny.Must(Lines(o.RunsDir))(t)
	if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
		t.Error("listing changed a file")
	}
	statuses := map[string]string{
		"ended": "done", "without-budget": "done", "stopped": Stopped, "running": Running,
		"damaged-ledger": Damaged, "damaged-words": Damaged, "damaged-end": Damaged, "gone": Gone,
	}
	for _, r := range list {
		name := filepath.Base(r.Run)
		if r.Status != statuses[name] || (r.Problem != "") != (r.Status == Damaged || r.Status == Gone) || strings.Contains(r.Problem, "\n") {
			t.Errorf("%s is %q (%s), expected %q", name, r.Status, r.Problem, statuses[name])
		}
		delete(statuses, name)
		switch name {
		case "ended":
			if *r.Epsilon != ended.Epsilon || *r.Budget != 30 || *r.Left != 30-ended.Epsilon || r.Test != ended.Test || r.Data != "stripes" || r.Examples != 300 || r.Releases != 12 {
				t.Errorf("%+v, expected what %+v says", r, ended)
			}
		case "without-budget":
			if *r.Epsilon != without.Epsilon || r.Budget != nil || r.Left != nil {
				t.Errorf("%+v, expected ε %v and no budget", r, without.Epsilon)
			}
		case "gone", "damaged-ledger", "damaged-words", "damaged-end":
			if r.Epsilon == nil || *r.Epsilon != without.Epsilon {
				t.Errorf("%+v, expected the ε of the ledgers, %v", r, without.Epsilon)
			}
		}
	}
	if len(statuses) > 0 {
		t.Errorf("nothing is said of %v", statuses)
	}
}

// A run that was deleted is gone also where another one has its name now.
func TestNameThatIsUsedAgain(t *testing.T) {
	o := tinyrun.Options(t)
	tiny.Check(t, os.RemoveAll(tinyrun.Train(t, o, "run.name=x").Run))
	tinyrun.Train(t, o, "run.name=x")
	list := tiny.Must(Lines(o.RunsDir))(t)
	if len(list) != 2 || list[0].Status != "done" || list[1].Status != Gone || !list[1].Test.None() {
		t.Errorf("found %+v, expected a run that is done and one that is gone", list)
	}
	shown, check := tiny.Must(books.Show(o.RunsDir))(t), tiny.Must(books.Verify(o.RunsDir, ""))(t)
	if !slices.Equal(shown.Gone, []string{"x"}) || !slices.Equal(check.Gone, []string{"x"}) {
		t.Errorf("gone are %v and %v, expected x", shown.Gone, check.Gone)
	}
}

// An extended run that has not gone on is stopped, and what it has left is of its new budget.
func TestExtendedRunIsListed(t *testing.T) {
	o := tinyrun.Options(t)
	first := tinyrun.Train(t, o, "privacy.epsilon=3", "privacy.noise_multiplier=calibrated")
	e := tiny.Must(train.Extend(first.Run, 6, 0, o))(t)
	list, err := Lines(o.RunsDir)
	if err != nil || len(list) != 1 || list[0].Status != Stopped || *list[0].Budget != 6 || *list[0].Epsilon <= first.Epsilon {
		t.Errorf("%+v (%v) of %+v", list, err, e)
	}
	r := tinyrun.Open(t, first.Run, o)
	tiny.Must(r.Fit(context.Background()))(t)
	r.Close()
	if list, err = Lines(o.RunsDir); err != nil || list[0].Status != "done" {
		t.Errorf("%+v (%v)", list, err)
	}
	listed := tiny.Must(books.List(o.RunsDir))(t)
	for _, listed[0].Lost = range []bool{false, true} { // as a trial
		if s := sweep(list, listed); (s.Epsilon == nil) != listed[0].Lost {
			t.Errorf("a sweep of one trial, lost %t, has ε = %v, expected one where all is known", listed[0].Lost, s.Epsilon)
		}
	}
}

// A sweep is done when all of its trials are.
func TestSweepIsDoneWhenItsTrialsAre(t *testing.T) {
	dir := t.TempDir()
	for file, want := range map[string]string{
		`{"trials": [{"name": "a"}]}`: "done", `{"trials": [{"name": "a"}, {"name": "b"}]}`: "interrupted", `{"trials"`: Damaged,
	} {
		tiny.Write(t, filepath.Join(dir, folder.Sweep), file)
		if s := sweep([]Line{{Sweep: dir, Status: "done", Epsilon: new(float64)}}, []books.Listed{{}}); s.Status != want {
			t.Errorf("one trial of %s is done: the sweep is %s, expected %s", file, s.Status, want)
		}
	}
	for _, status := range []string{"interrupted", Stopped, Running} {
		if s := sweep([]Line{{Sweep: dir, Status: status, Epsilon: new(float64)}}, []books.Listed{{}}); s.Status != status {
			t.Errorf("a trial is %s, the sweep is %s", status, s.Status)
		}
	}
}

// Names are in the order in which people count; a folder that is none is an error.
func TestListIsInOrder(t *testing.T) {
	o := tinyrun.Options(t)
	for _, name := range []string{"a-10", "a-9", "b-1"} {
		tinyrun.Create(t, tiny.Parse(t, "run.name="+name), o).Close()
	}
	list, err := Lines(o.RunsDir)
	if err != nil || len(list) != 3 || filepath.Base(list[0].Run) != "a-9" || filepath.Base(list[2].Run) != "b-1" {
		t.Errorf("%+v (%v)", list, err)
	}
	if _, err := Lines(filepath.Join(o.RunsDir, "a-9", folder.Config)); err == nil {
		t.Error("a file was listed")
	}
	if list, err := Lines(t.TempDir()); err != nil || len(list) != 0 {
		t.Errorf("%v (%v) of an empty folder", list, err)
	}
}
