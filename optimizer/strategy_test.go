package optimizer

import (
	"math"
	"testing"

	"dpsgd/release"

	"gonum.org/v1/gonum/floats"
)

func workload(steps int, momentum float64, nesterov bool, c Curve) Workload {
	return Workload{Schedule: Schedule{Curve: c, Peak: 0.5, Steps: steps, WarmupSteps: steps / 10}, Momentum: momentum, Nesterov: nesterov}
}

// The workload of a rule has its momentum, that of Adam its first moment's; only heavy-ball momentum
// is one whose noise is known to add up.
func TestWorkloadOfRules(t *testing.T) {
	for rule, want := range map[UpdateRule]Workload{
		&SGD{}: {}, &Momentum{Momentum: 0.9}: {Momentum: 0.9}, &Momentum{Momentum: 0.9, Nesterov: true}: {Momentum: 0.9, Nesterov: true}, &Adam{Beta1: 0.8}: {Momentum: 0.8}, &AdamBC{Beta1: 0.7}: {Momentum: 0.7},
	} {
		_, heavy := HeavyBall(rule)
		if got := WorkloadOf(rule, Schedule{}); got != want || heavy != (rule.Name() == "sgd" || rule.Name() == "momentum") {
			t.Errorf("%s: found %+v, expected %+v; heavy-ball: %v", rule.Name(), got, want, heavy)
		}
	}
}

// The error is that of the update rule itself, carried out on the noise of each step in turn.
func TestErrorIsThatOfTheRule(t *testing.T) {
	const steps = 60 // fewer than columns, so that all count
	for _, w := range []Workload{
		workload(steps, 0, false, &Constant{}), workload(steps, 0.9, false, &Cosine{}), workload(steps, 0.8, true, &Linear{FinalFactor: 0.1}),
	} {
		c := []float64{1, 0.75, 0.25}
		want := 0.0
		for j := range steps { // a step of noise 1
			impulse := make([]float64, steps)
			impulse[j] = 1
			x := release.Solve(c, impulse)
			p, v := 0.0, 0.0
			for t := range steps {
				rate := w.Schedule.LearningRate(t)
				v = w.Momentum*v + x[t]
				if w.Nesterov {
					p -= rate * (x[t] + w.Momentum*v)
				} else {
					p -= rate * v
				}
				want += p * p / steps
			}
		}
		want *= 1 + 0.75*0.75 + 0.25*0.25
		got, by := w.gradient(c, true)
		if !(math.Abs(got/want-1) <= 1e-12) {
			t.Errorf("%+v: found %v, expected %v", w, got, want)
		}
		for i := range c {
			up, down := []float64{1, 0.75, 0.25}, []float64{1, 0.75, 0.25}
			up[i], down[i] = up[i]+1e-5, down[i]-1e-5
			if i > 0 { // c_0 is 1
				if want := (w.Error(up) - w.Error(down)) / 2e-5; !(math.Abs(by[i]/want-1) <= 1e-6) {
					t.Errorf("%+v: the derivative by c_%d is %v, expected %v", w, i, by[i], want)
				}
			}
		}
	}
}

// Rounding to dyadic coefficients costs next to nothing, and more bands never have more error.
func TestStrategiesAreDyadicAndGood(t *testing.T) {
	for _, w := range []Workload{workload(500, 0, false, &Constant{}), workload(500, 0.9, false, &Cosine{})} {
		before := w.Error([]float64{1})
		for _, bands := range []int{2, 4, 8} {
			s := must(w.Strategy(bands))(t)
			if e := w.Error(s.Values()); !(e < before) {
				t.Errorf("%d bands: error %v, expected less than %v", bands, e, before)
			} else {
				before = e
			}
		}
	}
	if s := must(workload(3, 0, false, &Constant{}).Strategy(8))(t); len(s.Coefficients) > 3 {
		t.Errorf("3 steps have %d bands", len(s.Coefficients))
	}
}

// jax_privacy 2.0.0 finds, for prefix sums, the mean square error of its banded Toeplitz strategies
// of sensitivity 1: toeplitz.optimize_banded_toeplitz(n=n, bands=b), and of it
// toeplitz.loss(c, n=n)·toeplitz.sensitivity_squared(c, n), with jax_enable_x64. Rounded to dyadic
// coefficients ours is within 0.01 %, and at most 1 % above that of banded matrices without structure:
// the mean of banded.per_query_error(banded.optimize(n, bands=b, max_optimizer_steps=200)).
func TestErrorIsThatOfJAXPrivacy(t *testing.T) {
	for _, c := range []struct {
		steps, bands int
		want, dense  float64
	}{
		{256, 4, 35.73661383469012, 35.46972363676416}, {1000, 8, 69.74992959831258, 69.25450474137635},
	} {
		w := Workload{Schedule: Schedule{Curve: &Constant{}, Peak: 1, Steps: c.steps}}
		s := must(w.Strategy(c.bands))(t)
		got, p := 0.0, 0.0 // exactly
		for age, x := range s.Inverse(c.steps) {
			p += x
			got += floats.Dot(s.Values(), s.Values()) * p * p * float64(c.steps-age) / float64(c.steps)
		}
		if !(math.Abs(got/c.want-1) <= 1e-4) || got < c.dense || got > 1.01*c.dense {
			t.Errorf("%d steps, %d bands: error %v of %v, expected %v, and %v to 1 %% more", c.steps, c.bands, got, s.Values(), c.want, c.dense)
		}
		if e := w.Error(s.Values()); !(math.Abs(e/got-1) <= 5e-4) {
			t.Errorf("%d steps, %d bands: error %v by strata, expected %v", c.steps, c.bands, e, got)
		}
	}
}

// Where every record is in every step, its vectors add up to at most ‖C·1‖ times the bound (they all
// point the same way; c has no negative coefficient), and none of these strategies has less error than
// independent noise: what C takes back of slow noise it costs in sensitivity. The workloads are those
// of the presets with full batches, and gradient descent.
func TestFullBatchesGainNothing(t *testing.T) {
	for _, w := range []Workload{
		{Schedule: Schedule{Curve: &Linear{}, Peak: 1, Steps: 120}, Momentum: 0.9}, {Schedule: Schedule{Curve: &Linear{}, Peak: 1, Steps: 600}, Momentum: 0.9},
		{Schedule: Schedule{Curve: &Constant{}, Peak: 1, Steps: 300}},
	} {
		independent := w.Error([]float64{1})
		for _, bands := range []int{2, 4, 8, 16} {
			strategies := [][]float64{must(w.Strategy(bands))(t).Values()}
			for _, size := range []float64{0.01, 0.1, 0.3, 0.6, 1} {
				c := make([]float64, bands)
				c[0] = 1
				for i := 1; i < bands; i++ {
					c[i] = size / math.Sqrt(float64(i))
				}
				strategies = append(strategies, c)
			}
			for _, c := range strategies {
				together := 0.0
				for t := range w.Schedule.Steps { // a row of C·1
					row := floats.Sum(c[:min(t+1, len(c))])
					together += row * row / float64(w.Schedule.Steps)
				}
				if e := w.Error(c) / floats.Dot(c, c) * together / independent; e < 1-1e-9 {
					t.Errorf("%+v: %v has %v times the error of independent noise", w, c, e)
				}
			}
		}
	}
}
