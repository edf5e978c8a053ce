package report_test

import (
	"slices"
	"testing"

	"dpsgd/internal/chart"
	"dpsgd/internal/report"
	"dpsgd/internal/score"
)

// examined is a run whose model was right so often, of 100 examples of each class.
func examined(name string, right ...int) *report.Run {
	r := evaluated(name, 1)
	e := score.Examine([]string{"cat", "dog"}, 200)
	for label, n := range right {
		for i := range 100 {
			class := label
			if i >= n {
				class = 1 - label
			}
			e.Add(label, class, []float32{0, 0}, 0)
		}
	}
	e.Close()
	r.Examination = e
	return r
}

func figureOf(t *testing.T, runs []*report.Run, id string) *report.Figure {
	t.Helper()
	all := report.FiguresOfRuns(runs)
	if i := slices.IndexFunc(all, func(f report.Figure) bool { return f.ID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Two runs are compared class by class, the private one against the one that is not, whatever their
// order. Intervals by score.Difference, which a test there holds against its source.
func TestWhoPays(t *testing.T) {
	private, base := examined("private", 95, 60), examined("base", 97, 90)
	base.NotPrivate = true
	for _, runs := range [][]*report.Run{{private, base}, {base, private}} {
		f := figureOf(t, runs, "who-pays")
		if f == nil {
			t.Fatal("found no figure of who pays")
		}
		drawing := f.Drawing.(chart.Intervals)
		for i, want := range []chart.Interval{{Name: "cat", Value: -2}, {Name: "dog", Value: -30}, {Name: "all", Value: -16}} {
			found := drawing.Rows[i]
			if found.Name != want.Name || found.Value > want.Value+1e-9 || found.Value < want.Value-1e-9 || !(found.Low < found.Value && found.Value < found.High) {
				t.Errorf("found %+v, expected %+v", found, want)
			}
		}
		if drawing.Rows[0].High < 0 || drawing.Rows[1].High > 0 {
			t.Errorf("found %+v, expected dogs alone to lose for certain", drawing.Rows)
		}
		if both := figureOf(t, runs, "classes"); both == nil || len(both.Table.Rows) != 4 || len(both.Drawing.(chart.Intervals).Series) != 2 {
			t.Errorf("found %+v, expected both classes of both runs", both)
		}
	}
}

// One run alone, other classes and a run that was not predicted are not compared.
func TestNothingToCompare(t *testing.T) {
	other, unseen := examined("other", 1, 2), evaluated("unseen", 1)
	other.Examination.Matrix.Names = []string{"cat", "cow"}
	for name, runs := range map[string][]*report.Run{
		"one": {examined("a", 1, 2)}, "classes": {examined("a", 1, 2), other}, "unseen": {examined("a", 1, 2), unseen}, "first unseen": {unseen, examined("a", 1, 2)},
	} {
		if figureOf(t, runs, "classes") != nil || figureOf(t, runs, "who-pays") != nil {
			t.Errorf("%s: found a comparison", name)
		}
	}
	if three := []*report.Run{examined("a", 1, 2), examined("b", 1, 2), examined("c", 1, 2)}; figureOf(t, three, "classes") == nil || figureOf(t, three, "who-pays") != nil {
		t.Error("expected three runs beside each other, and no difference of two")
	}
}
