package sweep

import (
	"errors"
	"math"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/configs"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
)

// A trial of scale 4 has a fourth of the batch and of the noise, as many steps and the same
// learning rate: noise on the mean gradient, σC/B, is the same. Its ε is of what it released, and
// the target's is told beside it.
func TestSimulationsAtASmallScale(t *testing.T) {
	const file = smallSweep
	r := runSweep(t, sweepOf(t, tiny.Config, file+"tan: {scale: 4}\n"), sweepOptions(t))
	target := cost(t, 12)
	want := cost(t, 12, "training.batch_size=10", "privacy.noise_multiplier=0.25")
	for _, row := range r.Rows {
		if row.TargetEpsilon == nil || *row.TargetEpsilon != target || math.Abs(row.Epsilon/want-1) > 1e-12 || row.Steps != 12 || row.Epsilon <= target {
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
}
