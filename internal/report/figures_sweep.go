package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/chart"
	"dpsgd/internal/score"
)

// FiguresOfSweep draws what the trials of a sweep did: accuracy and ε over two settings, where they
// form a grid, and accuracy against ε. Only points with a mean are drawn.
func FiguresOfSweep(s *Sweep) []Figure {
	points := slices.DeleteFunc(pointsOf(s.Rows), func(p point) bool { return p.TestAccuracy.None() }) // numbers are in the table alone
	if len(points) == 0 {
		return nil
	}
	var all []Figure
	keys := slices.DeleteFunc(slices.Clone(s.Keys), func(key string) bool { return key == configs.SeedKey })
	if g, ok := gridOf(keys, points); ok {
		all = append(all, g.heat("heat-accuracy", "Test accuracy, %,", "mean", func(p point) float64 { return 100 * float64(p.TestAccuracy) }, hundredths),
			g.heat("heat-epsilon", "ε", "largest", func(p point) float64 { return p.epsilon }, epsilon))
	}
	return append(all, pareto(keys, points))
}

// point stands for all trials that differ in their seeds alone, with the mean of their accuracies, as
// the best one would flatter it, and their largest ε, as a trial that was killed has paid for steps
// twice.
type point struct {
	settings   map[string]string
	score.Test // none if one of the trials has none, as results.md has it
	epsilon    float64
	trials     int
}

func (p *point) add(q point) {
	p.trials += q.trials
	p.TestAccuracy += (q.TestAccuracy - p.TestAccuracy) * score.Value(q.trials) / score.Value(p.trials)
	p.epsilon = max(p.epsilon, q.epsilon)
}

func pointsOf(rows []books.Row) (points []point) {
	for _, row := range rows {
		p := point{settings: map[string]string{}, Test: row.Test, epsilon: row.Epsilon, trials: 1}
		for _, setting := range row.Settings {
			if setting.Key != configs.SeedKey {
				p.settings[setting.Key] = setting.Value
			}
		}
		if i := slices.IndexFunc(points, func(other point) bool { return maps.Equal(other.settings, p.settings) }); i >= 0 {
			points[i].add(p)
		} else {
			points = append(points, p)
		}
	}
	return points
}

// lastWord returns the last part of a key, in words: "clip norm" for privacy.clip_norm.
func lastWord(key string) string {
	return strings.ReplaceAll(key[strings.LastIndexByte(key, '.')+1:], "_", " ")
}

type grid struct {
	x, y          string // the settings
	columns, rows []string
	cells         map[[2]string]point // by row and column
}

// Limits of a grid that is drawn.
const (
	mostColumns = 12
	leastFilled = 0.5 // of its cells: settings that were drawn at random form no grid
)

// gridOf arranges the points by two settings: clip norm and noise multiplier if both vary, else the
// first two. ok says whether enough cells are filled, and not too many, for a heat map.
func gridOf(keys []string, points []point) (g grid, ok bool) {
	if len(keys) < 2 {
		return g, false
	}
	y, x := slices.Index(keys, "privacy.clip_norm"), slices.Index(keys, "privacy.noise_multiplier")
	if x < 0 || y < 0 {
		y, x = 0, 1
	}
	g.x, g.y, g.cells = lastWord(keys[x]), lastWord(keys[y]), map[[2]string]point{}
	for _, p := range points {
		at := [2]string{p.settings[keys[y]], p.settings[keys[x]]}
		g.rows, g.columns = append(g.rows, at[0]), append(g.columns, at[1])
		cell := g.cells[at]
		cell.add(p)
		g.cells[at] = cell
	}
	g.rows, g.columns = bySize(different(g.rows)), bySize(different(g.columns))
	return g, len(g.columns) <= mostColumns && len(g.rows) <= mostRows && float64(len(g.cells)) >= leastFilled*float64(len(g.columns)*len(g.rows))
}

// different returns the values without repetitions, in their order.
func different(values []string) (all []string) {
	for _, v := range values {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// bySize sorts texts that are numbers by size; other texts come behind them, in their order.
func bySize(all []string) []string {
	number := func(text string) float64 {
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			return v
		}
		return math.Inf(1)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return all
}

// heat draws a heat map of one value of each cell. which names how that value stands for several
// trials, such as "mean".
func (g grid) heat(id, title, which string, of func(point) float64, text func(float64) string) Figure {
	f := Figure{ID: id, Title: title + " by " + g.y + " and " + g.x, Table: Table{Heading: append([]string{g.y + " ↓ " + g.x + " →"}, g.columns...)}}
	drawing := chart.Heat{Title: f.Title, X: g.x, Y: g.y, Columns: g.columns, Rows: g.rows}
	most := 0
	for _, row := range g.rows {
		line, cells := []string{row}, make([]chart.Cell, len(g.columns))
		for i, column := range g.columns {
			cells[i] = chart.Cell{Value: math.NaN(), Text: "–"}
			if cell, any := g.cells[[2]string{row, column}]; any {
				most = max(most, cell.trials)
				cells[i] = chart.Cell{Value: of(cell), Text: text(of(cell))}
			}
			line = append(line, cells[i].Text)
		}
		drawing.Cells, f.Table.Rows = append(drawing.Cells, cells), append(f.Table.Rows, line)
	}
	if most > 1 {
		f.Note = fmt.Sprintf("Each cell is the %s of all its trials, %d at most.", which, most)
		drawing.Subtitle = f.Note
	}
	f.Drawing = drawing
	return f
}

// pareto draws accuracy against ε and joins the points that no other one beats in both.
func pareto(keys []string, points []point) Figure {
	f := Figure{ID: "pareto", Title: "Test accuracy against ε", Table: Table{Heading: []string{"settings", "ε", "test accuracy, %", "trials", "on the front"}},
		Note: "One dot for each combination of settings, the mean accuracy and the largest ε over its seeds. The line joins those that no other one beats in both accuracy and ε. Each ε covers one trial alone."}
	ordered := slices.Clone(points)
	slices.SortStableFunc(ordered, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.epsilon, b.epsilon), cmp.Compare(b.TestAccuracy, a.TestAccuracy))
	})
	trials, front := chart.Line{Name: "trials", Style: chart.Dots}, chart.Line{Name: "front", Style: chart.Marked}
	best := score.Value(math.Inf(-1))
	for _, p := range ordered {
		var names []string
		for _, key := range keys {
			names = append(names, lastWord(key)+" "+p.settings[key])
		}
		at, on := chart.Point{X: p.epsilon, Y: 100 * float64(p.TestAccuracy)}, "no"
		if p.TestAccuracy > best {
			best, on = p.TestAccuracy, "yes"
			front.Points = append(front.Points, at)
		} else {
			trials.Points = append(trials.Points, at)
		}
		f.Table.Rows = append(f.Table.Rows, []string{strings.Join(names, ", "), epsilon(p.epsilon), hundredthsOf(float64(p.TestAccuracy)), strconv.Itoa(p.trials), on})
	}
	f.Drawing = chart.Chart{Title: f.Title, X: "ε", Y: "test accuracy, %", Tight: true, Lines: []chart.Line{trials, front}}
	return f
}
