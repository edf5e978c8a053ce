package accountant_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/theorems"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// randomTarget draws a budget with ε from 0.01 to 150 and δ from 1e-12 to 0.01.
func randomTarget(rng *rand.Rand) accountant.Guarantee {
	return accountant.Guarantee{Epsilon: math.Exp(9.6*rng.Float64() - 4.6), Delta: math.Exp(-23*rng.Float64() - 4.6)}
}

// 400 random calibrations: the guarantee that a fresh accountant computes for the
// result is within target, and 2e-9 less noise would exceed it.
func TestCalibrationIsPrivateAndTight(t *testing.T) {
	const parts = 4
	each := 100
	if !slow.Asked() {
		each = 25
	}
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(4, uint64(part)))
			a := newNamed(t, "rdp")
			for range each {
				q := math.Exp(-9 * rng.Float64())
				steps := 1 + int(math.Exp(12*rng.Float64()))
				target := randomTarget(rng)
				event := func(sigma float64) accountant.Event { return accountant.PoissonSampled{q, accountant.Gaussian{sigma}} }
				sigma, err := accountant.CalibrateNoiseMultiplier(a, event, steps, target)
				if err != nil {
					t.Fatalf("q=%v T=%d %v: %v", q, steps, target, err)
				}
				isTight(t, event(sigma), event(sigma*(1-2e-9)), steps, target)
			}
		})
	}
}

// isTight says that steps releases of one event are within target, by a fresh accountant, and those
// of another, a little worse one are not.
func isTight(t *testing.T, e, worse accountant.Event, steps int, target accountant.Guarantee) {
	t.Helper()
	ask := func(e accountant.Event) float64 {
		return accounttest.Epsilon(t, newNamed(t, "rdp"), accounttest.Ledger(t, accountant.Entry{e, steps}), target.Delta)
	}
	if found, more := ask(e), ask(worse); !(found <= target.Epsilon && more > target.Epsilon) {
		t.Errorf("%d × %v costs %v, and %v with %v, of %v", steps, e, found, more, worse, target)
	}
}

func TestCalibrationAtTheEnds(t *testing.T) {
	a := newNamed(t, "rdp")
	gaussian := func(sigma float64) accountant.Event { return accountant.Gaussian{sigma} }
	target := accountant.Guarantee{Epsilon: 1, Delta: 1e-5}

	never := func(sigma float64) accountant.Event { return accountant.PoissonSampled{0, accountant.Gaussian{sigma}} }
	if sigma, err := accountant.CalibrateNoiseMultiplier(a, never, 10, target); err != nil || accounttest.Relative(sigma, accountant.MinCalibrated) > 1e-9 {
		t.Errorf("q=0: σ=%v, %v, want the least, %v", sigma, err, accountant.MinCalibrated)
	}
	// The orders end at 8192, where the conversion alone is above 1e-5.
	if sigma, err := accountant.CalibrateNoiseMultiplier(a, gaussian, 1, accountant.Guarantee{Epsilon: 1e-5, Delta: 1e-10}); !errors.Is(err, accountant.ErrUnreachable) {
		t.Errorf("tiny epsilon: σ=%v, %v, want ErrUnreachable", sigma, err)
	}
	leaky := func(float64) accountant.Event { return accountant.NonPrivate{} }
	if sigma, err := accountant.CalibrateNoiseMultiplier(a, leaky, 1, target); !errors.Is(err, accountant.ErrUnreachable) {
		t.Errorf("non-private: σ=%v, %v, want ErrUnreachable", sigma, err)
	}
}

func TestCalibrationRefuses(t *testing.T) {
	a := newNamed(t, "rdp")
	gaussian := func(sigma float64) accountant.Event { return accountant.Gaussian{sigma} }
	good := accountant.Guarantee{Epsilon: 1, Delta: 1e-5}
	for _, tt := range []struct {
		name   string
		event  func(float64) accountant.Event
		steps  int
		target accountant.Guarantee
		want   error
	}{
		{"no steps", gaussian, 0, good, accountant.ErrInvalid},
		{"negative steps", gaussian, -3, good, accountant.ErrInvalid},
		{"epsilon 0", gaussian, 1, accountant.Guarantee{Epsilon: 0, Delta: 1e-5}, accountant.ErrInvalid},
		{"epsilon NaN", gaussian, 1, accountant.Guarantee{Epsilon: math.NaN(), Delta: 1e-5}, accountant.ErrInvalid},
		{"epsilon infinite", gaussian, 1, accountant.Guarantee{Epsilon: math.Inf(1), Delta: 1e-5}, accountant.ErrInvalid},
		{"delta 0", gaussian, 1, accountant.Guarantee{Epsilon: 1}, accountant.ErrInvalid},
		{"delta 1", gaussian, 1, accountant.Guarantee{Epsilon: 1, Delta: 1}, accountant.ErrInvalid},
		{"other relation", gaussian, 1, accountant.Guarantee{Epsilon: 1, Delta: 1e-5, Relation: accountant.ReplaceOne}, accountant.ErrUnsupported},
		{"no event", nil, 1, good, accountant.ErrInvalid},
		{"nil event", func(float64) accountant.Event { return nil }, 1, good, accountant.ErrInvalid},
		{"unsupported event", func(s float64) accountant.Event { return nested(3) }, 1, good, accountant.ErrUnsupported},
	} {
		if sigma, err := accountant.CalibrateNoiseMultiplier(a, tt.event, tt.steps, tt.target); !errors.Is(err, tt.want) || sigma != 0 {
			t.Errorf("%s: σ=%v, %v, want %v", tt.name, sigma, err, tt.want)
		}
		if q, err := accountant.MaxSamplingProbability(a, tt.event, tt.steps, tt.target); !errors.Is(err, tt.want) || q != 0 {
			t.Errorf("%s: q=%v, %v, want %v", tt.name, q, err, tt.want)
		}
		if tt.event == nil {
			continue
		}
		if n, err := accountant.MaxSteps(a, tt.event(1), tt.target, tt.steps); tt.steps != 0 && (!errors.Is(err, tt.want) || n != 0) {
			t.Errorf("%s: MaxSteps %d, %v, want %v", tt.name, n, err, tt.want)
		}
	}
}

// analytic is the exact accountant of Gaussian releases, and of sampled ones by the central
// limit theorem: a smooth function to solve for. It counts its answers, and rough makes it
// rise and fall by that relative amount from one number to the next.
type analytic struct {
	answers int
	rough   float64
}

func (a *analytic) Name() string                  { return "analytic" }
func (a *analytic) Relation() accountant.Relation { return accountant.AddOrRemoveOne }

func (a *analytic) Delta(*accountant.Ledger, float64) (accountant.Guarantee, error) {
	return accountant.Guarantee{}, accountant.ErrUnsupported
}

func (a *analytic) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	a.answers++
	g := accountant.Guarantee{Delta: delta, Method: "analytic"}
	squares := 0.0
	for _, entry := range l.Entries() {
		switch e := entry.Event.(type) {
		case accountant.Gaussian:
			squares += float64(entry.Count) / e.NoiseMultiplier / e.NoiseMultiplier
		case accountant.PoissonSampled:
			inner := e.Event.(accountant.Gaussian).NoiseMultiplier
			squares += float64(entry.Count) * e.SamplingProbability * e.SamplingProbability * math.Expm1(1/inner/inner)
		}
	}
	if !(squares < 1e200) {
		g.Epsilon = math.Inf(1)
		return g, nil
	}
	var err error
	g.Epsilon, err = theorems.GaussianEpsilon(1/math.Sqrt(squares), delta)
	if a.rough > 0 {
		h := fnv.New32()
		fmt.Fprint(h, squares)
		g.Epsilon *= 1 + a.rough*(float64(h.Sum32()%1000)/500-1)
	}
	return g, err
}

// The solvers need some 12 answers of a smooth accountant, and of one that is not even
// monotone in its last digits the result is within target as well.
func TestSolversNeedFewAnswers(t *testing.T) {
	for _, rough := range []float64{0, 1e-10, 1e-6} {
		rng := rand.New(rand.NewPCG(4, 9))
		var sums, most [3]int
		const searches = 100
		for range searches {
			q := math.Exp(-9 * rng.Float64())
			steps := 1 + int(math.Exp(12*rng.Float64()))
			target := accountant.Guarantee{Epsilon: math.Exp(6*rng.Float64() - 3), Delta: math.Exp(-23*rng.Float64() - 4.6)}
			within := func(what string, e accountant.Event, steps int, err error) {
				g, askErr := (&analytic{rough: rough}).Guarantee(accounttest.Ledger(t, accountant.Entry{e, steps}), target.Delta)
				if err != nil || askErr != nil || !g.Within(target) {
					t.Fatalf("rough %v, %v: %s: %d × %v has %v, %v, %v", rough, target, what, steps, e, g, err, askErr)
				}
			}
			count := func(i int, a *analytic) {
				sums[i] += a.answers
				most[i] = max(most[i], a.answers)
			}
			a := &analytic{rough: rough}
			sigma, err := accountant.CalibrateNoiseMultiplier(a, func(s float64) accountant.Event { return accountant.PoissonSampled{q, accountant.Gaussian{s}} }, steps, target)
			count(0, a)
			within("noise", accountant.PoissonSampled{q, accountant.Gaussian{sigma}}, steps, err)

			a = &analytic{rough: rough}
			event := accountant.PoissonSampled{q, accountant.Gaussian{1.5 * sigma}}
			n, err := accountant.MaxSteps(a, event, target, math.MaxInt)
			count(1, a)
			within("steps", event, n, err)

			a = &analytic{rough: rough}
			p, err := accountant.MaxSamplingProbability(a, func(q float64) accountant.Event {
				return accountant.PoissonSampled{q, accountant.Gaussian{1.5 * sigma}}
			}, steps, target)
			count(2, a)
			within("sampling", accountant.PoissonSampled{p, accountant.Gaussian{1.5 * sigma}}, steps, err)
		}
		for i, name := range []string{"noise", "steps", "sampling"} {
			if mean := float64(sums[i]) / searches; rough == 0 && (mean > 13 || most[i] > 22) || most[i] > 45 {
				t.Errorf("rough %v: %s takes %v answers, up to %d", rough, name, mean, most[i])
			} else {
				t.Logf("rough %v: %s takes %v answers, up to %d", rough, name, mean, most[i])
			}
		}
	}
}

// narrow ends on the right side of every kind of falling function, also of jumps and
// of ones with infinite values.
func TestNarrow(t *testing.T) {
	inf := math.Inf(1)
	for name, f := range map[string]func(float64) float64{
		"line":     func(x float64) float64 { return 0.3 - x },
		"cubic":    func(x float64) float64 { return -math.Pow(x-0.3, 3) },
		"flat":     func(x float64) float64 { return math.Expm1(40*(0.3-x)) * 1e-9 },
		"jump":     func(x float64) float64 { return math.Copysign(1, 0.3-x) },
		"infinite": func(x float64) float64 { return math.Copysign(inf, 0.3-x) },
		"log":      func(x float64) float64 { return math.Log(max(0, 0.6-x) / 0.3) },
	} {
		calls := 0
		got := numeric.Bracket{Lo: 0, AtLo: f(0), Hi: 1, AtHi: f(1)}.Narrow(func(x float64) float64 { calls++; return f(x) }, 1e-9)
		if f(got) > 0 || got > 0.3+1.1e-9 {
			t.Errorf("%s: %v (f = %v), want 0.3 from the right", name, got, f(got))
		}
		if calls > 32 { // 30 halvings, one more, and one for rounding
			t.Errorf("%s: %d calls", name, calls)
		}
	}
}

// Random searches: the guarantee that a fresh accountant computes for the result is within
// target, and a little more sampling would exceed it.
func TestMaxSamplingProbabilityIsPrivateAndTight(t *testing.T) {
	searches := 150
	if !slow.Asked() {
		searches = 15
	}
	rng := rand.New(rand.NewPCG(6, 1))
	a := newNamed(t, "rdp")
	for range searches {
		sigma := math.Exp(4*rng.Float64() - 0.5)
		steps := 1 + int(math.Exp(12*rng.Float64()))
		target := randomTarget(rng)
		event := func(q float64) accountant.Event { return accountant.PoissonSampled{q, accountant.Gaussian{sigma}} }
		q, err := accountant.MaxSamplingProbability(a, event, steps, target)
		if err != nil {
			t.Fatalf("σ=%v T=%d %v: %v", sigma, steps, target, err)
		}
		worse := accountant.Event(accountant.NonPrivate{}) // where all records may be in the sample
		if more := max(q*(1+2e-9), accountant.MinSampled); more < 1 {
			worse = event(more)
		}
		isTight(t, event(q), worse, steps, target)
	}
}

func TestMaxSamplingProbabilityAtTheEnds(t *testing.T) {
	a := newNamed(t, "rdp")
	target := accountant.Guarantee{Epsilon: 1, Delta: 1e-5}
	poisson := func(e accountant.Event) func(float64) accountant.Event {
		return func(q float64) accountant.Event { return accountant.PoissonSampled{q, e} }
	}
	for _, tt := range []struct {
		name   string
		event  func(float64) accountant.Event
		target accountant.Guarantee
		want   float64
	}{
		{"no need to sample", poisson(accountant.Gaussian{100}), target, 1},
		{"no noise", poisson(accountant.Gaussian{0}), target, 0},
		{"below what orders show", poisson(accountant.Gaussian{1}), accountant.Guarantee{Epsilon: 1e-6, Delta: 1e-12}, 0},
	} {
		if q, err := accountant.MaxSamplingProbability(a, tt.event, 10, tt.target); err != nil || q != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, q, err, tt.want)
		}
	}
}

// train spends like the training loop: the question includes the next step, and the
// first refusal ends the run.
func train(t *testing.T, a accountant.Accountant, event accountant.Event, target accountant.Guarantee, limit int) *accountant.Ledger {
	t.Helper()
	ledger := &accountant.Ledger{}
	for ledger.Count() < limit {
		next := tiny.Must(ledger.With(event, 1))(t)
		g := tiny.Must(a.Guarantee(next, target.Delta))(t)
		if !g.Within(target) {
			return ledger
		}
		ledger = next
	}
	t.Fatalf("%v lasts longer than %d steps of %v", target, limit, event)
	return nil
}

// 200 random runs end with ε ≤ target, one step more would exceed it, and MaxSteps knew.
func TestNoRunPassesItsBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	a := newNamed(t, "rdp")
	runs := 200
	if !slow.Asked() {
		runs = 20
	}
	for range runs {
		event := accountant.PoissonSampled{math.Exp(-7 * rng.Float64()), accountant.Gaussian{math.Exp(3*rng.Float64() - 1)}}
		delta := math.Exp(-20*rng.Float64() - 5)
		// A target that some step between 0 and 600 reaches, anywhere in it.
		cost := func(steps int) float64 {
			return accounttest.Epsilon(t, a, accounttest.Ledger(t, accountant.Entry{event, steps}), delta)
		}
		reached := rng.IntN(600)
		target := accountant.Guarantee{Epsilon: cost(reached) + rng.Float64()*(cost(reached+1)-cost(reached)), Delta: delta}
		if target.Epsilon == 0 {
			continue
		}
		ledger := train(t, a, event, target, 1000)
		steps := ledger.Count()
		fresh := newNamed(t, "rdp")
		if e := accounttest.Epsilon(t, fresh, ledger, delta); e > target.Epsilon {
			t.Errorf("%v stopped after %d steps at ε=%v, target %v", event, steps, e, target)
		}
		if e := cost(steps + 1); e <= target.Epsilon {
			t.Errorf("%v stopped after %d steps, but one more gives ε=%v, target %v", event, steps, e, target)
		}
		if n, err := accountant.MaxSteps(a, event, target, math.MaxInt); err != nil || n != steps {
			t.Errorf("%v: MaxSteps %d, %v, the run took %d", event, n, err, steps)
		}
	}
}

// What an accountant is asked out of range, its bounds never see, and their errors come back alone.
func TestMadeAccountantsRefuse(t *testing.T) {
	a := gaussians()
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		g, err := a.Guarantee(new(accountant.Ledger), bad)
		d, otherErr := a.Delta(new(accountant.Ledger), bad)
		if !errors.Is(err, accountant.ErrInvalid) || !errors.Is(otherErr, accountant.ErrInvalid) || g != d {
			t.Errorf("%v: found %v, %v and %v, %v, want ErrInvalid", bad, g, err, d, otherErr)
		}
	}
	l := accounttest.Ledger(t, accountant.Entry{accountant.Laplace{1}, 1})
	g, err := a.Guarantee(l, 0.1)
	d, otherErr := a.Delta(l, 1)
	if !errors.Is(err, accountant.ErrUnsupported) || !errors.Is(otherErr, accountant.ErrUnsupported) || g != (accountant.Guarantee{}) || d != g {
		t.Errorf("found %v, %v and %v, %v, want ErrUnsupported", g, err, d, otherErr)
	}
	if a, err := accountant.Make("", 9, nil, nil); !errors.Is(err, accountant.ErrInvalid) || a != nil {
		t.Errorf("relation 9: found %v, %v, want ErrInvalid", a, err)
	}
}

func TestMaxSteps(t *testing.T) {
	a := newNamed(t, "rdp")
	for _, tt := range []struct {
		name        string
		event       accountant.Event
		limit, want int
	}{
		{"not one", accountant.Gaussian{0.1}, 1000, 0},
		{"no noise", accountant.Gaussian{0}, 1000, 0},
		{"non-private", accountant.NonPrivate{}, 1000, 0},
		{"limit 0", accountant.Gaussian{100}, 0, 0},
		{"up to the limit", accountant.Gaussian{100}, 10, 10},
		{"up to a large limit", accountant.Gaussian{1e12}, math.MaxInt / 2, math.MaxInt / 2},
		{"free", accountant.PoissonSampled{0, accountant.Gaussian{1}}, math.MaxInt, math.MaxInt},
	} {
		got, err := accountant.MaxSteps(a, tt.event, accountant.Guarantee{Epsilon: 1, Delta: 1e-5}, tt.limit)
		if err != nil || got != tt.want {
			t.Errorf("%s: %d, %v, want %d", tt.name, got, err, tt.want)
		}
	}
}

// The pure epsilon of Laplace releases adds up, so that the edge is known, near and far.
func TestMaxStepsFindsTheEdge(t *testing.T) {
	basic := tiny.Must(theorems.NewBasic(accountant.AddOrRemoveOne))(t)
	for _, want := range []int{0, 1, 2, 3, 7, 15, 16, 17, 100, 1023, 1024, 1025, 54321, 1 << 20, 987654321, 1 << 40} {
		target := accountant.Guarantee{Epsilon: float64(want) + 0.5, Delta: 1e-5}
		if got, err := accountant.MaxSteps(basic, accountant.Laplace{1}, target, math.MaxInt); err != nil || got != want {
			t.Errorf("ε=%v: %d steps, %v, want %d", target.Epsilon, got, err, want)
		}
		if got, err := accountant.MaxSteps(basic, accountant.Laplace{1}, target, want+1); err != nil || got != want {
			t.Errorf("ε=%v up to %d: %d steps, %v, want %d", target.Epsilon, want+1, got, err, want)
		}
	}
}

// newNamed returns the accountant of that name under AddOrRemoveOne.
func newNamed(t testing.TB, name string) accountant.Accountant {
	t.Helper()
	return tiny.Must(accountants.New(name, accountant.AddOrRemoveOne))(t)
}
