package accountants

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// TestAccountantContract holds every accountant that New knows, for every relation, to the
// comments of accountant.Accountant and IntervalAccountant. The one excuse is ErrUnsupported.
func TestAccountantContract(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			relations := 0
			for _, r := range []accountant.Relation{accountant.AddOrRemoveOne, accountant.ReplaceOne, accountant.ZeroOut} {
				a, err := New(name, r)
				if errors.Is(err, accountant.ErrUnsupported) {
					continue
				}
				if err != nil {
					t.Fatalf("New(%q, %v): %v", name, r, err)
				}
				relations++
				t.Run(r.String(), func(t *testing.T) { testContract(t, a, name, r) })
			}
			if relations == 0 {
				t.Error("supports no relation")
			}
			if a, err := New(name, accountant.Relation(9)); !errors.Is(err, accountant.ErrInvalid) {
				t.Errorf("New(%q, Relation(9)) = %v, %v, want ErrInvalid", name, a, err)
			}
		})
	}
	if _, err := New("moments", accountant.AddOrRemoveOne); !errors.Is(err, accountant.ErrUnsupported) {
		t.Errorf("New of an unknown name: %v, want ErrUnsupported", err)
	}
}

func testContract(t *testing.T, a accountant.Accountant, name string, r accountant.Relation) {
	if a.Name() != name || a.Relation() != r {
		t.Errorf("New(%q, %v) is %q under %v", name, r, a.Name(), a.Relation())
	}
	t.Run("special ledgers", func(t *testing.T) { testSpecialLedgers(t, a) })
	t.Run("unsupported", func(t *testing.T) { testUnsupported(t, a) })
	t.Run("arguments", func(t *testing.T) { testArguments(t, a) })
	t.Run("pure", func(t *testing.T) { testPure(t, a) })
	if name == "pld" && r != accountant.AddOrRemoveOne && !slow.Asked() {
		return // what follows takes seconds, and is the same for this one in all relations
	}
	t.Run("compositions", func(t *testing.T) { testCompositions(t, a) })
	t.Run("monotone", func(t *testing.T) { testMonotone(t, a) })
	t.Run("delta", func(t *testing.T) { testDelta(t, a) })
}

// deltaOf asks for delta, where the accountant supports the events.
func deltaOf(t *testing.T, a accountant.Accountant, l *accountant.Ledger, epsilon float64) (float64, bool) {
	t.Helper()
	g, err := a.Delta(l, epsilon)
	if errors.Is(err, accountant.ErrUnsupported) && g == (accountant.Guarantee{}) {
		return 0, false
	}
	if err != nil {
		t.Fatalf("%v at epsilon %v: %v", l.Entries(), epsilon, err)
	}
	if !(g.Delta >= 0 && g.Delta <= 1) || g.Epsilon != epsilon || g.Method == "" || g.Relation != a.Relation() {
		t.Fatalf("%v at epsilon %v: %+v", l.Entries(), epsilon, g)
	}
	return g.Delta, true
}

func testSpecialLedgers(t *testing.T, a accountant.Accountant) {
	inf := math.Inf(1)
	plain := accounttest.Epsilon(t, a, accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 2}, Count: 5}), 1e-5)
	for _, tt := range []struct {
		name    string
		entries []accountant.Entry
		want    float64
	}{
		{"empty", nil, 0},
		{"q=0", []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0, Event: accountant.Gaussian{NoiseMultiplier: 1}}, Count: 1000}}, 0},
		{"q=0, σ=0", []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0, Event: accountant.Gaussian{NoiseMultiplier: 0}}, Count: 1}}, 0},
		{"q=0 of non-private", []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0, Event: accountant.NonPrivate{}}, Count: 1}}, 0},
		{"nothing composed", []accountant.Entry{{Event: accountant.Composed{}, Count: 3}, {Event: accountant.SelfComposed{Event: accountant.NonPrivate{}, Count: 0}, Count: 2}}, 0},
		{"q=1 is not sampled", []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 1, Event: accountant.Gaussian{NoiseMultiplier: 2}}, Count: 5}}, plain},
		{"q=0 beside others", []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0, Event: accountant.Gaussian{NoiseMultiplier: 1}}, Count: 9}, {Event: accountant.Gaussian{NoiseMultiplier: 2}, Count: 5}}, plain},
		{"in two entries", []accountant.Entry{{Event: accountant.Gaussian{NoiseMultiplier: 2}, Count: 2}, {Event: accountant.PoissonSampled{SamplingProbability: 0, Event: accountant.Gaussian{NoiseMultiplier: 1}}, Count: 9}, {Event: accountant.Gaussian{NoiseMultiplier: 2}, Count: 3}}, plain},
		{"σ=0", []accountant.Entry{{Event: accountant.Gaussian{NoiseMultiplier: 0}, Count: 1}}, inf},
		{"σ=0 sampled", []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 1e-9, Event: accountant.Gaussian{NoiseMultiplier: 0}}, Count: 1}}, inf},
		{"σ=5e-324", []accountant.Entry{{Event: accountant.Gaussian{NoiseMultiplier: 5e-324}, Count: 1}}, inf},
		{"non-private", []accountant.Entry{{Event: accountant.NonPrivate{}, Count: 1}}, inf},
		{"non-private sampled", []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 1e-9, Event: accountant.NonPrivate{}}, Count: 1}}, inf},
		{"non-private among others", []accountant.Entry{{Event: accountant.Gaussian{NoiseMultiplier: 2}, Count: 5}, {Event: accountant.NonPrivate{}, Count: 1}}, inf},
		{"non-private in a composition", []accountant.Entry{{Event: accounttest.Composed(t, accountant.Gaussian{NoiseMultiplier: 2}, accountant.NonPrivate{}), Count: 1}}, inf},
	} {
		l := accounttest.Ledger(t, tt.entries...)
		got := accounttest.Epsilon(t, a, l, 1e-5)
		if got != tt.want && !(math.Abs(got-tt.want) < 1e-12*tt.want) {
			t.Errorf("%s: epsilon %v, want %v", tt.name, got, tt.want)
		}
		delta, _ := deltaOf(t, a, l, 1)
		if tt.want == 0 && delta != 0 || tt.want == inf && tt.name != "σ=5e-324" && delta != 1 {
			t.Errorf("%s: epsilon %v, but delta %v at epsilon 1", tt.name, got, delta)
		}
	}
}

func testUnsupported(t *testing.T, a accountant.Accountant) {
	twice := accountant.PoissonSampled{SamplingProbability: 0.5, Event: accountant.PoissonSampled{SamplingProbability: 0.5, Event: accountant.Gaussian{NoiseMultiplier: 1}}}
	l := accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 1}, Count: 1}, accountant.Entry{Event: twice, Count: 1})
	if g, err := a.Guarantee(l, 1e-5); !errors.Is(err, accountant.ErrUnsupported) || g != (accountant.Guarantee{}) {
		t.Errorf("%v: %+v, %v, want ErrUnsupported and nothing else", twice, g, err)
	}
	if g, err := a.Delta(l, 1); !errors.Is(err, accountant.ErrUnsupported) || g != (accountant.Guarantee{}) {
		t.Errorf("delta of %v: %+v, %v, want ErrUnsupported and nothing else", twice, g, err)
	}
}

func testArguments(t *testing.T, a accountant.Accountant) {
	l := accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 1}, Count: 1})
	for _, delta := range []float64{0, -1e-5, 1, 2, math.NaN(), math.Inf(1)} {
		if g, err := a.Guarantee(l, delta); !errors.Is(err, accountant.ErrInvalid) || g != (accountant.Guarantee{}) {
			t.Errorf("delta %v: %+v, %v, want ErrInvalid and nothing else", delta, g, err)
		}
	}
	for _, epsilon := range []float64{-1e-5, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if g, err := a.Delta(l, epsilon); !errors.Is(err, accountant.ErrInvalid) || g != (accountant.Guarantee{}) {
			t.Errorf("epsilon %v: %+v, %v, want ErrInvalid and nothing else", epsilon, g, err)
		}
	}
	if g, err := a.Guarantee(nil, 1e-5); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("nil ledger: %+v, %v, want ErrInvalid", g, err)
	}
	if g, err := a.Delta(nil, 1); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("delta of a nil ledger: %+v, %v, want ErrInvalid", g, err)
	}
}

// Questions change neither the ledger nor later answers.
func testPure(t *testing.T, a accountant.Accountant) {
	event := accountant.Event(accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1}})
	if _, ok := accounttest.SupportedEpsilon(t, a, accounttest.Ledger(t, accountant.Entry{Event: event, Count: 1}), 1e-5); !ok {
		event = accountant.Gaussian{NoiseMultiplier: 10}
	}
	l := accounttest.Ledger(t, accountant.Entry{Event: event, Count: 100}, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 50}, Count: 2})
	first := accounttest.Epsilon(t, a, l, 1e-5)
	firstDelta, _ := deltaOf(t, a, l, 1)
	accounttest.Epsilon(t, a, accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 3}, Count: 7}), 1e-3)
	accounttest.Epsilon(t, a, l, 1e-9)
	deltaOf(t, a, l, 3)
	again, againDelta := accounttest.Epsilon(t, a, l, 1e-5), 0.0
	if againDelta, _ = deltaOf(t, a, l, 1); again != first || againDelta != firstDelta || l.Count() != 102 {
		t.Errorf("asked twice: (%v, %v) and (%v, %v); count %d", first, firstDelta, again, againDelta, l.Count())
	}
}

// A count of k, k entries, a self-composition and a composition are the same thing.
func testCompositions(t *testing.T, a accountant.Accountant) {
	free := accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: 0, Event: accountant.NonPrivate{}}, Count: 1}
	for _, e := range []accountant.Event{accountant.Gaussian{NoiseMultiplier: 20}, accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1}}, accountant.Laplace{Scale: 30}} {
		want, ok := accounttest.SupportedEpsilon(t, a, accounttest.Ledger(t, accountant.Entry{Event: e, Count: 4}), 1e-5)
		if !ok {
			continue
		}
		for name, l := range map[string]*accountant.Ledger{
			"entries":          accounttest.Ledger(t, accountant.Entry{Event: e, Count: 1}, free, accountant.Entry{Event: e, Count: 1}, free, accountant.Entry{Event: e, Count: 2}),
			"self-composed":    accounttest.Ledger(t, accountant.Entry{Event: accountant.SelfComposed{Event: e, Count: 4}, Count: 1}),
			"twice twice":      accounttest.Ledger(t, accountant.Entry{Event: accountant.SelfComposed{Event: e, Count: 2}, Count: 2}),
			"composed":         accounttest.Ledger(t, accountant.Entry{Event: accounttest.Composed(t, e, e, e, e), Count: 1}),
			"composed, nested": accounttest.Ledger(t, accountant.Entry{Event: accounttest.Composed(t, e, accounttest.Composed(t, accountant.SelfComposed{Event: e, Count: 2})), Count: 1}, accountant.Entry{Event: e, Count: 1}),
		} {
			if got := accounttest.Epsilon(t, a, l, 1e-5); accounttest.Relative(got, want) > 1e-12 {
				t.Errorf("%v as %s: %v, want %v", e, name, got, want)
			}
		}
	}
}

// family is a mechanism whose privacy falls as worse goes from 0 to 1.
type family struct {
	name    string
	event   func(worse float64) accountant.Event
	visible bool // epsilon is above 0 at the deltas of these tests
}

// families draws mechanisms of every kind.
func families(rng *rand.Rand) []family {
	q := math.Exp(-7*rng.Float64() - 0.05)
	sigma := math.Exp(3*rng.Float64() - 0.4)
	less := func(x, worse float64) float64 { return x * (1 - 0.2*worse) }
	more := func(worse float64) float64 { return q + (1-q)*0.2*worse }
	gaussian := func(worse float64) accountant.Event { return accountant.Gaussian{NoiseMultiplier: less(sigma, worse)} }
	n := 100 + rng.IntN(10000)
	return []family{
		{"Gaussian", gaussian, true},
		{"PoissonSampled, less noise", func(w float64) accountant.Event {
			return accountant.PoissonSampled{SamplingProbability: q, Event: gaussian(w)}
		}, true},
		{"PoissonSampled, more sampling", func(w float64) accountant.Event {
			return accountant.PoissonSampled{SamplingProbability: more(w), Event: gaussian(0)}
		}, true},
		{"Laplace", func(w float64) accountant.Event { return accountant.Laplace{Scale: less(sigma, w)} }, true},
		{"PoissonSampled Laplace", func(w float64) accountant.Event {
			return accountant.PoissonSampled{SamplingProbability: more(w), Event: accountant.Laplace{Scale: less(sigma, w)}}
		}, true},
		{"RandomizedResponse", func(w float64) accountant.Event {
			return accountant.RandomizedResponse{NoiseProbability: less(0.9, w), Buckets: 2 + int(5*w)}
		}, true},
		{"ApproxDP, larger epsilon", func(w float64) accountant.Event { return accountant.ApproxDP{Epsilon: 0.5 + w, Delta: 1e-30} }, true},
		{"ApproxDP, larger delta", func(w float64) accountant.Event { return accountant.ApproxDP{Epsilon: 0.5, Delta: 1e-30 * (1 + w)} }, true},
		{"DiscreteLaplace", func(w float64) accountant.Event {
			return accountant.DiscreteLaplace{Scale: less(sigma, w), Sensitivity: 7}
		}, true},
		{"DiscreteGaussian", func(w float64) accountant.Event {
			return accountant.DiscreteGaussian{NoiseMultiplier: less(sigma, w), Sensitivity: 7}
		}, true},
		{"DiscreteGaussian of several", func(w float64) accountant.Event {
			return accountant.DiscreteGaussian{NoiseMultiplier: less(sigma, w)}
		}, true},
		{"BoundedRange", func(w float64) accountant.Event { return accountant.BoundedRange{Range: 1 / less(sigma, w)} }, true},
		{"AddOrRemoveDP", func(w float64) accountant.Event {
			return accountant.AddOrRemoveDP{Epsilon: 0.5 + w, Delta: 1e-30}
		}, true},
		{"ZCDP", func(w float64) accountant.Event { return accountant.ZCDP{Rho: 0.01 + w} }, true},
		{"TreeAggregation", func(w float64) accountant.Event {
			return accountant.TreeAggregation{NoiseMultiplier: less(10, w), Steps: 10 + int(w*100)}
		}, true},
		{"PoissonSampledGroup", func(w float64) accountant.Event {
			return accountant.PoissonSampledGroup{SamplingProbability: more(w), GroupSize: 2 + int(2*w), Event: gaussian(w)}
		}, true},
		{"FixedSizeSampled", func(w float64) accountant.Event {
			return accountant.FixedSizeSampled{DatasetSize: n, BatchSize: 10 + int(10*w), Event: gaussian(w)}
		}, false},
		{"TruncatedPoissonSampled", func(w float64) accountant.Event {
			return accountant.TruncatedPoissonSampled{DatasetSize: n, SamplingProbability: more(w), MaxBatchSize: n, Event: gaussian(w)}
		}, false},
		{"RepeatAndSelect", func(w float64) accountant.Event {
			return accountant.RepeatAndSelect{Event: gaussian(w), Mean: 5 + w, Shape: 1}
		}, false},
	}
}

// rounds counts the families that the random tests draw.
func rounds(a accountant.Accountant) int {
	if isSlow(a) || !slow.Asked() {
		return 1
	}
	return 6
}

// isSlow says that answers take milliseconds.
func isSlow(a accountant.Accountant) bool {
	_, answersSlowly := a.(accountant.IntervalAccountant)
	return answersSlowly
}

// passedOver says whether the next question to an accountant is left out: to a slow one every third
// is asked, or every sixth where slow evidence is not asked for.
func passedOver(a accountant.Accountant, rng *rand.Rand) bool {
	if slow.Asked() {
		return isSlow(a) && rng.IntN(3) > 0
	}
	return isSlow(a) && rng.IntN(6) > 0
}

// notLess reports that more is not below e. An accountant that knows its error may be off by it;
// the others round, and theorems about (ε, δ) that are computed on a grid are steady to some 1e-4.
func notLess(t *testing.T, a accountant.Accountant, more, e float64, lower func(accountant.IntervalAccountant) (accountant.Interval, error)) bool {
	t.Helper()
	slack := 1e-10
	if b, ok := a.(accountant.IntervalAccountant); ok {
		i := tiny.Must(lower(b))(t)
		e = i.Lower
	} else if a.Name() == "optimal" {
		slack = 1e-4
	}
	return more >= e*(1-slack)
}

// Epsilon is above 0 for private events at realistic δ, and more steps, more sampling,
// less noise, a smaller δ or another release never make it smaller.
func testMonotone(t *testing.T, a accountant.Accountant) {
	rng := rand.New(rand.NewPCG(3, 1))
	supported := 0
	for range rounds(a) {
		steps := 1 + int(math.Exp(8*rng.Float64()))
		delta := math.Exp(-20*rng.Float64() - 14)
		for i, f := range families(rng) {
			if isSlow(a) && !slow.Asked() && i%2 == 0 {
				continue // testDelta asks about it
			}
			l := accounttest.Ledger(t, accountant.Entry{Event: f.event(0), Count: steps})
			e, ok := accounttest.SupportedEpsilon(t, a, l, delta)
			if !ok {
				continue
			}
			supported++
			if f.visible && !(e > 0) || math.IsInf(e, 1) && a.Name() != "basic" && a.Name() != "advanced" && a.Name() != "optimal" {
				t.Errorf("%d × %v at δ=%v: epsilon %v", steps, f.event(0), delta, e)
			}
			worse := 0.1 + 0.9*rng.Float64()
			for _, question := range []struct {
				name  string
				event accountant.Event
				steps int
				delta float64
			}{
				{"one more step", f.event(0), steps + 1, delta},
				{"twice the steps", f.event(0), 2 * steps, delta},
				{"less privacy", f.event(worse), steps, delta},
				{"a smaller delta", f.event(0), steps, delta * rng.Float64()},
				{"a tiny delta", f.event(0), steps, delta * 1e-6},
				{"one more kind", accounttest.Composed(t, f.event(0), accountant.Gaussian{NoiseMultiplier: 100}), steps, delta},
			} {
				if passedOver(a, rng) {
					continue
				}
				more, ok := accounttest.SupportedEpsilon(t, a, accounttest.Ledger(t, accountant.Entry{Event: question.event, Count: question.steps}), question.delta)
				steady := notLess(t, a, more, e, func(b accountant.IntervalAccountant) (accountant.Interval, error) { return b.EpsilonInterval(l, delta) })
				if ok && !steady {
					t.Errorf("%d × %v at δ=%v: epsilon %v, and %v with %s: %+v", steps, f.event(0), delta, e, more, question.name, question)
				}
			}
		}
	}
	if supported == 0 {
		t.Error("no family is supported")
	}
}

// Delta is the inverse of epsilon, on the private side, and falls in epsilon. Intervals
// end in what is answered.
func testDelta(t *testing.T, a accountant.Accountant) {
	rng := rand.New(rand.NewPCG(3, 2))
	for range rounds(a) {
		steps := 1 + int(math.Exp(6*rng.Float64()))
		for i, f := range families(rng) {
			if isSlow(a) && !slow.Asked() && i%2 == 1 {
				continue // testMonotone asks about it
			}
			l := accounttest.Ledger(t, accountant.Entry{Event: f.event(0), Count: steps})
			middle, ok := accounttest.SupportedEpsilon(t, a, l, 1e-6)
			if !ok || math.IsInf(middle, 1) {
				continue
			}
			testIntervals(t, a, l, middle)
			last, lastEpsilon := 1.0, 0.0
			for _, e := range []float64{0.05 * middle, 0.7 * middle, middle, 1.3*middle + 0.1} {
				if passedOver(a, rng) {
					continue
				}
				delta, ok := deltaOf(t, a, l, e)
				if !ok {
					t.Errorf("%v: epsilon is supported, delta is not", l.Entries())
					break
				}
				if !notLess(t, a, last, delta, func(b accountant.IntervalAccountant) (accountant.Interval, error) { return b.DeltaInterval(l, e) }) {
					t.Errorf("%v: delta %v at epsilon %v, but %v at %v", l.Entries(), last, lastEpsilon, delta, e)
				}
				last, lastEpsilon = delta, e
				// Next to 1 the float64s are far apart in 1-δ, next to 0 in δ.
				if !(delta >= 1e-250 && delta <= 0.99) {
					continue
				}
				testRoundTrip(t, a, l, e, delta)
			}
		}
	}
}

// testRoundTrip asks for epsilon at the delta that was answered at epsilon. An accountant
// with bounds may choose another grid for it: then the bounds must be consistent, and 0.1 %
// apart at most.
func testRoundTrip(t *testing.T, a accountant.Accountant, l *accountant.Ledger, e, delta float64) {
	t.Helper()
	back, slack := accounttest.Epsilon(t, a, l, delta), 1e-9
	if b, ok := a.(accountant.IntervalAccountant); ok {
		slack = 1e-3
		if i, err := b.EpsilonInterval(l, delta); err != nil || !(i.Lower <= e*(1+1e-9)) {
			t.Errorf("%v: delta %v at epsilon %v, where epsilon is in %v, %v", l.Entries(), delta, e, i, err)
		}
	}
	if !(back <= e*(1+slack)) {
		t.Errorf("%v: delta %v at epsilon %v, where epsilon is %v", l.Entries(), delta, e, back)
	}
}

func testIntervals(t *testing.T, a accountant.Accountant, l *accountant.Ledger, epsilon float64) {
	t.Helper()
	b, ok := a.(accountant.IntervalAccountant)
	if !ok {
		return
	}
	i, err := b.EpsilonInterval(l, 1e-6)
	if err != nil || !(i.Lower >= 0 && i.Lower <= i.Upper) || i.Upper != epsilon {
		t.Errorf("%v: epsilon %v, in %v, %v", l.Entries(), epsilon, i, err)
	}
	delta, _ := deltaOf(t, a, l, epsilon)
	i, err = b.DeltaInterval(l, epsilon)
	if err != nil || !(i.Lower >= 0 && i.Lower <= i.Upper) || i.Upper != delta {
		t.Errorf("%v: delta %v at epsilon %v, in %v, %v", l.Entries(), delta, epsilon, i, err)
	}
	// What was answered at 1e-6 is not refuted by the lower bound at that epsilon.
	if !(i.Lower <= 1e-6) {
		t.Errorf("%v: delta at epsilon %v is at least %v, not 1e-6", l.Entries(), epsilon, i.Lower)
	}
}
