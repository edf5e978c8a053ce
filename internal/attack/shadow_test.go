package attack

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/setup"
	"dpsgd/internal/sweep"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
)

// drawn are models of n shadows on a pool: margins are normal, and those of examples that a model
// was trained on larger by gap. Each example has a level of its own, which hides the gap from a
// threshold.
func drawn(n, examples int, gap float64, src *rand.Rand) []model {
	level := normals(examples, 0, src)
	models := make([]model, n)
	for m := range models {
		models[m].margins, models[m].in = normals(examples, 0, src), make([]bool, examples)
		for i, at := range src.Perm(examples) {
			models[m].in[at] = i < examples/2
			models[m].margins[at] += 8 * level[at]
			if models[m].in[at] {
				models[m].margins[at] += gap
			}
		}
	}
	return models
}

// Likelihood ratios find what a threshold misses: margins that differ by μ have the power of the
// best test, 1 - Φ(Φ^-1(0.9)-μ) at 10 % false alarms, less what few shadows lose; and nothing where
// there is nothing. The numbers are drawn from a seed.
func TestLikelihoods(t *testing.T) {
	src := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		shadows int
		gap     float64
		power   float64 // by scipy.stats.norm
	}{{16, 0, 0.1}, {16, 1, 0.389144}, {16, 3, 0.957270}, {130, 1, 0.389144}} {
		models := drawn(1+c.shadows, 4000, c.gap, src)
		target := models[0]
		online, offline := likelihoods(target.margins, models[1:])
		for name, scores := range map[string][]float64{"online": online, "offline": offline, "threshold": target.margins} {
			training, others := target.split(scores)
			m := tiny.Must(Tell(training, others, 0, 0.05))(t)
			found := m.Operating[2].TruePositive.Accuracy
			switch {
			case name == "threshold" && found > 0.25, name != "threshold" && math.Abs(found-c.power) > 0.12:
				t.Errorf("%s, %d shadows, gap %g: found %.3f noticed, expected %.3f", name, c.shadows, c.gap, found, c.power)
			case c.gap == 0 && m.EpsilonAtLeast > 0, name != "threshold" && c.gap == 3 && m.EpsilonAtLeast < 2:
				t.Errorf("%s, gap %g: found ε of at least %g", name, c.gap, m.EpsilonAtLeast)
			}
		}
	}
}

// The scores of one example, by hand: margins 3 and 1 with it, 0 and 2 without, all of one deviation
// √2; the target says 2.
func TestLikelihoodOfOne(t *testing.T) {
	shadows := []model{{margins: []float64{3}, in: []bool{true}}, {margins: []float64{1}, in: []bool{true}}, {margins: []float64{0}, in: []bool{false}}, {margins: []float64{2}, in: []bool{false}}}
	online, offline := likelihoods([]float64{2}, shadows)
	if !(math.Abs(online[0]-0.25) <= 1e-12) || !(math.Abs(offline[0]-1/math.Sqrt2) <= 1e-12) {
		t.Errorf("found %v and %v, expected 1/4 and 1/√2", online, offline)
	}
	if online, offline = likelihoods([]float64{2}, shadows[:2]); online[0] != 0 || offline[0] != 0 {
		t.Errorf("found %v and %v where no shadow was trained without the example", online, offline)
	}
}

// Seeds decide about halves: those of 2k and 2k+1 have no example in common and leave none out, and
// other seeds have other halves.
func TestSeesHalves(t *testing.T) {
	p := pool{&data.Split{Name: "noise", Train: noise(t, 60, 1), Test: noise(t, 21, 2)}}
	even, numbers := p.sees(10)
	_, others := p.sees(11)
	_, third := p.sees(12)
	if even.Train.Len() != 40 || even.Test.Len() != 40 || !slices.Equal(numbers, slices.Concat(others[40:], others[:40])) || slices.Equal(numbers, third) {
		t.Errorf("found %v and %v", numbers, others)
	}
	if all := slices.Sorted(slices.Values(numbers)); !slices.Equal(all, p.all()) {
		t.Errorf("found %v, expected every example but the last once", all)
	}
	for i, at := range numbers[:40] {
		if want := data.Select([]int{at}, p.Train, p.Test).Label(0); even.Train.Label(i) != want {
			t.Errorf("example %d: found label %d, expected %d of number %d", i, even.Train.Label(i), want, at)
		}
	}
}

// heart is a configuration that learns by heart, with that noise.
func heart(t *testing.T, multiplier string) (Shadows, []string) {
	t.Helper()
	s := Shadows{Request: setup.Request{Given: &data.Split{Name: "noise", Train: noise(t, 60, 1), Test: noise(t, 61, 2)}}, Number: 4}
	return s, []string{"training.sampling=full", "training.steps=60", "optimizer.learning_rate=2", "privacy.clip_norm=1", "privacy.accountant=exact", "privacy.noise_multiplier=" + multiplier}
}

// An audit of a configuration trains a target and shadow models on halves of the pool, finds what
// they learnt by heart, and is not falsified. Its folder is for its owner alone and holds all that
// was trained; the same audit goes on from there, and another one, or another folder, is refused.
func TestAuditConfig(t *testing.T) {
	s, settings := heart(t, "0.3")
	s.Dir = filepath.Join(t.TempDir(), "shadows")
	tiny.Check(t, os.Mkdir(s.Dir, 0o755))
	c := tiny.Parse(t, append(settings, "data.limit.epsilon=1", "data.limit.delta=1e-4")...)
	r := tiny.Must(s.AuditConfig(t.Context(), "tiny", c))(t)
	if r.Private || r.Falsified || len(r.Tests) != 3 || r.Examples != 120 || r.Attacks[0].Training != 60 || r.Attacks[0].Test != 60 || !(r.Attacks[2].AUC > 0.6) || len(r.Allowed) == 0 {
		t.Errorf("found %+v", r)
	}
	for _, test := range r.Tests {
		if !(test.Claimed > 0) || test.AtLeast > test.Claimed {
			t.Errorf("found %+v, expected a bound below the claim", test)
		}
	}
	if info := tiny.Must(os.Stat(s.Dir))(t); info.Mode().Perm() != 0o700 {
		t.Errorf("found the folder with %v, expected it for its owner alone", info.Mode())
	}
	before := tiny.Snapshot(t, filepath.Join(s.Dir, shadowSweep))
	again := tiny.Must(s.AuditConfig(t.Context(), "tiny", c))(t)
	if again.Tests[2] != r.Tests[2] {
		t.Errorf("found %+v the second time, expected %+v", again.Tests[2], r.Tests[2])
	}
	for path, sum := range tiny.Snapshot(t, filepath.Join(s.Dir, shadowSweep)) {
		if filepath.Base(path) == "model.safetensors" && before[path] != sum {
			t.Errorf("trained %s again", path)
		}
	}
	s.Number = 6
	if _, err := s.AuditConfig(t.Context(), "tiny", c); !errors.Is(err, sweep.ErrOtherSweep) {
		t.Errorf("found %v for more shadow models, expected a refusal", err)
	}
	if _, err := s.AuditConfig(t.Context(), "tiny", tiny.Parse(t)); !errors.Is(err, sweep.ErrOtherSweep) {
		t.Errorf("found %v for another configuration, expected a refusal", err)
	}
	s.Dir = filepath.Join(s.Dir, shadowSweep)
	if _, err := s.AuditConfig(t.Context(), "tiny", c); !errors.Is(err, sweep.ErrOtherSweep) {
		t.Errorf("found %v for a folder of something else, expected a refusal", err)
	}
}

// An audit of a run has the run for its target and writes nothing into its folder or its ledgers;
// the folder of the shadow models is gone afterwards. A run whose ledger claims less than it did is
// falsified.
func TestAuditRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, settings := heart(t, "0.05")
	o := tinyrun.Options(t)
	o.Given = s.Given
	trained := tinyrun.Train(t, o, settings...)
	before := tiny.Snapshot(t, o.RunsDir)
	r := tiny.Must(s.AuditRun(t.Context(), trained.Run))(t)
	if r.Falsified || r.Attacks[0].Training != 60 || r.Attacks[0].Test != 60 || !(r.Tests[2].AtLeast > 0) {
		t.Errorf("found %+v", r)
	}
	for path, sum := range tiny.Snapshot(t, o.RunsDir) {
		if before[path] != sum {
			t.Errorf("the audit wrote %s", path)
		}
	}
	if left := tiny.Must(os.ReadDir(os.TempDir()))(t); len(left) > 0 {
		t.Errorf("the audit left %v", left)
	}
}

// A run is falsified if its ledger claims less than the attacks show: the models here tell all.
func TestAuditOfMembershipFalsifies(t *testing.T) {
	trained := tinyrun.Train(t, tinyrun.Options(t), "privacy.noise_multiplier=20", "privacy.accountant=exact")
	models := drawn(17, 400, 30, rand.New(rand.NewPCG(9, 10)))
	models[0].dir = trained.Run
	r := &ShadowAudit{Outcome: Outcome{Confidence: auditConfidence, Delta: 1e-4}}
	tiny.Check(t, r.attack(models[0], models[1:]))
	if err := r.Err(); !r.Falsified || !errors.Is(err, ErrFalsified) || !r.Tests[1].Falsified || !r.Tests[2].Falsified || r.Verdict() != "CLAIM FALSIFIED" {
		t.Errorf("found %+v (%v), expected that LiRA falsifies", r.Tests, err)
	}
	if c := r.Chart(); len(c.Lines) != 4 || !c.Logarithmic || !c.LogarithmicX || c.Title != "NOT PRIVATE: training examples noticed" {
		t.Errorf("found %+v, expected what is allowed and three attacks", c)
	}
}

// What protects nothing of single examples is refused, and an audit that is stopped says so.
func TestAuditOfMembershipRefuses(t *testing.T) {
	s, settings := heart(t, "1")
	for _, override := range []string{"privacy.none=true", "privacy.unit=label"} {
		c := tiny.Parse(t, override, "privacy.epsilon=3", "privacy.noise_multiplier=calibrated", "privacy.accountant=exact")
		if _, err := s.AuditConfig(t.Context(), "tiny", c); !errors.Is(err, setup.ErrPlan) {
			t.Errorf("%s: found %v, expected a refusal", override, err)
		}
	}
	number := tiny.Parse(t, settings...)
	number.Data.Bounds = []float64{0, 1}
	if _, err := s.AuditConfig(t.Context(), "tiny", number); !errors.Is(err, setup.ErrPlan) {
		t.Errorf("found %v for data of numbers, expected a refusal", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.AuditConfig(ctx, "tiny", tiny.Parse(t, settings...)); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected that it was stopped", err)
	}
}
