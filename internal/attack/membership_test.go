package attack

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/random"
	"dpsgd/internal/score"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
)

// Values by the code in the appendix of Steinke, Nasr, Jagielski 2023, with SciPy.
func TestAudit(t *testing.T) {
	for _, tt := range []struct {
		audit                audit
		epsilon, delta, want float64
	}{
		{audit{1000, 100, 75}, 1, 0, 0.38272186725513024},
		{audit{1000, 100, 75}, 0.5, 1e-5, 0.005782986302030884},
		{audit{5000, 500, 500}, 4, 1e-5, 0.007435722669735578},
		{audit{200, 200, 120}, 0.1, 1e-3, 0.034947020186869314},
		{audit{10, 10, 10}, 800, 0, 1},
	} {
		if found := tt.audit.likeliness(tt.epsilon, tt.delta); !(math.Abs(found-tt.want) <= 1e-9*tt.want) {
			t.Errorf("%+v: found %v, expected %v", tt, found, tt.want)
		}
	}
	for _, tt := range []struct {
		audit       audit
		delta, want float64
	}{
		{audit{1000, 100, 100}, 0, 3.4929654311522937},
		{audit{1000, 100, 100}, 1e-5, 3.4653763478110453},
		{audit{5000, 5000, 2700}, 1e-5, 0.11304996353927152},
		{audit{100, 100, 50}, 0, 0},
		{audit{}, 0, 0},
	} {
		if found := tt.audit.leastEpsilon(tt.delta, 0.05); !(math.Abs(found-tt.want) <= 1e-8) {
			t.Errorf("%+v: found %v, expected %v", tt, found, tt.want)
		}
	}
}

// normals are n normal numbers of that mean.
func normals(n int, mean float64, src *rand.Rand) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = mean + src.NormFloat64()
	}
	return values
}

// The attack finds what there is to be found of normal margins that differ by μ, for which the AUC
// is Φ(μ/√2) and the power at a rate α is 1 - Φ(Φ^-1(1-α)-μ), and nothing where there is nothing.
// The numbers are drawn from a seed.
func TestTell(t *testing.T) {
	src := rand.New(rand.NewPCG(3, 4))
	for mu, want := range map[float64]struct{ auc, power float64 }{
		0: {0.5, 0.1}, 1: {0.760250, 0.389144}, // by scipy.stats.norm
	} {
		m := tiny.Must(Tell(normals(20000, mu, src), normals(10000, 0, src), 1e-5, 0.05))(t)
		last := m.Operating[len(m.Operating)-1]
		if m.Low > want.auc || m.High < want.auc || m.High-m.Low > 0.02 || !(math.Abs(last.TruePositive.Accuracy-want.power) <= 0.02) || !(math.Abs(last.TrueNegative.Accuracy-want.power) <= 0.02) || last.FalsePositive.Accuracy != 0.1 || last.FalseNegative.Accuracy != 0.1 {
			t.Errorf("μ = %v: found %+v", mu, m)
		}
		if mu == 0 && m.EpsilonAtLeast > 0 {
			t.Errorf("found ε of at least %v where nothing leaks", m.EpsilonAtLeast)
		}
	}
}

// The bound that the audit finds is below the ε of what it audits, and not far below it: pairs of
// which the surer one is the training example with probability e^ε/(1+e^ε). Drawn from a seed.
func TestAuditOfRandomizedResponse(t *testing.T) {
	src := rand.New(rand.NewPCG(5, 6))
	for _, epsilon := range []float64{0.5, 1, 2, 4} {
		training, others := make([]float64, 4000), make([]float64, 4000)
		for i := range training {
			training[i] = -1
			if src.Float64() < 1/(1+math.Exp(-epsilon)) {
				training[i] = 1
			}
		}
		m := tiny.Must(Tell(training, others, 0, 0.05))(t)
		if m.EpsilonAtLeast > epsilon || m.EpsilonAtLeast < 0.8*epsilon {
			t.Errorf("found ε of at least %v, expected a little less than %v", m.EpsilonAtLeast, epsilon)
		}
	}
}

// The area counts all pairs, equal ones by half, also where the model says the same of many.
func TestAreaCountsPairs(t *testing.T) {
	training, others := []float64{3, 1, 1, 0}, []float64{1, 0, -2}
	m := tiny.Must(Tell(training, others, 1e-5, 0.05))(t)
	pairs := 0.0
	for _, a := range training {
		for _, b := range others {
			switch {
			case a > b:
				pairs++
			case a == b:
				pairs += 0.5
			}
		}
	}
	if want := pairs / 12; !(math.Abs(m.AUC-want) <= 1e-12) {
		t.Errorf("found %v, expected %v", m.AUC, want)
	}
	same, err := Tell(make([]float64, 10), make([]float64, 10), 1e-5, 0.05)
	if err != nil || !(math.Abs(same.AUC-0.5) <= 1e-12) || same.Operating[2].TruePositive.Correct != 0 {
		t.Errorf("a model that says the same of all: found %+v (%v)", same, err)
	}
	if _, err := Tell([]float64{1, math.NaN()}, others, 1e-5, 0.05); err == nil {
		t.Error("found an attack on a model that diverged")
	}
}

// The margin is the log odds of the class, and tells sure predictions apart that float32 losses do
// not.
func TestMargin(t *testing.T) {
	logits := []float32{1, -0.5, 2}
	sum := math.Exp(1) + math.Exp(-0.5) + math.Exp(2)
	for label, l := range logits {
		p := math.Exp(float64(l)) / sum
		if found, want := score.Margin(logits, label), math.Log(p/(1-p)); !(math.Abs(found-want) <= 1e-12) {
			t.Errorf("class %d: found %v, expected %v", label, found, want)
		}
	}
	if sure, surer := score.Margin([]float32{90, 0}, 0), score.Margin([]float32{95, 0}, 0); sure != 90 || surer != 95 {
		t.Errorf("found %v and %v", sure, surer)
	}
}

// noise is pictures whose classes have nothing to do with them: whatever a model knows about the
// training ones it has learnt by heart.
func noise(t *testing.T, n int, seed uint64) *data.Images {
	t.Helper()
	shape := data.Shape{Height: 12, Width: 12, Channels: 1} // more numbers than there are pictures to learn
	src := random.Seeded(seed)
	labels, pixels := make([]uint8, n), make([]uint8, n*shape.Values())
	for i := range labels {
		labels[i] = uint8(src.Uint64() % 3)
	}
	for i := range pixels {
		pixels[i] = uint8(src.Uint64())
	}
	return tiny.Must(data.NewImages(shape, []string{"a", "b", "c"}, labels, pixels))(t)
}

// A model that learnt its examples by heart, with hardly any noise, is told, and one with noise is
// not: the attack reads the training examples, as the network saw them. Nothing is written into the
// folder of the run. The areas are about 0.97 and 0.58, with a deviation of 0.04: 0.9 is passed less
// than once in 10^10. With so few examples no guesses can show the ε of 7.4 that is allowed.
func TestOnRun(t *testing.T) {
	o := tinyrun.Options(t)
	o.Given = &data.Split{Name: "noise", Train: noise(t, 60, 1), Test: noise(t, 200, 2)}
	settings := []string{"training.sampling=full", "training.steps=300", "optimizer.learning_rate=2", "privacy.clip_norm=1", "privacy.accountant=exact"}
	heart := tinyrun.Train(t, o, append(settings, "privacy.noise_multiplier=0.05")...)
	before := tiny.Snapshot(t, heart.Run)
	m, err := OnRun(heart.Run, o)
	tiny.Check(t, err)
	if m.Private || m.Training != 60 || m.Test != 200 || m.Low < 0.6 || !(m.EpsilonAtLeast > 0) || m.EpsilonAtMost < m.EpsilonAtLeast {
		t.Errorf("learnt by heart: found %+v", m)
	}
	for path, sum := range tiny.Snapshot(t, heart.Run) {
		if before[path] != sum {
			t.Errorf("the attack wrote %s", path)
		}
	}
	quiet := tinyrun.Train(t, o, append(settings, "privacy.noise_multiplier=20")...)
	if m, err = OnRun(quiet.Run, o); err != nil {
		t.Fatal(err)
	}
	if m.AUC > 0.9 || m.EpsilonAtLeast > m.EpsilonAtMost {
		t.Errorf("with noise: found %+v", m)
	}
	if c := m.Chart(); len(c.Lines) != 3 || len(c.Lines[2].Points) == 0 || !(c.Lines[2].Points[0].Y < 1e-3+c.Lines[2].Points[0].X*math.Exp(m.EpsilonAtMost)) {
		t.Errorf("found %+v, expected the attack, guessing and what is allowed", c.Lines)
	}
	for _, at := range m.Operating {
		if at.TruePositive.Low > at.Allowed && at.FalsePositive.High < at.Rate || at.TrueNegative.Low > at.Allowed && at.FalseNegative.High < at.Rate {
			t.Errorf("with noise: found %+v", at)
		}
	}
}
