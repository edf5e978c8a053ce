package train

import (
	"errors"
	"math"
	"path/filepath"
	"testing"

	"dpsgd/accountant"
)

// Opacus 1.5, RDPAccountant().get_epsilon: σ = 1.5, q = 0.04, 2250 steps, δ = 1e-5 is 7.32911117143 over its own, coarser
// orders (noted in the anchors of its tests). More orders give a little less and never more.
func TestCostIsThatOfTheAccountant(t *testing.T) {
	c, err := Question{SamplingProbability: 0.04, NoiseMultiplier: 1.5, Steps: 2250, Delta: 1e-5, Accountant: "rdp"}.Cost()
	if err != nil {
		t.Fatal(err)
	}
	if c.Epsilon > 7.3292 || c.Epsilon < 7.32 {
		t.Errorf("found ε = %v, expected about 7.329 and not more", c.Epsilon)
	}
	if c.Delta != 1e-5 || c.Accountant != "rdp" || c.Relation != "add-or-remove-one" || c.Method == "" || c.Steps != 2250 || c.Run != "" {
		t.Errorf("found %+v", c)
	}
}

// Calibrated noise stays within the budget and is the least that does.
func TestCalibrateIsTightAndSafe(t *testing.T) {
	q := Question{SamplingProbability: 512. / 60000, Steps: 4688, Delta: 1e-5, Accountant: "rdp"}
	c, err := q.Calibrate(3)
	if err != nil {
		t.Fatal(err)
	}
	if c.Epsilon > 3 || c.Epsilon < 2.9999 || c.TargetEpsilon != 3 {
		t.Errorf("found ε = %v of %v", c.Epsilon, c.TargetEpsilon)
	}
	q.NoiseMultiplier = c.NoiseMultiplier * (1 - 1e-5)
	if less, err := q.Cost(); err != nil || less.Epsilon <= 3 {
		t.Errorf("with a little less noise ε is %v (%v), expected more than 3", less.Epsilon, err)
	}
}

func TestQuestionsWithoutAnAnswer(t *testing.T) {
	good := Question{SamplingProbability: 0.1, NoiseMultiplier: 1, Steps: 10, Delta: 1e-5, Accountant: "rdp"}
	for name, spoil := range map[string]func(*Question){
		"probability above 1": func(q *Question) { q.SamplingProbability = 1.1 },
		"probability NaN":     func(q *Question) { q.SamplingProbability = math.NaN() },
		"negative noise":      func(q *Question) { q.NoiseMultiplier = -1 },
		"no noise":            func(q *Question) { q.NoiseMultiplier = 0 },
		"negative steps":      func(q *Question) { q.Steps = -1 },
		"delta of 1":          func(q *Question) { q.Delta = 1 },
		"unknown accountant":  func(q *Question) { q.Accountant = "moments" },
	} {
		q := good
		spoil(&q)
		if c, err := q.Cost(); err == nil {
			t.Errorf("%s: found %+v, expected an error", name, c)
		}
	}
	if _, err := good.Calibrate(1e-12); !errors.Is(err, accountant.ErrUnreachable) {
		t.Errorf("found error %v, expected that the target cannot be reached", err)
	}
}

// A run's spend can be read while it is going on, and reading changes nothing.
func TestSpentByWhileRunning(t *testing.T) {
	o := options(t)
	plan := mustPlan(t)
	asked := 0
	o.Watcher = hooks{stepped: func(p Progress) {
		dir := filepath.Join(o.RunsDir, "tiny-1")
		c, err := SpentBy(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		want, err := plan.after(p.Step)
		if err != nil {
			t.Fatal(err)
		}
		if c.Epsilon != want.Epsilon || *c.Releases != p.Step || c.Delta != 1e-4 || c.Run != dir {
			t.Errorf("step %d: found %+v", p.Step, c)
		}
		asked++
	}}
	r := train(t, o)
	if asked != 12 {
		t.Errorf("asked %d times, expected 12", asked)
	}
	other, err := SpentBy(r.Run, 1e-6)
	if err != nil || other.Delta != 1e-6 || other.Epsilon <= r.Epsilon {
		t.Errorf("at δ = 1e-6 found %+v (%v), expected more than %v", other, err, r.Epsilon)
	}
	if _, err := SpentBy(o.RunsDir, 0); !errors.Is(err, ErrNoRun) {
		t.Errorf("found error %v, expected ErrNoRun", err)
	}
}
