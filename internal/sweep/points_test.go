package sweep

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
)

// measured is a sweep with these accuracies, a row for each point and a column for each seed; NaN
// is a trial that diverged.
func measured(t *testing.T, accuracies [][]float64) *sweep {
	t.Helper()
	s := &sweep{rows: map[string]books.Row{}}
	for i, row := range accuracies {
		for j, accuracy := range row {
			point := "clip_norm=" + string(rune('1'+i))
			trial := configs.Trial{Name: point + ",seed=" + string(rune('1'+j)), Point: point, Settings: []configs.Setting{
				{Key: "privacy.clip_norm", Label: "clip_norm", Value: string(rune('1' + i))}, {Key: configs.SeedKey, Label: "seed", Value: string(rune('1' + j))}}}
			s.trials = append(s.trials, trial)
			r := books.Row{Trial: trial.Name, Settings: trial.Settings, Test: score.Test{TestAccuracy: score.Value(accuracy)}}
			r.Epsilon = float64(i+1) - 0.1*float64(j)
			if math.IsNaN(accuracy) {
				r.Test = score.Untested()
			}
			s.rows[trial.Name] = r
		}
	}
	return s
}

// Means, intervals and p-values by hand. With two degrees of freedom the quantile of Student's law
// is 4.302653 (any table), and P(|T| > t) = 1 - t/√(t²+2).
func TestPointsByHand(t *testing.T) {
	s := measured(t, [][]float64{{0.5, 0.6, 0.7}, {0.80, 0.82, 0.84}, {0.79, 0.80, 0.81}, {0.9, 0.2, 0.6}, {0.99, math.NaN(), 0.99}, {0.80, 0.82, 0.84}})
	points, best := s.points()
	if best != "clip_norm=2" {
		t.Errorf("found the best point %s, expected the one with the best mean: not the best trial, none that diverged, of two equal ones the first", best)
	}
	near := func(name string, found *float64, want float64) {
		t.Helper()
		if found == nil || !(math.Abs(*found-want) <= 1e-6) {
			t.Errorf("%s: found %v, expected %v", name, found, want)
		}
	}
	near("mean", (*float64)(&points[0].TestAccuracy), 0.6)
	near("half width", points[0].HalfWidth, 4.302653*0.1/math.Sqrt(3))
	// The differences from the best are 0.30, 0.22, 0.14: mean 0.22, deviation 0.08.
	x := 0.22 / (0.08 / math.Sqrt(3))
	near("p", points[0].P, 1-x/math.Sqrt(x*x+2))
	// 0.01, 0.02, 0.03: t = √12, p = 1 - √12/√14 = 0.0742.
	near("p of a close one", points[2].P, 1-math.Sqrt(12./14))
	if points[5].P != nil {
		t.Errorf("an equal one has p = %v, expected none: equal differences have no deviation", *points[5].P)
	}
	for i, want := range []bool{false, false, true, true, false, true} {
		if points[i].Indistinguishable != want {
			t.Errorf("%s: found %+v, expected a mark: %v", points[i].Point, points[i], want)
		}
	}
	if points[1].P != nil || !points[4].Test.None() || points[4].P != nil || points[0].Epsilon != 1 || points[0].Trials != 3 {
		t.Errorf("found %+v", points)
	}
}

// A difference that every seed shows is told from none, though accuracies of one point spread more,
// because seeds are compared in pairs. One seed tells nothing apart.
func TestPairsCancelWhatSeedsShare(t *testing.T) {
	s := measured(t, [][]float64{{0.70, 0.80, 0.90}, {0.69, 0.789, 0.891}})
	if points, _ := s.points(); points[1].Indistinguishable || *points[1].P > 0.01 || *points[0].HalfWidth < 0.2 {
		t.Errorf("found %+v", points)
	}
	// Two seeds with the same difference may agree by chance: they tell nothing apart.
	s = measured(t, [][]float64{{0.70, 0.80}, {0.69, 0.79}})
	if points, _ := s.points(); !points[1].Indistinguishable || points[1].P != nil {
		t.Errorf("found %+v", points[1])
	}
	s = measured(t, [][]float64{{0.7}, {0.8}})
	if points, best := s.points(); best != "clip_norm=2" || points[0].P != nil || points[0].HalfWidth != nil || points[0].Indistinguishable {
		t.Errorf("found %+v", points)
	}
}

// The table of a sweep with several seeds has a line for each point, and the file the trials too.
func TestTableOfPoints(t *testing.T) {
	r := runSweep(t, sweepOf(t, tiny.Config, tinySweep), sweepOptions(t))
	table := r.Table()
	if len(table) != 5 || strings.Join(table[0], "|") != "clip_norm|noise_multiplier|test %|±||ε of one|seeds" {
		t.Fatalf("found %q", table)
	}
	marked := 0
	for i, line := range table[1:] {
		if line[4] == "best" {
			marked++
			if r.Points[i].Point != r.Best {
				t.Errorf("line %d is marked, expected %s", i, r.Best)
			}
		}
		if line[6] != "2/2" {
			t.Errorf("found %q", line)
		}
	}
	report := tiny.Read(t, filepath.Join(r.Sweep, folder.Report))
	if marked != 1 || !strings.Contains(report, "## Trials\n") || strings.Count(report, "| done |") != 8 || !strings.Contains(report, "Best is by the mean over the seeds") {
		t.Errorf("%d lines are marked, and the report is\n%s", marked, report)
	}
	var summary Result
	if err := json.Unmarshal([]byte(tiny.Read(t, filepath.Join(r.Sweep, folder.Summary))), &summary); err != nil || summary.Sweep != "sweep" || summary.Best != r.Best || len(summary.Points) != 4 || summary.Composed.Epsilon != r.Composed.Epsilon ||
		summary.Report != fmt.Sprintf("%x", sha256.Sum256([]byte(report))) {
		t.Errorf("the summary is %+v (%v)", summary, err)
	}
	unfinished := Result{Rows: r.Rows[:1], Points: r.Points}
	unfinished.Points[1].Finished, unfinished.Points[0].Indistinguishable, unfinished.Best = 0, true, unfinished.Points[3].Point
	if table := unfinished.Table(); len(table) != 4 || table[1][2] != "≈ best" {
		t.Errorf("found %q, expected no line of a point without a result, and a mark at the first", table)
	}
}

// Of numbers the tables have errors, and the intervals have their unit.
func TestTablesOfNumbers(t *testing.T) {
	half := 0.25
	p := Point{Test: score.OfError(2.5), HalfWidth: &half}
	rows := []books.Row{{Trial: "a", Test: p.Test}}
	table := csvTable(rows)
	if at := slices.Index(table[0], "test_error"); at < 0 || table[1][at] != "2.5" || headingOf(rows) != "test error" || p.width() != score.OfError(half).Bare() {
		t.Errorf("found %q under the heading %s, ± %s", table, headingOf(rows), p.width())
	}
}

// A trial of scale 4 has a fourth of the batch and of the noise, as many steps and the same
// learning rate: noise on the mean gradient, σC/B, is the same. Its ε is of what it released, and
// the target's is told beside it.
func TestSimulationsAtASmallScale(t *testing.T) {
	const file = smallSweep
	r := runSweep(t, sweepOf(t, tiny.Config, file+"tan: {scale: 4}\n"), sweepOptions(t))
	target := cost(t, 12)
	want := cost(t, 12, "training.batch_size=10", "privacy.noise_multiplier=0.25")
	for _, row := range r.Rows {
		if row.TargetEpsilon == nil || *row.TargetEpsilon != target || !(math.Abs(row.Epsilon/want-1) <= 1e-12) || row.Steps != 12 || row.Epsilon <= target {
			t.Errorf("found %s, expected ε = %v and a target of %v", tiny.JSON(t, row), want, target)
		}
	}
	if table := r.Table(); strings.Join(table[0], "|") != "clip_norm|test %|ε|target ε|steps|status" || !strings.Contains(strings.Join(r.Note(), " "), "smaller by 4") {
		t.Errorf("found %q and %q", table, r.Note())
	}
}

// With several seeds the target's ε stands beside each point.
func TestSimulatedPoints(t *testing.T) {
	r := runSweep(t, sweepOf(t, tiny.Config, "name: sweep\nbase: base.yaml\nseeds: 2\ntan: {scale: 4}\n"), sweepOptions(t))
	table := r.Table()
	if strings.Join(table[0], "|") != "test %|±||ε of one|target ε|seeds" || table[1][4] != accountant.RoundUp(cost(t, 12), 3) {
		t.Errorf("found %q", table)
	}
}

// A budget is the target's: the noise is calibrated to it first.
func TestSimulationOfABudget(t *testing.T) {
	c := tiny.Parse(t, "privacy.epsilon=2", "privacy.noise_multiplier=calibrated")
	plan := tinyrun.Plan(t, "privacy.epsilon=2", "privacy.noise_multiplier=calibrated")
	small := &configs.Trial{Config: c}
	tiny.Check(t, shrink(small, plan, 2))
	p := small.Config.Privacy
	if p.HasBudget() || p.NoiseMultiplier != plan.NoiseMultiplier()/2 || small.Config.Training.BatchSize != 20 || small.Config.Training.Steps != plan.MaxSteps || len(small.Overrides) != 4 {
		t.Errorf("found\n%s", small.Config.YAML())
	}
}

func TestRefusedScales(t *testing.T) {
	plan := tinyrun.Plan(t)
	for want, overrides := range map[string][]string{
		"expected a divisor of the training.batch_size 40": nil,
		"expected one with a training.batch_size":          {"training.sampling=full"},
	} {
		if err := shrink(&configs.Trial{Config: tiny.Parse(t, overrides...)}, plan, 3); !errors.Is(err, setup.ErrPlan) || !strings.Contains(err.Error(), want) {
			t.Errorf("found error %v, expected %s", err, want)
		}
	}
}

// The drawn digits are nobody's: their sweep says so.
func TestPublicData(t *testing.T) {
	const file = "name: sweep\nbase: digits\nset: {training.steps: 1, model.name: logistic, privacy.epsilon: none, privacy.noise_multiplier: 1}\ngrid: {privacy.clip_norm: [1]}\n"
	s := tiny.Must(configs.ParseSweep("sweep.yaml", []byte(file)))(t)
	r := runSweep(t, s, Options{RunsDir: t.TempDir()})
	if !r.Public || !strings.Contains(strings.Join(r.Note(), " "), "nobody's privacy was spent") {
		t.Errorf("found %+v: %q", r, r.Note())
	}
	if r := runSweep(t, sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)); r.Public {
		t.Error("somebody's data are taken for public")
	}
	if (&sweep{}).public() {
		t.Error("the data of no trials are taken for public")
	}
}
