package theorems

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/tiny"
)

func newCompositions(t testing.TB, r accountant.Relation) (basic, advanced, optimal accountant.Accountant) {
	return tiny.Must(NewBasic(r))(t), tiny.Must(NewAdvanced(r))(t), tiny.Must(NewOptimal(r))(t)
}

// On a ledger of (ε, δ) the accountants are the theorems.
func TestCompositionOfGuarantees(t *testing.T) {
	basic, advanced, optimal := newCompositions(t, accountant.AddOrRemoveOne)
	const delta = 1e-5
	for _, entries := range [][]accountant.Entry{
		{{Event: accountant.ApproxDP{Epsilon: 0.1, Delta: 1e-8}, Count: 100}},
		{{Event: accountant.ApproxDP{Epsilon: 1, Delta: 0}, Count: 7}},
		{{Event: accountant.ApproxDP{Epsilon: 0.01, Delta: 1e-12}, Count: 100_000}},
		{{Event: accountant.ApproxDP{Epsilon: 0.1, Delta: 1e-8}, Count: 50}, {Event: accountant.ApproxDP{Epsilon: 0.3, Delta: 1e-7}, Count: 9}, {Event: accountant.ApproxDP{Epsilon: 0.07, Delta: 0}, Count: 30}},
	} {
		l := accounttest.Ledger(t, entries...)
		var gs []guarantee
		sum := 0.0
		for _, entry := range entries {
			e := entry.Event.(accountant.ApproxDP)
			sum += float64(entry.Count) * e.Epsilon
			for range entry.Count {
				gs = append(gs, guarantee{e.Epsilon, e.Delta})
			}
		}
		closed, best := questionAbout(gs, delta).closedForm(), questionAbout(gs, delta).optimal()
		for _, tt := range []struct {
			a    accountant.Accountant
			want float64
		}{{basic, sum}, {advanced, closed}, {optimal, best}} {
			if got := accounttest.Epsilon(t, tt.a, l, delta); accounttest.Relative(got, tt.want) > 1e-9 {
				t.Errorf("%s: %v gives %v, want %v", tt.a.Name(), entries, got, tt.want)
			}
		}
		if !(best <= closed && closed <= sum*(1+1e-12)) {
			t.Errorf("%v: optimal %v, closed %v, sum %v", entries, best, closed, sum)
		}
	}
}

// One release costs what its mechanism costs at all of δ.
func TestCompositionOfOneRelease(t *testing.T) {
	const delta = 1e-6
	gaussian := func(sigma, delta float64) float64 {
		return tiny.Must(GaussianEpsilon(sigma, delta))(t)
	}
	amplified := func(q, e float64) float64 { return math.Log1p(q * math.Expm1(e)) }
	for _, tt := range []struct {
		event accountant.Event
		r     accountant.Relation
		want  float64
	}{
		{accountant.ApproxDP{Epsilon: 1.5, Delta: 1e-6}, accountant.AddOrRemoveOne, 1.5}, // the very delta that is asked about
		{accountant.ApproxDP{Epsilon: 1.5, Delta: 1.1e-6}, accountant.AddOrRemoveOne, math.Inf(1)},
		{accountant.ApproxDP{Epsilon: 1.5, Delta: 0}, accountant.ReplaceOne, 1.5},
		{accountant.Laplace{Scale: 4}, accountant.AddOrRemoveOne, 0.25},
		{accountant.Laplace{Scale: 4}, accountant.ZeroOut, 0.25},
		{accountant.DiscreteLaplace{Scale: 4, Sensitivity: 3}, accountant.ReplaceOne, 0.5},
		{accountant.BoundedRange{Range: 0.25}, accountant.AddOrRemoveOne, 0.25},
		{accountant.BoundedRange{Range: 0.25}, accountant.ReplaceOne, 0.5},
		{accountant.AddOrRemoveDP{Epsilon: 0.25}, accountant.ZeroOut, 0.25},
		{accountant.AddOrRemoveDP{Epsilon: 0.25}, accountant.ReplaceOne, 0.5},
		{accountant.Laplace{Scale: 4}, accountant.ReplaceOne, 0.5},
		{accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 2}, accountant.ReplaceOne, math.Log(3)}, // ¾ to ¼
		{accountant.RandomizedResponse{NoiseProbability: 0.4, Buckets: 5}, accountant.ReplaceOne, math.Log(0.68 / 0.08)},
		{accountant.ZCDP{Rho: 0.1}, accountant.ZeroOut, 0.1 + 2*math.Sqrt(0.1*math.Log(1e6))},
		{accountant.Gaussian{NoiseMultiplier: 2}, accountant.AddOrRemoveOne, gaussian(2, delta)},
		{accountant.Gaussian{NoiseMultiplier: 2}, accountant.ZeroOut, gaussian(2, delta)},
		{accountant.Gaussian{NoiseMultiplier: 2}, accountant.ReplaceOne, gaussian(1, delta)},
		{accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 2}}, accountant.AddOrRemoveOne, amplified(0.01, gaussian(2, delta/0.01))},
		{accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 2}}, accountant.ZeroOut, amplified(0.01, gaussian(2, delta/0.01))},
		{accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 2}}, accountant.ReplaceOne, amplified(0.01, gaussian(1, delta/0.01))},
		{accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Laplace{Scale: 0.5}}, accountant.AddOrRemoveOne, amplified(0.01, 2)},
		{accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Laplace{Scale: 0.5}}, accountant.ReplaceOne, amplified(0.01, 4)},
		{accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.ApproxDP{Epsilon: 2, Delta: 1e-5}}, accountant.AddOrRemoveOne, amplified(0.01, 2)},
		{accountant.PoissonSampled{SamplingProbability: 1e-7, Event: accountant.Gaussian{NoiseMultiplier: 2}}, accountant.AddOrRemoveOne, 0}, // δ is above the chance to be sampled
		{accountant.FixedSizeSampled{DatasetSize: 1000, BatchSize: 10, Event: accountant.Gaussian{NoiseMultiplier: 2}}, accountant.ReplaceOne, amplified(0.01, gaussian(1, delta/0.01))},
		{accountant.FixedSizeSampled{DatasetSize: 1000, BatchSize: 10, Event: accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 2}}, accountant.ReplaceOne, amplified(0.01, math.Log(3))},
	} {
		basic, advanced, optimal := newCompositions(t, tt.r)
		l := accounttest.Ledger(t, accountant.Entry{Event: tt.event, Count: 1})
		got := accounttest.Epsilon(t, basic, l, delta)
		if got != tt.want && !(got >= tt.want*(1-1e-14) && got <= tt.want*(1+1e-10)) {
			t.Errorf("%v under %v: %v, want %v", tt.event, tt.r, got, tt.want)
		}
		if e := accounttest.Epsilon(t, advanced, l, delta); e != got {
			t.Errorf("%v under %v: advanced composition answers %v, basic %v", tt.event, tt.r, e, got)
		}
		// Of (ε, 0) a δ of 1e-6 can spare about 1e-6 at most.
		if e := accounttest.Epsilon(t, optimal, l, delta); !(e >= got-1e-5 && e <= got) && e != got {
			t.Errorf("%v under %v: optimal composition answers %v, basic %v", tt.event, tt.r, e, got)
		}
	}
}

// The deltas of all releases add up, rounded up: what they leave of δ must not be below 0.
func TestCompositionAddsDeltas(t *testing.T) {
	if got := questionAbout([]guarantee{{0.1, 0.5}, {0.1, 0x1p-55}}, 0.5).basic(); !math.IsInf(got, 1) {
		t.Errorf("deltas of 1/2 and 2^-55 at δ=1/2: found %v, want none", got)
	}
	basic, advanced, optimal := newCompositions(t, accountant.AddOrRemoveOne)
	for _, tt := range []struct {
		delta, want float64
	}{{0.99e-7, 10}, {1.01e-7, math.Inf(1)}} {
		for name, l := range map[string]*accountant.Ledger{
			"one entry":   accounttest.Ledger(t, accountant.Entry{Event: accountant.ApproxDP{Epsilon: 0.1, Delta: tt.delta}, Count: 100}),
			"two entries": accounttest.Ledger(t, accountant.Entry{Event: accountant.ApproxDP{Epsilon: 0.1, Delta: tt.delta}, Count: 60}, accountant.Entry{Event: accountant.Laplace{Scale: 1e300}, Count: 1}, accountant.Entry{Event: accountant.ApproxDP{Epsilon: 0.1, Delta: tt.delta}, Count: 40}),
			"composed":    accounttest.Ledger(t, accountant.Entry{Event: accountant.SelfComposed{Event: accountant.ApproxDP{Epsilon: 0.1, Delta: tt.delta}, Count: 50}, Count: 2}),
		} {
			if got := accounttest.Epsilon(t, basic, l, 1e-5); got != tt.want && !(accounttest.Relative(got, tt.want) < 1e-12) {
				t.Errorf("%s: 100 deltas of %v at δ=1e-5: basic composition answers %v, want %v", name, tt.delta, got, tt.want)
			}
			for _, a := range []accountant.Accountant{advanced, optimal} {
				if got := accounttest.Epsilon(t, a, l, 1e-5); got > tt.want*(1+1e-12) || math.IsInf(tt.want, 1) && !math.IsInf(got, 1) {
					t.Errorf("%s: 100 deltas of %v at δ=1e-5: %s composition answers %v, basic %v", name, tt.delta, a.Name(), got, tt.want)
				}
			}
		}
	}
}

// What the deltas of some releases leave of δ, others share: all of it for basic composition, half
// of it for the other theorems.
func TestCompositionSharesWhatIsLeft(t *testing.T) {
	basic, advanced, optimal := newCompositions(t, accountant.AddOrRemoveOne)
	l := accounttest.Ledger(t, accountant.Entry{Event: accountant.ApproxDP{Epsilon: 0.1, Delta: 5e-8}, Count: 100}, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 20}, Count: 4})
	one := tiny.Must(GaussianEpsilon(20, 5e-6/4))(t)
	if got, want := accounttest.Epsilon(t, basic, l, 1e-5), 10+4*one; !(got >= want*(1-1e-12) && got <= want*(1+1e-9)) {
		t.Errorf("%v, want %v", got, want)
	}

	const n, sigma, delta = 300, 200.0, 1e-5
	each := guarantee{tiny.Must(GaussianEpsilon(sigma, delta/2/n))(t), delta / 2 / n}
	closed, best := questionAbout(slices.Repeat([]guarantee{each}, n), delta).closedForm(), newQuestion([]counted{{each, n}}, delta).optimal()
	many := accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: sigma}, Count: n})
	if got := accounttest.Epsilon(t, advanced, many, delta); accounttest.Relative(got, closed) > 1e-9 {
		t.Errorf("advanced composition answers %v, want %v", got, closed)
	}
	if got := accounttest.Epsilon(t, optimal, many, delta); accounttest.Relative(got, best) > 1e-9 {
		t.Errorf("optimal composition answers %v, want %v", got, best)
	}
}

// The profile of one Poisson-sampled Gaussian release is q times the profile of the release at
// log(1 + (e^ε-1)/q) (Balle, Barthe, Gaboardi 2018, Theorem 8, which is tight), so that "basic" is
// exact for it.
func TestCompositionOfOneSampledGaussianIsExact(t *testing.T) {
	basic, _, _ := newCompositions(t, accountant.AddOrRemoveOne)
	const q, sigma = 0.02, 0.8
	l := accounttest.Ledger(t, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, Count: 1})
	for _, e := range []float64{0.01, 0.1, 1, 3} {
		inside := tiny.Must(GaussianDelta(sigma, math.Log1p(math.Expm1(e)/q)))(t)
		if got := accounttest.Epsilon(t, basic, l, q*inside); accounttest.Relative(got, e) > 1e-9 {
			t.Errorf("ε=%v at δ=%v, want %v", got, q*inside, e)
		}
		if g, err := basic.Delta(l, e); err != nil || accounttest.Relative(g.Delta, q*inside) > 1e-8 {
			t.Errorf("δ=%v at ε=%v, %v, want %v", g.Delta, e, err, q*inside)
		}
	}
}

func TestCompositionRefuses(t *testing.T) {
	for _, r := range []accountant.Relation{accountant.AddOrRemoveOne, accountant.ReplaceOne, accountant.ZeroOut} {
		for _, e := range []accountant.Event{
			accountant.PoissonSampledGroup{SamplingProbability: 0.1, GroupSize: 2, Event: accountant.Gaussian{NoiseMultiplier: 1}},
			accountant.TruncatedPoissonSampled{DatasetSize: 10, SamplingProbability: 0.1, MaxBatchSize: 2, Event: accountant.Gaussian{NoiseMultiplier: 1}},
			accountant.TreeAggregation{NoiseMultiplier: 1, Steps: 2},
			accountant.RepeatAndSelect{Event: accountant.Gaussian{NoiseMultiplier: 1}, Mean: 2, Shape: 1},
			accountant.PoissonSampled{SamplingProbability: 0.5, Event: accountant.RepeatAndSelect{Event: accountant.Gaussian{NoiseMultiplier: 1}, Mean: 2, Shape: 1}},
			accountant.FixedSizeSampled{DatasetSize: 10, BatchSize: 1, Event: accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1}}},
		} {
			testRefuses(t, e, r)
		}
	}
	// What replacing a record costs says nothing about a sample that has it or has not.
	for _, e := range []accountant.Event{accountant.ApproxDP{Epsilon: 1, Delta: 0}, accountant.ZCDP{Rho: 1}, accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 2}} {
		testRefuses(t, accountant.PoissonSampled{SamplingProbability: 0.5, Event: e}, accountant.ReplaceOne)
		testRefuses(t, accountant.PoissonSampled{SamplingProbability: 0.5, Event: e}, accountant.ZeroOut)
	}
	for _, r := range []accountant.Relation{accountant.AddOrRemoveOne, accountant.ZeroOut} {
		testRefuses(t, accountant.FixedSizeSampled{DatasetSize: 10, BatchSize: 1, Event: accountant.Gaussian{NoiseMultiplier: 1}}, r)
		testRefuses(t, accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 2}, r)
	}
}

func testRefuses(t *testing.T, e accountant.Event, r accountant.Relation) {
	t.Helper()
	_, _, a := newCompositions(t, r)
	l := accounttest.Ledger(t, accountant.Entry{Event: e, Count: 1})
	if g, err := a.Guarantee(l, 1e-5); !errors.Is(err, accountant.ErrUnsupported) {
		t.Errorf("%v under %v: %v, %v, want ErrUnsupported", e, r, g, err)
	}
	if g, err := a.Delta(l, 1); !errors.Is(err, accountant.ErrUnsupported) {
		t.Errorf("delta of %v under %v: %v, %v, want ErrUnsupported", e, r, g, err)
	}
}

// Counts are numbers, not lists: ten thousand million releases take no longer than one.
func TestCompositionOfManyReleases(t *testing.T) {
	basic, advanced, optimal := newCompositions(t, accountant.AddOrRemoveOne)
	for _, l := range []*accountant.Ledger{
		accounttest.Ledger(t, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: 0.001, Event: accountant.Gaussian{NoiseMultiplier: 20}}, Count: 10_000_000_000}),
		accounttest.Ledger(t, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: 0.001, Event: accountant.Gaussian{NoiseMultiplier: 20}}, Count: 10_000_000_000}, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 100}, Count: 3}, accountant.Entry{Event: accountant.Laplace{Scale: 1e5}, Count: 10_000_000_000}),
	} {
		b, a, o := accounttest.Epsilon(t, basic, l, 1e-5), accounttest.Epsilon(t, advanced, l, 1e-5), accounttest.Epsilon(t, optimal, l, 1e-5)
		if !(o <= a && a < b && o > 0) {
			t.Errorf("%v: optimal %v, advanced %v, basic %v", l.Entries(), o, a, b)
		}
	}
}

func TestCompositionDelta(t *testing.T) {
	basic, advanced, optimal := newCompositions(t, accountant.AddOrRemoveOne)
	for _, a := range []accountant.Accountant{basic, advanced, optimal} {
		pure := accounttest.Ledger(t, accountant.Entry{Event: accountant.Laplace{Scale: 10}, Count: 30}) // ε = 3 at δ = 0
		if g, err := a.Delta(pure, 3.0000001); err != nil || g.Delta != 0 {
			t.Errorf("%s: %v, %v, want delta 0", a.Name(), g, err)
		}
		mixed := accounttest.Ledger(t, accountant.Entry{Event: accountant.Laplace{Scale: 10}, Count: 30}, accountant.Entry{Event: accountant.ApproxDP{Epsilon: 0, Delta: 1e-4}, Count: 1})
		if g, err := a.Delta(mixed, 3.0000001); err != nil || g.Delta < 1e-4 || g.Delta > 1e-4*(1+1e-8) {
			t.Errorf("%s: %v, %v, want delta 1e-4", a.Name(), g, err)
		}
		if a == basic {
			continue
		}
		g, err := a.Delta(pure, 2) // below the sum
		if err != nil || !(g.Delta > 0 && g.Delta < 0.1) || accounttest.Epsilon(t, a, pure, g.Delta) > 2 {
			t.Errorf("%s: %v, %v, want a delta at ε=2", a.Name(), g, err)
		}
		if less := accounttest.Epsilon(t, a, pure, g.Delta*(1-1e-8)); less <= 2 {
			t.Errorf("%s: δ=%v, but 1e-8 less gives ε=%v still", a.Name(), g.Delta, less)
		}
	}
}

// Every answer is a number of at least 0, and every delta at most 1, whatever the valid arguments.
func TestAnswersAreNumbers(t *testing.T) {
	for _, e := range []float64{0, 5e-324, 1e-300, 1e-9, 0.1, 1, 50, 800, 1e10, 1e300, math.MaxFloat64, math.Inf(1)} {
		for _, d := range []float64{0, 5e-324, 1e-300, 1e-16, 1e-5, 0.5, 1 - 0x1p-53, 1} {
			g := guarantee{e, d}
			for _, x := range []float64{0, 5e-324, 1e-300, 1e-16, 1e-5, 0.5, 1 - 0x1p-53, 1} {
				for _, k := range []int{1, 2, 1000, 1 << 50} {
					if got := optimal(g, k, x); !(got >= 0) {
						t.Errorf("optimal of (%v, %v), k=%d, %v: %v", e, d, k, x, got)
					}
				}
				q := questionAbout([]guarantee{g, {0.5, 0}, {0.75, 0}}, x)
				if got, closed := q.optimal(), q.closedForm(); !(got >= 0 && got <= closed) {
					t.Errorf("optimal of (%v, %v) and others, %v: %v, closed form %v", e, d, x, got, closed)
				}
				if got := sampledCost(fixedCost(e, d), x, x).at(0); !(got.Epsilon >= 0 && got.Delta >= 0 && got.Delta <= 1) {
					t.Errorf("sample of (%v, %v), q=%v: %v", e, d, x, got)
				}
			}
		}
	}
}

// What a sample costs, from what its release costs.
func TestSampledCost(t *testing.T) {
	near := func(a, b, tolerance float64) bool { return a == b || math.Abs(a-b) <= tolerance*math.Abs(b) }
	for _, tt := range []struct {
		name string
		g    guarantee
		q    float64
		want guarantee
	}{
		{"everyone", guarantee{0.3, 1e-6}, 1, guarantee{0.3, 1e-6}},
		{"half", guarantee{math.Log(3), 1e-6}, 0.5, guarantee{math.Ln2, 5e-7}},
		{"small", guarantee{1e-10, 0}, 1e-10, guarantee{1.00000000005e-20, 0}},
		{"overflow", guarantee{1000, 0}, 0.25, guarantee{1000 - 2*math.Ln2, 0}},
		{"no guarantee", guarantee{math.Inf(1), 0.5}, 0.5, guarantee{math.Inf(1), 0.25}},
	} {
		got := sampledCost(fixedCost(tt.g.Epsilon, tt.g.Delta), tt.q, tt.q).at(0)
		if !near(got.Epsilon, tt.want.Epsilon, 1e-14) || !near(got.Delta, tt.want.Delta, 1e-15) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	// Theorem 8 is tight: the randomized response whether a record is in the sample has exactly
	// this ε.
	for _, e := range []float64{0.01, 1, 5} {
		for _, q := range []float64{0.001, 0.3, 0.9} {
			truth, lie := 1/(1+math.Exp(-e)), 1/(1+math.Exp(e))
			if want, got := math.Log((q*truth+(1-q)*lie)/lie), sampledEpsilon(e, q); !(math.Abs(got-want) <= 1e-14) {
				t.Errorf("ε=%v, q=%v: epsilon %v, randomized response has %v", e, q, got, want)
			}
		}
	}
}

// Every argument outside its range is an error that matches ErrInvalid, in one line that says what
// was found, and the number that comes with it is 0. NaN is never valid.
func TestInvalidArguments(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	notPositive, notEpsilon := []float64{0, -1, inf, nan}, []float64{-1e-9, inf, nan}
	notDelta := []float64{-1e-9, 0, 1, 2, inf, nan}
	for _, tt := range []struct {
		name string
		bad  []float64
		f    func(x float64) (float64, error)
	}{
		{"GaussianDelta σ", notPositive, func(x float64) (float64, error) { return GaussianDelta(x, 1) }},
		{"GaussianDelta ε", notEpsilon, func(x float64) (float64, error) { return GaussianDelta(1, x) }},
		{"GaussianEpsilon σ", notPositive, func(x float64) (float64, error) { return GaussianEpsilon(x, 0.1) }},
		{"GaussianEpsilon δ", notDelta, func(x float64) (float64, error) { return GaussianEpsilon(1, x) }},
		{"GaussianNoiseMultiplier ε", []float64{-1e-9, inf, nan, 1e300}, func(x float64) (float64, error) { return GaussianNoiseMultiplier(x, 0.1) }},
		{"GaussianNoiseMultiplier δ", notDelta, func(x float64) (float64, error) { return GaussianNoiseMultiplier(1, x) }},
		{"GaussianNoiseMultiplier out of reach", []float64{tinyFloat}, func(x float64) (float64, error) { return GaussianNoiseMultiplier(0, x) }},
		{"LaplaceScale ε", []float64{0, -1, inf, nan, tinyFloat}, LaplaceScale},
		{"Shuffle ε", notEpsilon, func(x float64) (float64, error) { return Shuffle(x, 10, 1e-5) }},
		{"Shuffle n", []float64{0, -1, 1 << 50}, func(x float64) (float64, error) { return Shuffle(1, int(x), 1e-5) }},
		{"Shuffle δ", []float64{-1, 1.5, nan}, func(x float64) (float64, error) { return Shuffle(1, 10, x) }},
		{"ShuffleResponse ε", notEpsilon, func(x float64) (float64, error) { return ShuffleResponse(x, 3, 10, 1e-5) }},
		{"ShuffleResponse k", []float64{1, 0, 1 << 50}, func(x float64) (float64, error) { return ShuffleResponse(1, int(x), 10, 1e-5) }},
	} {
		for _, x := range tt.bad {
			got, err := tt.f(x)
			if !errors.Is(err, accountant.ErrInvalid) || got != 0 || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s with %v: %v, %v, want 0 and a line that matches ErrInvalid", tt.name, x, got, err)
			}
		}
	}
}
