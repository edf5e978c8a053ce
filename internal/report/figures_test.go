package report_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/chart"
	"dpsgd/internal/report"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
)

// row is a trial of a sweep over clip norm, noise multiplier and seed.
func row(clip, noise string, seed int, accuracy, epsilon float64) books.Row {
	return books.Row{
		Settings: []configs.Setting{{Key: "privacy.clip_norm", Value: clip}, {Key: "privacy.noise_multiplier", Value: noise}, {Key: "training.seed", Value: strconv.Itoa(seed)}},
		Test:     score.Test{TestAccuracy: score.Value(accuracy)}, Answer: account.Answer{Epsilon: epsilon},
	}
}

func sweepOf(rows ...books.Row) *report.Sweep {
	return &report.Sweep{Keys: []string{"privacy.clip_norm", "privacy.noise_multiplier", "training.seed"}, Rows: rows}
}

func find(t *testing.T, all []report.Figure, id string) report.Figure {
	t.Helper()
	i := slices.IndexFunc(all, func(f report.Figure) bool { return f.ID == id })
	if i < 0 {
		t.Fatalf("found no figure %s", id)
	}
	return all[i]
}

// A heat map has the clip norms from top to bottom and the noise multipliers from left to right, by
// size, and in each cell the mean accuracy and the largest ε over the seeds: a mean of ε would say
// less than some trial cost. A trial without an accuracy leaves its cell empty, whatever other
// seeds reach.
func TestHeat(t *testing.T) {
	diverged := row("10", "2", 1, 0, 1)
	diverged.Test = score.Untested()
	s := sweepOf(row("10", "0.5", 1, 0.5, 4), row("10", "0.5", 2, 0.6, 4.5), diverged, row("10", "2", 2, 0.9, 1), row("2", "2", 1, 0.7, 1), row("2", "0.5", 1, 0.8, 4))
	all := report.FiguresOfSweep(s)
	found := find(t, all, "heat-accuracy")
	want := [][]string{{"2", "80.00", "70.00"}, {"10", "55.00", "–"}}
	if !slices.EqualFunc(found.Table.Rows, want, slices.Equal) || !slices.Equal(found.Table.Heading, []string{"clip norm ↓ noise multiplier →", "0.5", "2"}) {
		t.Errorf("found %v %v, expected %v", found.Table.Heading, found.Table.Rows, want)
	}
	if heat := found.Drawing.(chart.Heat); heat.X != "noise multiplier" || heat.Y != "clip norm" || heat.Cells[1][0].Text != "55.00" {
		t.Errorf("found %+v", heat)
	}
	epsilons := find(t, all, "heat-epsilon").Table.Rows
	if epsilons[0][1] != "4.000" || epsilons[0][2] != "1.000" || epsilons[1][1] != "4.500" {
		t.Errorf("found %v, expected ε = 4, 1 and 4.5", epsilons)
	}
}

// Settings that were drawn at random form no grid, and one setting forms none either.
func TestNoHeatWithoutAGrid(t *testing.T) {
	var random, one []books.Row
	for i := range 6 {
		random = append(random, row(fmt.Sprint(i), fmt.Sprint(i), 1, 0.5, 1))
		one = append(one, row(fmt.Sprint(i), "1", 1, 0.5, 1))
	}
	single := sweepOf(one...)
	single.Keys = []string{"privacy.clip_norm"}
	for name, s := range map[string]*report.Sweep{"random": sweepOf(random...), "one key": single} {
		if all := report.FiguresOfSweep(s); len(all) != 1 || all[0].ID != "pareto" {
			t.Errorf("%s: found %d figures, expected accuracy against ε alone", name, len(all))
		}
	}
	if all := report.FiguresOfSweep(sweepOf()); all != nil {
		t.Errorf("found %v of no rows", all)
	}
}

// The front has the points that no other one beats in both, by their means: a lucky seed is not on
// it.
func TestPareto(t *testing.T) {
	s := sweepOf(
		row("1", "4", 1, 0.70, 1), row("1", "2", 1, 0.80, 2), row("2", "2", 1, 0.75, 2), row("1", "1", 1, 0.80, 4),
		row("2", "1", 1, 0.95, 4), row("2", "1", 2, 0.55, 4), row("1", "0.5", 1, 0.9, 8))
	f := find(t, report.FiguresOfSweep(s), "pareto")
	var front []string
	for _, r := range f.Table.Rows {
		if r[4] == "yes" {
			front = append(front, r[1]+" "+r[2]+" "+r[3])
		}
	}
	if want := []string{"1.000 70.00 1", "2.000 80.00 1", "8.000 90.00 1"}; !slices.Equal(front, want) {
		t.Errorf("found %v, expected %v", front, want)
	}
	if len(f.Table.Rows) != 6 {
		t.Errorf("found %d points, expected 6: the seeds of one setting are one", len(f.Table.Rows))
	}
}

// Runs have one line each, and diagnostics keep their first and last steps when they are thinned.
func TestRunsAndDiagnostics(t *testing.T) {
	a, b := evaluated("a", 3), evaluated("b", 1)
	all := report.FiguresOfRuns([]*report.Run{a, b})
	if len(all) != 3 {
		t.Fatalf("found %d figures, expected ε and accuracy over steps and accuracy over ε", len(all))
	}
	drawing := find(t, all, "accuracy-epsilon").Drawing.(chart.Chart)
	lines := drawing.Lines
	if drawing.Title != "Test accuracy over ε" || len(lines) != 2 || lines[0].Name != "a" || len(lines[0].Points) != 3 || lines[1].Points[0] != (chart.Point{X: 0.5, Y: 60}) {
		t.Errorf("found %+v", lines)
	}
	if all := report.FiguresOfRuns([]*report.Run{evaluated("none", 0)}); all != nil {
		t.Errorf("found %v of a run without an evaluation", all)
	}
	for i := range 1000 {
		a.Diagnostics = append(a.Diagnostics, run.Diagnostics{Step: i + 1, ClippedFraction: 0.25, NormQuantiles: []float64{1, 2, 3, 4, 5}})
	}
	private := report.FiguresOfDiagnostics(a)
	rows := find(t, private, "norms").Table.Rows
	if len(rows) != 100 || rows[0][0] != "10" || rows[99][0] != "1000" || strings.Join(rows[0][1:], " ") != "1 2 3 4 5" {
		t.Errorf("found %d steps, from %v to %v", len(rows), rows[0], rows[len(rows)-1])
	}
	for _, f := range private {
		if !f.Private || !strings.Contains(f.Drawing.(chart.Chart).Title, "NOT private") {
			t.Errorf("found %s, expected it to be marked", f.ID)
		}
	}
	if report.FiguresOfDiagnostics(b) != nil {
		t.Error("found figures of no diagnostics")
	}
}

// examined is a run whose model was right so often, of 100 examples of each class.
func examined(name string, right ...int) *report.Run {
	r := evaluated(name, 1)
	e := score.Examine(data.Class, []string{"cat", "dog"}, 200)
	for label, n := range right {
		for i := range 100 {
			class := label
			if i >= n {
				class = 1 - label
			}
			e.Add(label, nil, [][]float32{{1, 0}, {0, 1}}[class], 0)
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

// evaluated is a run that was evaluated so often.
func evaluated(name string, evaluations int) *report.Run {
	r := &report.Run{Name: name, Config: &configs.Config{Privacy: configs.Privacy{Accountant: "exact"}}}
	for i := range evaluations {
		r.Metrics = append(r.Metrics, run.Metrics{Step: 10 * (i + 1), Answer: account.Answer{Epsilon: 0.5 * float64(i+1)}, Test: score.Test{TestAccuracy: 0.6}})
	}
	return r
}
