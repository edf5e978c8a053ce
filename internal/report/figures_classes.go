package report

import (
	"slices"
	"strconv"

	"dpsgd/internal/chart"
	"dpsgd/internal/score"
)

// classesTogether are the accuracies of each class side by side, and of two runs what the one lost
// against the other. There is none where runs have other classes, or too many.
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

// whoPays is what each class gains or loses in one of two runs against the other: against the one
// that is not private, where there is one, else against the first.
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
	add("all", run.Examination.Matrix.Total(), base.Examination.Matrix.Total())
	f.Drawing = drawing
	return f
}
