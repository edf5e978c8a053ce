package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dpsgd/accountant"
	"dpsgd/internal/chart"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
)

// FiguresOfRuns draws several runs in the same figures: ε over steps, accuracy over steps and over
// ε, and accuracy by class. For one run, [FiguresOfRun] draws more.
func FiguresOfRuns(runs []*Run) []Figure {
	private := slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.NotPrivate }) // the others have no ε
	all := slices.Concat(
		epsilonOverSteps(private),
		overSteps(Figure{ID: "accuracy", Title: "Test accuracy over steps"}, curvesOf(runs), steps, accuracy),
		overSteps(Figure{ID: "accuracy-epsilon", Title: "Test accuracy over ε", Note: "Whoever stops at a point because of what it shows has spent the ε of all planned steps, not the one here."}, curvesOf(private), spent, accuracy),
		overSteps(Figure{ID: "error", Title: "Mean test error over steps"}, curvesOf(runs), steps, mistake))
	return append(all, classesTogether(runs)...)
}

// FiguresOfRun draws how one run went: ε by every accountant that was asked, and accuracy.
func FiguresOfRun(r *Run) []Figure {
	all := FiguresOfRuns([]*Run{r})
	if r.Curves != nil {
		all = slices.DeleteFunc(all, func(f Figure) bool { return f.ID == "epsilon" })
		all = slices.Insert(all, 0, byAccountants(r))
	}
	return all
}

// axis is one quantity of an evaluated step: its name, its value (NaN for none), and how a table
// writes that value.
type axis struct {
	name  string
	of    func(run.Metrics) float64
	write func(float64) string
}

var (
	steps    = axis{"steps", func(m run.Metrics) float64 { return float64(m.Step) }, func(v float64) string { return strconv.Itoa(int(v)) }}
	spent    = axis{"ε", func(m run.Metrics) float64 { return m.Epsilon }, epsilon}
	accuracy = axis{"test accuracy, %", func(m run.Metrics) float64 { return 100 * float64(m.TestAccuracy) }, hundredths}
	mistake  = axis{"mean test error", func(m run.Metrics) float64 { return wrong(m) }, digits}
)

func wrong(m run.Metrics) float64 {
	if !m.Numbers() {
		return math.NaN()
	}
	return float64(m.TestError)
}

func digits(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// curve is one line of a figure: a run, and its y value, if it is not the one of the other curves.
type curve struct {
	name string
	run  *Run
	y    func(run.Metrics) float64
}

func curvesOf(runs []*Run) []curve {
	curves := make([]curve, len(runs))
	for i, r := range runs {
		curves[i] = curve{name: r.Name, run: r}
	}
	return curves
}

// overSteps draws y over x for the evaluated steps of each curve, or no figure if there are none.
func overSteps(f Figure, curves []curve, x, y axis) []Figure {
	f.Table.Heading = []string{"run", x.name, y.name}
	c := chart.Chart{Title: f.Title, X: x.name, Y: y.name, Tight: y.name == accuracy.name}
	for _, one := range curves {
		line := chart.Line{Name: one.name, Style: chart.Marked}
		if one.y == nil {
			one.y = y.of
		}
		for _, m := range thinned(one.run.Metrics) {
			if p := (chart.Point{X: x.of(m), Y: one.y(m)}); !math.IsNaN(p.Y) {
				line.Points = append(line.Points, p)
				f.Table.Rows = append(f.Table.Rows, []string{one.name, x.write(p.X), y.write(p.Y)})
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
	f.Drawing = c
	return []Figure{f}
}

func hundredths(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// epsilonOverSteps draws ε over steps: a line for each run, or, for one run, for each of its
// accountants.
func epsilonOverSteps(runs []*Run) []Figure {
	curves := curvesOf(runs)
	if len(runs) == 1 {
		curves[0].name = runs[0].Config.Privacy.Accountant
		curves = append(curves, curve{"rdp", runs[0], func(m run.Metrics) float64 {
			if m.EpsilonRDP == nil {
				return math.NaN()
			}
			return *m.EpsilonRDP
		}})
	}
	all := overSteps(Figure{ID: "epsilon", Title: "ε over steps", Note: "What was spent at the steps that were evaluated, each at the δ of its run."}, curves, steps, spent)
	if len(all) > 0 && len(runs) == 1 {
		all[0].Table.Heading[0] = "accountant"
	}
	return all
}

// byAccountants draws ε over the releases of the ledger, a line for each accountant that has an
// answer.
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

// What a figure has room for.
const (
	namedLines = 11  // lines with their names
	mostPoints = 100 // of one line, also in the table
	mostRows   = 40  // classes, where each has a row
	mostCells  = 20  // classes, where each pair has a cell
)

// FiguresOfExamination draws how the model does on the test examples: accuracy by class, confusion
// matrix.
func FiguresOfExamination(r *Run) []Figure {
	if r == nil || r.Examination == nil {
		return nil
	}
	e := r.Examination
	var all []Figure
	if len(e.Classes) > 0 && len(e.Classes) <= mostRows {
		all = append(all, byClass(e))
	}
	if len(e.Confusion) > 0 && len(e.Classes) <= mostCells {
		all = append(all, confusion(e))
	}
	return all
}

func byClass(e *score.Examination) Figure {
	f := Figure{ID: "classes", Title: "Test accuracy by class", Note: aboutClasses, Table: classTable(e)}
	drawing := chart.Intervals{Title: f.Title, X: accuracy.name}
	for _, c := range e.Classes {
		drawing.Rows = withShare(drawing.Rows, c.Name, c.Share, 0)
	}
	f.Drawing = drawing
	return f
}

// aboutClasses goes with figures of the accuracy of each class.
const aboutClasses = "With 95 % intervals (Wilson 1927) of a share of so many examples; they say nothing about another training."

// withShare appends a share in percent with its interval, unless it is a share of no examples.
func withShare(rows []chart.Interval, name string, s score.Share, series int) []chart.Interval {
	if s.Examples == 0 {
		return rows
	}
	return append(rows, chart.Interval{Name: name, Value: 100 * s.Accuracy, Low: 100 * s.Low, High: 100 * s.High, Series: series})
}

func classTable(e *score.Examination) Table {
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
	if r == nil || len(r.Diagnostics) == 0 {
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
			row = append(row, strconv.FormatFloat(v, 'g', 4, 64))
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

// Figure is one drawing with what it shows.
type Figure struct {
	ID      string // a word in lower case, one of a kind among the figures of one run or sweep
	Title   string
	Note    string // a sentence below the figure; "" for none
	Private bool   // made of private diagnostics: it is NOT private
	Drawing chart.Figure
	Table   Table
}

// Table holds the values of a figure as text.
type Table struct {
	Heading []string
	Rows    [][]string // as long as the heading; the first cell names the row
}

// Label returns what a screen reader says in place of the drawing.
func (f Figure) Label() string {
	return fmt.Sprintf("%s: a figure of %d values, which stand in the table below it", f.Title, len(f.Table.Rows)*(len(f.Table.Heading)-1))
}

func hundredthsOf(share float64) string { return hundredths(100 * share) }

func epsilon(value float64) string { return accountant.RoundUp(value, 3) }

// thinned returns at most mostPoints of the points, evenly spaced, the last one among them.
func thinned[Point any](all []Point) []Point {
	if len(all) <= mostPoints {
		return all
	}
	some := make([]Point, mostPoints)
	for i := range some {
		some[i] = all[(i+1)*len(all)/mostPoints-1]
	}
	return some
}

// classesTogether draws the accuracy of each class for several runs, and for two runs the
// differences. It draws nothing if the runs differ in their classes, or have too many.
func classesTogether(runs []*Run) []Figure {
	for _, r := range runs {
		if r.Examination == nil || !slices.Equal(r.Examination.Matrix.Names, runs[0].Examination.Matrix.Names) {
			return nil
		}
	}
	if len(runs) < 2 || len(runs)*len(runs[0].Examination.Classes) > mostRows {
		return nil
	}
	all := []Figure{sideBySide(runs)}
	if len(runs) == 2 {
		all = append(all, whoPays(runs[0], runs[1]))
	}
	return all
}

func sideBySide(runs []*Run) Figure {
	f := Figure{ID: "classes", Title: "Test accuracy by class", Note: aboutClasses,
		Table: Table{Heading: []string{"class and run", "test " + runs[0].Examination.Noun, "accuracy, %", "from", "to"}}}
	drawing := chart.Intervals{Title: f.Title, X: accuracy.name}
	for _, r := range runs {
		drawing.Series = append(drawing.Series, r.Name)
	}
	for label := range runs[0].Examination.Classes {
		for series, r := range runs {
			c := r.Examination.Classes[label]
			f.Table.Rows = append(f.Table.Rows, []string{c.Name + ", " + r.Name, strconv.Itoa(c.Examples), hundredthsOf(c.Accuracy), hundredthsOf(c.Low), hundredthsOf(c.High)})
			name := c.Name
			if series > 0 {
				name = "" // stands above
			}
			drawing.Rows = withShare(drawing.Rows, name, c.Share, series)
		}
	}
	f.Drawing = drawing
	return f
}

// whoPays draws how much accuracy each class gains or loses from one run to the other. The base is
// the run that is not private, if there is one, else the first.
func whoPays(base, run *Run) Figure {
	if run.NotPrivate && !base.NotPrivate {
		base, run = run, base
	}
	f := Figure{ID: "who-pays", Title: "Who pays: accuracy of " + run.Name + " less that of " + base.Name + ", by class",
		Note:  "In percentage points, with 95 % intervals (Newcombe 1998, method 10), for two trainings as they are. Noise and clipping often cost small and hard classes most (Bagdasaryan, Poursaeed, Shmatikov 2019, arXiv:1905.12101).",
		Table: Table{Heading: []string{"class", "difference, points", "from", "to"}}}
	drawing := chart.Intervals{Title: f.Title, X: "difference, percentage points", Zero: true}
	add := func(name string, of, against score.Share) {
		if of.Examples == 0 || against.Examples == 0 {
			return
		}
		d, low, high := score.Difference(of, against)
		f.Table.Rows = append(f.Table.Rows, []string{name, hundredths(100 * d), hundredths(100 * low), hundredths(100 * high)})
		drawing.Rows = append(drawing.Rows, chart.Interval{Name: name, Value: 100 * d, Low: 100 * low, High: 100 * high})
	}
	for label, c := range run.Examination.Classes {
		add(c.Name, c.Share, base.Examination.Classes[label].Share)
	}
	add("all", run.Examination.Total(), base.Examination.Total())
	f.Drawing = drawing
	return f
}
