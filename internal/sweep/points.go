package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/train"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Point holds the trials that differ in their seed alone. Nobody chooses a seed, so these trials
// are measurements of one thing, and the best of them is luck.
type Point struct {
	Point      string            `json:"point"`
	Settings   map[string]string `json:"settings"` // its keys with their values as YAML
	Trials     int               `json:"trials"`
	Finished   int               `json:"finished"`
	score.Test                   // the mean, nothing while a trial is missing or if one diverged
	// HalfWidth is half the width of the 95 % confidence interval of the mean; nil with one seed.
	HalfWidth *float64 `json:"half_width,omitempty"`
	Epsilon   float64  `json:"epsilon"` // the largest that one of the trials cost by itself
	// TargetEpsilon is, with tan, the ε of the configuration that the trials simulate.
	TargetEpsilon *float64 `json:"target_epsilon,omitempty"`

	// P is the p-value of the hypothesis that this point is as good as the best one; nil where
	// nothing can be said: for the best one itself, with one seed, and where all differences are
	// equal.
	P *float64 `json:"p_value,omitempty"`
	// Indistinguishable says that P is too large to tell the two apart, or that there is only one
	// seed.
	Indistinguishable bool `json:"indistinguishable,omitempty"`

	settings   []configs.Setting
	of         score.Test // one of the trials'
	accuracies []float64  // by seed, in the order of the file; see [score.Test.Quality]
}

// level is the level of the tests; confidence intervals hold with probability 1 - level.
const level = 0.05

// points gathers the rows by point and names the one with the best mean, "" while there is none.
func (s *sweep) points() (points []Point, best string) {
	points = []Point{}
	for _, t := range s.trials {
		if n := len(points); n == 0 || points[n-1].Point != t.Point {
			points = append(points, pointOf(t))
		}
		p := &points[len(points)-1]
		p.Trials++
		if row, finished := s.rows[t.Name]; finished {
			p.add(row)
		}
	}
	top := -1
	for i := range points {
		p := &points[i]
		p.summarise()
		if !p.Test.None() && (top < 0 || p.Quality() > points[top].Quality()) {
			top = i
		}
	}
	if top < 0 {
		return points, ""
	}
	for i := range points {
		if i != top {
			points[i].compare(points[top])
		}
	}
	return points, points[top].Point
}

func pointOf(t configs.Trial) Point {
	p := Point{Point: t.Point, Settings: map[string]string{}, Test: score.Untested()}
	for _, setting := range t.Settings {
		if setting.Key != configs.SeedKey {
			p.settings = append(p.settings, setting)
			p.Settings[setting.Key] = setting.Value
		}
	}
	return p
}

// add adds the row of one of the point's trials.
func (p *Point) add(row books.Row) {
	p.Finished++
	p.Epsilon, p.TargetEpsilon = max(p.Epsilon, row.Epsilon), row.TargetEpsilon
	if !row.Test.None() {
		p.of, p.accuracies = row.Test, append(p.accuracies, row.Quality())
	}
}

// summarise sets mean and interval, if no trial lacks an accuracy. The interval is Student's, which
// assumes that accuracies are independent and normal; seeds and fresh noise make that about true.
func (p *Point) summarise() {
	n := len(p.accuracies)
	if n < p.Trials {
		return
	}
	mean, deviation := stat.MeanStdDev(p.accuracies, nil)
	p.Test = p.of.OfQuality(mean)
	if n > 1 {
		half := student(n).Quantile(1-level/2) * deviation / math.Sqrt(float64(n))
		p.HalfWidth = &half
	}
}

// compare tests p against the best point by the paired t-test, two-sided, on trials with the same
// seed: what a seed does to both, such as good initial weights, cancels. The best point was chosen
// by the same numbers, so p-values come out somewhat too small. If all differences are equal there
// is no p-value: accuracies are shares of a finite test set, and two seeds agree by chance.
func (p *Point) compare(best Point) {
	n := len(p.accuracies)
	if p.Test.None() || n < 2 || n != len(best.accuracies) {
		return
	}
	differences := slices.Clone(best.accuracies)
	for i, a := range p.accuracies {
		differences[i] -= a
	}
	mean, deviation := stat.MeanStdDev(differences, nil)
	if deviation <= rounding {
		p.Indistinguishable = true
		return
	}
	value := 2 * student(n).Survival(math.Abs(mean)/(deviation/math.Sqrt(float64(n))))
	p.P, p.Indistinguishable = &value, value >= level
}

// rounding is a deviation that equal differences of accuracies can have in float64.
const rounding = 1e-12

// student returns the distribution of the mean of n normal numbers divided by its standard error.
func student(n int) distuv.StudentsT { return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)} }

func rowOf(t configs.Trial, p planned, r train.Result) books.Row {
	return books.Row{
		Trial: t.Name, Settings: t.Settings, Test: r.Test, Answer: r.Answer, Steps: r.Steps, Seconds: r.Seconds,
		Status: string(r.Status), LedgerEntries: r.LedgerEntries, LedgerHead: r.LedgerHead, TargetEpsilon: p.target,
	}
}

// holdsFor reports whether a row covers all releases in its trial's ledger. A trial that was
// resumed by itself after its row was written is measured again.
func holdsFor(r books.Row, ledger *checkpoints.Member) bool {
	return ledger == nil || r.LedgerEntries == 0 || r.LedgerEntries >= ledger.Entries
}

func (s *sweep) finishedRows() []books.Row {
	rows := []books.Row{}
	for _, t := range s.trials {
		if row, ok := s.rows[t.Name]; ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// readRows returns the rows of results.jsonl by trial, those of a task's own trials in a task.
func (s *sweep) readRows() (map[string]books.Row, error) {
	found, err := books.ReadRows(s.dir)
	rows := map[string]books.Row{}
	for line, row := range found {
		i := slices.IndexFunc(s.trials, func(t configs.Trial) bool { return t.Name == row.Trial })
		if i < 0 {
			return nil, books.NoRow(filepath.Join(s.dir, folder.Rows), line+1)
		}
		if row.Settings = s.trials[i].Settings; s.ours(i) {
			rows[row.Trial] = row
		}
	}
	return rows, err
}

func (s *sweep) writeRows() error {
	var lines bytes.Buffer
	for _, row := range s.finishedRows() {
		line, err := json.Marshal(row)
		if err != nil {
			return fmt.Errorf("train: result of trial %s: %w", row.Trial, err)
		}
		lines.Write(append(line, '\n'))
	}
	if lines.Len() == 0 {
		return nil
	}
	if err := checkpoints.WriteFileAtomic(filepath.Join(s.dir, folder.Rows), lines.Bytes(), folder.FilePerm); err != nil {
		return err
	}
	var table bytes.Buffer
	if err := csv.NewWriter(&table).WriteAll(csvTable(s.finishedRows())); err != nil {
		return fmt.Errorf("train: %s: %w", folder.Table, err)
	}
	return checkpoints.WriteFileAtomic(filepath.Join(s.dir, folder.Table), table.Bytes(), folder.FilePerm)
}

// csvTable returns the rows as lines of cells, under the full names of the swept keys. It has a
// column for RDP if a trial has another accountant.
func csvTable(rows []books.Row) [][]string {
	number := func(v *float64) string {
		if v == nil || math.IsNaN(*v) {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	columns := []column[books.Row]{{true, "trial", func(r books.Row) string { return r.Trial }}}
	for _, s := range rows[0].Settings {
		columns = append(columns, column[books.Row]{true, s.Key, func(r books.Row) string { return r.Value(s.Key) }})
	}
	simulated := slices.ContainsFunc(rows, func(r books.Row) bool { return r.TargetEpsilon != nil })
	return tableOf(append(columns, []column[books.Row]{
		{true, "test_accuracy", func(r books.Row) string { return number((*float64)(&r.TestAccuracy)) }},
		{ofNumbers(rows), "test_error", func(r books.Row) string { return number((*float64)(&r.TestError)) }},
		{true, "epsilon", func(r books.Row) string { return number(&r.Epsilon) }},
		{besideRDP(rows), "epsilon_rdp", func(r books.Row) string { return number(r.EpsilonRDP) }},
		{simulated, "target_epsilon", func(r books.Row) string { return number(r.TargetEpsilon) }},
		{true, "delta", func(r books.Row) string { return number(&r.Delta) }},
		{true, "steps", func(r books.Row) string { return strconv.Itoa(r.Steps) }},
		{true, "status", func(r books.Row) string { return r.Status }},
	}...), rows)
}

func ofNumbers(rows []books.Row) bool {
	return slices.ContainsFunc(rows, func(r books.Row) bool { return r.Numbers() })
}

// besideRDP reports whether a row of another accountant has an ε by RDP as well.
func besideRDP(rows []books.Row) bool {
	return slices.ContainsFunc(rows, func(r books.Row) bool { return r.EpsilonRDP != nil })
}
