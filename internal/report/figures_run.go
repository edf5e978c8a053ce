package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpsgd/internal/chart"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
)

// FiguresOfRuns are drawn side by side in figures about one thing each. One run is drawn alone, with more
// about it; see [FiguresOfRun].
func FiguresOfRuns(runs []*Run) []Figure {
	var all []Figure
	private := slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.NotPrivate }) // the others have no ε
	for _, figure := range []*Figure{epsilonOverSteps(private), accuracyOverSteps(runs), accuracyOverEpsilon(private)} {
		if figure != nil {
			all = append(all, *figure)
		}
	}
	return append(all, classesTogether(runs)...)
}

// FiguresOfRun draws how a run went: ε by every accountant that was asked, and accuracy.
func FiguresOfRun(r *Run) []Figure {
	all := FiguresOfRuns([]*Run{r})
	if r.Curves != nil {
		if i := slices.IndexFunc(all, func(f Figure) bool { return f.ID == "epsilon" }); i >= 0 {
			all[i] = byAccountants(r)
		} else {
			all = append([]Figure{byAccountants(r)}, all...)
		}
	}
	return all
}

// curve is one line of a figure over the evaluated steps of runs: where a step lies, or false for
// nowhere.
type curve struct {
	name  string
	run   *Run
	place func(run.Metrics) (x, y float64, ok bool)
}

// overSteps is a figure of curves. Value writes the y of a point for the table.
func overSteps(f Figure, c chart.Chart, curves []curve, x, y func(float64) string) *Figure {
	f.Table.Heading = []string{"run", c.X, c.Y}
	for _, one := range curves {
		line := chart.Line{Name: one.name, Style: chart.Marked}
		for _, m := range thinned(one.run.Metrics) {
			if px, py, ok := one.place(m); ok {
				line.Points = append(line.Points, chart.Point{X: px, Y: py})
				f.Table.Rows = append(f.Table.Rows, []string{one.name, x(px), y(py)})
			}
		}
		if len(line.Points) > 20 {
			line.Style = chart.Solid
		}
		c.Lines = append(c.Lines, line)
	}
	if len(f.Table.Rows) == 0 {
		return nil
	}
	if len(curves) > namedLines {
		f.Note = strings.TrimSpace(f.Note + " There are more lines than there is room for names: the table tells them apart.")
	}
	c.Title, f.Drawing = f.Title, c
	return &f
}

// namedLines is how many lines have room for their names.
const namedLines = 11

func whole(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func epsilonOverSteps(runs []*Run) *Figure {
	var curves []curve
	for _, r := range runs {
		name := r.Config.Privacy.Accountant
		if len(runs) > 1 {
			name = r.Name
		}
		curves = append(curves, curve{name, r, func(m run.Metrics) (float64, float64, bool) { return float64(m.Step), m.Epsilon, true }})
		if len(runs) == 1 {
			curves = append(curves, curve{"rdp", r, func(m run.Metrics) (float64, float64, bool) {
				if m.EpsilonRDP == nil {
					return 0, 0, false
				}
				return float64(m.Step), *m.EpsilonRDP, true
			}})
		}
	}
	f := overSteps(Figure{ID: "epsilon", Title: "ε over steps", Note: "What was spent at the steps that were evaluated, each at the δ of its run."},
		chart.Chart{X: "steps", Y: "ε"}, curves, whole, epsilon)
	if f != nil && len(runs) == 1 {
		f.Table.Heading[0] = "accountant"
	}
	return f
}

func accuracyOverSteps(runs []*Run) *Figure {
	return overSteps(Figure{ID: "accuracy", Title: "Test accuracy over steps"}, chart.Chart{X: "steps", Y: "test accuracy, %", Tight: true},
		perRun(runs, func(m run.Metrics) (float64, float64, bool) { return float64(m.Step), 100 * m.TestAccuracy, true }), whole, hundredths)
}

func accuracyOverEpsilon(runs []*Run) *Figure {
	return overSteps(Figure{ID: "accuracy-epsilon", Title: "Test accuracy over ε"}, chart.Chart{X: "ε", Y: "test accuracy, %", Tight: true},
		perRun(runs, func(m run.Metrics) (float64, float64, bool) { return m.Epsilon, 100 * m.TestAccuracy, true }), epsilon, hundredths)
}

func perRun(runs []*Run, place func(run.Metrics) (float64, float64, bool)) []curve {
	var curves []curve
	for _, r := range runs {
		curves = append(curves, curve{r.Name, r, place})
	}
	return curves
}

func hundredths(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// byAccountants is ε over the releases of the ledger by everyone who could be asked.
func byAccountants(r *Run) Figure {
	f := Figure{ID: "epsilon", Title: "ε over steps by the accountants", Table: Table{Heading: []string{"accountant", "releases", "ε"}}}
	drawing := r.Curves.Chart()
	drawing.X = "releases"
	for i, l := range drawing.Lines {
		drawing.Lines[i].Name = strings.Replace(l.Name, " (estimate)", "*", 1)
	}
	var refused []string
	for _, a := range r.Curves.Accountants {
		name := a.Accountant
		if a.Estimate {
			name += "*"
		}
		if a.Error != "" {
			refused = append(refused, name)
		}
		for _, p := range a.Curve {
			f.Table.Rows = append(f.Table.Rows, []string{name, strconv.Itoa(p.Steps), epsilon(p.Epsilon)})
		}
	}
	f.Note = "All upper bounds, but for what has a star: an estimate that no promise can rest on."
	if len(refused) > 0 {
		f.Note += " No answer from: " + strings.Join(refused, ", ") + "."
	}
	f.Drawing = drawing
	return f
}

// The most classes that a figure about each of them has room for.
const (
	mostRows  = 40
	mostCells = 20
)

// FiguresOfExamination draws what the model of a run says of the test examples, where it was asked.
func FiguresOfExamination(r *Run) []Figure {
	if r.Examination == nil {
		return nil
	}
	e := r.Examination
	var all []Figure
	if !ManyClasses(e) {
		all = append(all, byClass(e))
	}
	if len(e.Classes) <= mostCells {
		all = append(all, confusion(e))
	}
	return all
}

// ManyClasses says that there are more than a figure has room for.
func ManyClasses(e *score.Examination) bool { return len(e.Classes) > mostRows }

func byClass(e *score.Examination) Figure {
	f := Figure{ID: "classes", Title: "Test accuracy by class", Table: ClassTable(e),
		Note: "With 95 % intervals (Wilson 1927) of a share of so many examples; they say nothing about another training."}
	drawing := chart.Intervals{Title: f.Title, X: "test accuracy, %"}
	for _, c := range e.Classes {
		if c.Examples > 0 {
			drawing.Rows = append(drawing.Rows, chart.Interval{Name: c.Name, Value: 100 * c.Accuracy, Low: 100 * c.Low, High: 100 * c.High})
		}
	}
	f.Drawing = drawing
	return f
}

// ClassTable is the accuracy of each class.
func ClassTable(e *score.Examination) Table {
	t := Table{Heading: []string{"class", "test " + e.Noun, "correct", "accuracy, %", "from", "to"}}
	for _, c := range e.Classes {
		t.Rows = append(t.Rows, []string{c.Name, strconv.Itoa(c.Examples), strconv.Itoa(c.Correct), hundredthsOf(c.Accuracy), hundredthsOf(c.Low), hundredthsOf(c.High)})
	}
	return t
}

func confusion(e *score.Examination) Figure {
	names := e.Matrix.Names
	f := Figure{ID: "confusion", Title: "Confusion matrix", Note: "How many test " + e.Noun + " of the class of a row were taken for the class of a column; the shade is the share of the row.",
		Table: Table{Heading: append([]string{"class ↓ taken for →"}, names...)}}
	drawing := chart.Heat{Title: f.Title, X: "taken for", Y: "class", Columns: names, Rows: names}
	for label, counts := range e.Confusion {
		row, cells := []string{names[label]}, make([]chart.Cell, len(counts))
		for i, n := range counts {
			row = append(row, strconv.Itoa(n))
			cells[i] = chart.Cell{Value: float64(n) / float64(max(1, e.Classes[label].Examples)), Text: strconv.Itoa(n)}
		}
		f.Table.Rows, drawing.Cells = append(f.Table.Rows, row), append(drawing.Cells, cells)
	}
	f.Drawing = drawing
	return f
}

// FiguresOfDiagnostics draws private diagnostics. The figures are NOT private.
func FiguresOfDiagnostics(r *Run) []Figure {
	if len(r.Diagnostics) == 0 {
		return nil
	}
	clipped := Figure{ID: "clipped", Title: "Clipped fraction over steps", Private: true, Table: Table{Heading: []string{"step", "clipped, %"}}}
	norms := Figure{ID: "norms", Title: "Norms of per-example gradients over steps", Private: true, Table: Table{Heading: []string{"step"}},
		Note: "Before clipping: the norm that so large a share of a batch does not pass."}
	share := chart.Line{Name: "clipped"}
	quantiles := make([]chart.Line, len(run.NormQuantiles))
	for i, q := range run.NormQuantiles {
		quantiles[i].Name = fmt.Sprintf("%g %%", 100*q)
		norms.Table.Heading = append(norms.Table.Heading, quantiles[i].Name)
	}
	for _, d := range thinned(r.Diagnostics) {
		step := strconv.Itoa(d.Step)
		share.Points = append(share.Points, chart.Point{X: float64(d.Step), Y: 100 * d.ClippedFraction})
		clipped.Table.Rows = append(clipped.Table.Rows, []string{step, hundredthsOf(d.ClippedFraction)})
		if len(d.NormQuantiles) != len(quantiles) {
			continue // an empty batch, or an earlier version
		}
		row := []string{step}
		for i, v := range d.NormQuantiles {
			quantiles[i].Points = append(quantiles[i].Points, chart.Point{X: float64(d.Step), Y: v})
			row = append(row, short(v))
		}
		norms.Table.Rows = append(norms.Table.Rows, row)
	}
	clipped.Drawing = chart.Chart{Title: clipped.Title + ", NOT private", X: "steps", Y: "clipped, %", Lines: []chart.Line{share}}
	all := []Figure{clipped}
	if len(norms.Table.Rows) > 0 {
		norms.Drawing = chart.Chart{Title: norms.Title + ", NOT private", X: "steps", Y: "norm", Lines: quantiles}
		all = append(all, norms)
	}
	return all
}
