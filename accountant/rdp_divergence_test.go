package accountant

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dpsgd/accountant/internal/pair"
)

// Computed with mpmath 1.3.0 at 40 to 50 digits: trapezoid sums, and Gauss-Legendre
// panels for Laplace noise, of A^α B^(1-α) - 1 - α(A-1) + (α-1)(B-1).
func TestDivergenceGoldenOfOtherPairs(t *testing.T) {
	replaced := func(q, sigma float64) divergence { return mixtureDivergence(pair.Replaced(q, sigma)) }
	removed := func(q float64, k int, sigma float64) divergence {
		return mixtureDivergence(pair.RemovedGroup(q, k, sigma))
	}
	added := func(q float64, k int, sigma float64) divergence {
		return mixtureDivergence(pair.RemovedGroup(q, k, sigma).Reversed())
	}
	for _, tt := range []struct {
		name        string
		d           divergence
		alpha, want float64
	}{
		{"replaced, q=0.01 σ=1", replaced(0.01, 1), 8.5, 0.0022541688328101822165},
		{"replaced, q=1e-4 σ=0.5", replaced(1e-4, 0.5), 3.25, 1.7830776917705438419e-6},
		{"replaced, q=0.5 σ=20", replaced(0.5, 20), 64, 0.079950187913520958802},
		{"replaced, q=0.9 σ=2", replaced(0.9, 2), 1.01, 0.39898654459494520875},
		{"5 removed, q=0.01 σ=2", removed(0.01, 5, 2), 7.5, 0.00295902037447443107},
		{"5 added, q=0.01 σ=2", added(0.01, 5, 2), 7.5, 0.0023906135165410592984},
		{"3 removed, q=0.3 σ=4", removed(0.3, 3, 4), 20, 2.0546165088631473742},
		{"3 added, q=0.3 σ=4", added(0.3, 3, 4), 20, 0.2984028961425706247},
		{"8 removed, q=1e-5 σ=1", removed(1e-5, 8, 1), 1.5, 8.2478534118297210207e-9},
		{"8 added, q=1e-5 σ=1", added(1e-5, 8, 1), 1.5, 8.244291206836092635e-9},
		{"Laplace, q=0.01 b=1", sampledLaplaceDivergence(0.01, 1), 8.5, 0.00037218229638231282966},
		{"Laplace, q=0.5 b=0.2", sampledLaplaceDivergence(0.5, 0.2), 3, 3.7161200636935415612},
		{"Laplace, q=1e-9 b=0.2", sampledLaplaceDivergence(1e-9, 0.2), 2.5, 1.2242765419400389157e-16},
		{"Laplace, q=0.9 b=10", sampledLaplaceDivergence(0.9, 10), 1.01, 0.0039575175097990989897},
	} {
		if got := tt.d(tt.alpha); !(relative(got, tt.want) < relativeError) {
			t.Errorf("%s α=%v: %v, want %v (relative error %.1e)", tt.name, tt.alpha, got, tt.want, relative(got, tt.want))
		}
	}
}

// The general sum knows nothing of the one for P = (1-q) N(0) + q N(1) and Q = N(0).
func TestMixturesAgreeWithThePoissonPair(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for range 300 {
		q, sigma := randomEvent(rng)
		sigma = max(sigma, 0.2)
		alpha := 1.01 + math.Exp(8*rng.Float64()-4)
		got, want := mixtureDivergence(pair.Removed(q, sigma))(alpha), poissonGaussianDivergence(q, sigma, alpha)
		if !(relative(got, want) < relativeError) {
			t.Fatalf("q=%v σ=%v α=%v: %v, want %v", q, sigma, alpha, got, want)
		}
	}
}

// sampleOf returns an event of every kind with q and σ, and the relation it is defined for.
func sampleOf(q, sigma float64) map[Event]Relation {
	n := 100000
	return map[Event]Relation{
		PoissonSampled{q, Gaussian{sigma}}:                                               ReplaceOne,
		PoissonSampled{q, Laplace{sigma}}:                                                AddOrRemoveOne,
		PoissonSampledGroup{q, 4, Gaussian{sigma}}:                                       AddOrRemoveOne,
		FixedSizeSampled{n, int(math.Ceil(q * float64(n))), Gaussian{sigma}}:             ReplaceOne,
		TruncatedPoissonSampled{n, q, int(math.Ceil(q*float64(n)) + 9), Gaussian{sigma}}: ZeroOut,
	}
}

// Divergences rise with α and 1/σ, are positive and finite, and at most what the release
// costs without the sampling: for groups and cut samples the one of 4 records.
func TestSampledDivergencesAreMonotoneAndBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	for range 60 {
		q := math.Exp(-12 * rng.Float64())
		sigma := math.Exp(5*rng.Float64() - 1.5)
		alpha := 1.01 + math.Exp(7*rng.Float64()-3)
		larger, smaller := alpha*(1+rng.Float64()), sigma*(1-0.2*rng.Float64())
		less := sampleOf(q, smaller)
		for e, r := range sampleOf(q, sigma) {
			d, err := divergenceOf(e, r, nil)
			if err != nil {
				t.Fatal(err)
			}
			x := d(alpha)
			top := 16 * alpha / (2 * sigma * sigma)
			if p, ok := e.(PoissonSampled); ok {
				if _, ok := p.Event.(Laplace); ok {
					top = 1 / sigma
				}
			}
			if !(x > 0 && x <= top) {
				t.Fatalf("%v α=%v: %v, want above 0 and at most %v", e, alpha, x, top)
			}
			if more := d(larger); !(more >= x*(1-relativeError)) {
				t.Fatalf("%v: %v at α=%v, and %v at %v", e, x, alpha, more, larger)
			}
			for other := range less {
				if o, err := divergenceOf(other, r, nil); err == nil && sameKind(e, other) && !(o(alpha) >= x*(1-relativeError)) {
					t.Fatalf("α=%v: %v costs %v, %v costs %v", alpha, e, x, other, o(alpha))
				}
			}
		}
	}
}

func sameKind(a, b Event) bool {
	kind := func(e Event) string {
		if p, ok := e.(PoissonSampled); ok {
			return strings.Fields(p.Event.String())[0][:3]
		}
		return sourceOf(e)
	}
	return kind(a) == kind(b)
}

// What can be computed in two ways.
func TestDivergencesThatAgree(t *testing.T) {
	divergenceAt := func(r Relation, e Event, alpha float64) float64 {
		t.Helper()
		d, err := rdpUnder(t, r, DefaultOrders()).Divergence(e, alpha)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const never = 100000 // of 100000 records: no batch is cut
	for _, alpha := range []float64{1.01, 1.7, 2, 15.5, 64} {
		for _, tt := range []struct {
			name   string
			r1     Relation
			e1     Event
			r2     Relation
			e2     Event
			factor float64
		}{
			{"zero-out is leaving out", ZeroOut, PoissonSampled{0.1, Gaussian{2}}, AddOrRemoveOne, PoissonSampled{0.1, Gaussian{2}}, 1},
			{"a replacement is twice as far", ReplaceOne, Gaussian{2}, AddOrRemoveOne, Gaussian{1}, 1},
			{"Laplace too", ReplaceOne, Laplace{2}, ZeroOut, Laplace{1}, 1},
			{"sample of everything", ReplaceOne, PoissonSampled{1, Gaussian{3}}, ReplaceOne, Gaussian{3}, 1},
			{"fixed sample of everything", ReplaceOne, FixedSizeSampled{50, 50, Gaussian{3}}, ReplaceOne, Gaussian{3}, 1},
			{"never cut", AddOrRemoveOne, TruncatedPoissonSampled{never, 0.1, never, Gaussian{2}}, AddOrRemoveOne, PoissonSampled{0.1, Gaussian{2}}, 1},
			{"group of one", AddOrRemoveOne, PoissonSampledGroup{0.1, 1, Gaussian{2}}, AddOrRemoveOne, PoissonSampled{0.1, Gaussian{2}}, 1},
			{"group without sampling", AddOrRemoveOne, PoissonSampledGroup{1, 4, Gaussian{2}}, AddOrRemoveOne, Gaussian{0.5}, 1},
			{"binary response", ReplaceOne, RandomizedResponse{0.5, 2}, AddOrRemoveOne, ApproxDP{Epsilon: math.Log(3)}, 1},
			{"zCDP", AddOrRemoveOne, ZCDP{0.125}, AddOrRemoveOne, Gaussian{2}, 1},
			{"tree of one step", ZeroOut, TreeAggregation{2, 1}, ZeroOut, Gaussian{2}, 1},
			{"tree of four", ZeroOut, TreeAggregation{2, 4}, ZeroOut, Gaussian{2}, 3},
			{"self-composition", AddOrRemoveOne, SelfComposed{Gaussian{2}, 7}, AddOrRemoveOne, Gaussian{2}, 7},
			{"best of one", AddOrRemoveOne, RepeatAndSelect{Gaussian{2}, 1, 0.5}, AddOrRemoveOne, Gaussian{2}, 1},
		} {
			got, want := divergenceAt(tt.r1, tt.e1, alpha), tt.factor*divergenceAt(tt.r2, tt.e2, alpha)
			if !(relative(got, want) < 1e-11) {
				t.Errorf("%s: α=%v: %v costs %v, %v × %v costs %v", tt.name, alpha, tt.e1, got, tt.factor, tt.e2, want)
			}
		}
	}
}

// Where the noise is so small that a sampled divergence cannot be computed, the one of the release
// on everything is the answer.
func TestDivergenceOfLittleNoiseIsTheUnsampledOne(t *testing.T) {
	const sigma, alpha = 1e-6, 2.5
	for _, tt := range []struct {
		relation Relation
		event    Event
		want     float64
	}{
		{AddOrRemoveOne, PoissonSampled{0.5, Gaussian{sigma}}, alpha / sigma / (2 * sigma)},
		{ZeroOut, PoissonSampled{0.5, Gaussian{sigma}}, alpha / sigma / (2 * sigma)},
		{ReplaceOne, PoissonSampled{0.5, Gaussian{sigma}}, 4 * alpha / sigma / (2 * sigma)},
		{AddOrRemoveOne, PoissonSampledGroup{0.5, 3, Gaussian{sigma}}, 9 * alpha / sigma / (2 * sigma)},
	} {
		d, err := divergenceOf(tt.event, tt.relation, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := d(alpha); !(relative(got, tt.want) < 1e-12) {
			t.Errorf("%v under %v: %v, want %v", tt.event, tt.relation, got, tt.want)
		}
	}
}

// A divergence below the range of float64 is not 0: what was released is not free.
func TestDivergenceIsNeverFree(t *testing.T) {
	for _, e := range []Event{Gaussian{1e200}, PoissonSampled{1e-200, Gaussian{1}}, PoissonSampled{1e-200, Laplace{1}}, ZCDP{5e-324}} {
		r := newRDP(t, []float64{1.5, 2})
		if d, err := r.Divergence(e, 1.5); err != nil || !(d > 0 && d < 1e-300) {
			t.Errorf("%v: divergence %v, %v, want one above 0", e, d, err)
		}
		if g, err := r.Delta(mustLedger(t, Entry{e, 1}), 1); err != nil || !(g.Delta > 0) {
			t.Errorf("%v: delta %v, %v, want one above 0", e, g.Delta, err)
		}
	}
}

func TestRDPRefusesWhatItCannotAnalyse(t *testing.T) {
	for _, tt := range []struct {
		r Relation
		e Event
	}{
		{AddOrRemoveOne, RandomizedResponse{0.5, 4}},
		{ZeroOut, RandomizedResponse{0.5, 4}},
		{AddOrRemoveOne, ApproxDP{1, 1e-9}},
		{AddOrRemoveOne, TreeAggregation{1, 5}},
		{ReplaceOne, TreeAggregation{1, 5}},
		{AddOrRemoveOne, FixedSizeSampled{10, 2, Gaussian{1}}},
		{ZeroOut, FixedSizeSampled{10, 2, Gaussian{1}}},
		{ReplaceOne, FixedSizeSampled{10, 2, Laplace{1}}},
		{ReplaceOne, PoissonSampled{0.1, Laplace{1}}},
		{ReplaceOne, PoissonSampledGroup{0.1, 2, Gaussian{1}}},
		{AddOrRemoveOne, PoissonSampledGroup{0.1, 2, Laplace{1}}},
		{ReplaceOne, TruncatedPoissonSampled{10, 0.1, 2, Gaussian{1}}},
		{AddOrRemoveOne, PoissonSampled{0.1, ZCDP{1}}},
		{AddOrRemoveOne, PoissonSampled{0.1, PoissonSampled{0.1, Gaussian{1}}}},
		{AddOrRemoveOne, RepeatAndSelect{ApproxDP{1, 1e-9}, 10, 1}},
	} {
		r := rdpUnder(t, tt.r, DefaultOrders())
		_, err := r.Guarantee(mustLedger(t, Entry{Gaussian{1}, 1}, Entry{tt.e, 1}), 1e-5)
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), tt.r.String()) {
			t.Errorf("%v under %v: %v, want ErrUnsupported with both", tt.e, tt.r, err)
		}
		if _, err := r.Divergence(tt.e, 2); !errors.Is(err, ErrUnsupported) {
			t.Errorf("Divergence of %v under %v: %v, want ErrUnsupported", tt.e, tt.r, err)
		}
	}
	if _, err := NewRDP(Relation(3), DefaultOrders()); !errors.Is(err, ErrInvalid) {
		t.Errorf("relation 3: %v, want ErrInvalid", err)
	}
}

func TestDivergenceArguments(t *testing.T) {
	r := newRDP(t, DefaultOrders())
	for _, alpha := range []float64{1, 1.001, 0, -1, math.NaN(), math.Inf(1), maxOrder + 1} {
		if d, err := r.Divergence(Gaussian{1}, alpha); !errors.Is(err, ErrInvalid) {
			t.Errorf("order %v: %v, %v, want ErrInvalid", alpha, d, err)
		}
	}
	if d, err := r.Divergence(Gaussian{-1}, 2); !errors.Is(err, ErrInvalid) {
		t.Errorf("bad event: %v, %v, want ErrInvalid", d, err)
	}
	for e, want := range map[Event]float64{
		NonPrivate{}:                                 math.Inf(1),
		Gaussian{0}:                                  math.Inf(1),
		PoissonSampled{0, Gaussian{0}}:               0,
		RepeatAndSelect{NonPrivate{}, 3, 1}:          math.Inf(1),
		RepeatAndSelect{ZCDP{0}, 3, 1}:               0,
		RepeatAndSelect{ZCDP{0}, 3, math.Inf(1)}:     0,
		SelfComposed{Gaussian{1}, 0}:                 0,
		TruncatedPoissonSampled{9, 0, 2, Gaussian{}}: 0,
	} {
		if d, err := r.Divergence(e, 2); err != nil || d != want {
			t.Errorf("%v: %v, %v, want %v", e, d, err, want)
		}
	}
}

// The mean and log(1/γ) of Definition 1 of Papernot, Steinke 2022 go back and forth; the
// cost is that of Theorem 2, written out for the Gaussian, whose best order is known.
func TestSelectionOfNegativeBinomialNumber(t *testing.T) {
	for _, shape := range []float64{0, 1e-9, 0.3, 0.5, 1, 2, 50} {
		for _, mean := range []float64{1 + 1e-6, 1.5, 10, 1e6} {
			y := logOneOverGamma(mean, shape)
			got := math.Expm1(y) / y
			if shape > 0 {
				got = shape * math.Expm1(y) / -math.Expm1(-shape*y)
			}
			if !(relative(got, mean) < 1e-9) {
				t.Errorf("shape %v: log(1/γ) = %v gives a mean of %v, want %v", shape, y, got, mean)
			}
		}
	}
	const rho, mean = 0.02, 10.0
	got, err := newRDP(t, DefaultOrders()).Divergence(RepeatAndSelect{ZCDP{rho}, mean, 1}, 20)
	if err != nil {
		t.Fatal(err)
	}
	// min over λ of (1-1/λ)ρλ + log(mean)/λ is at λ² = log(mean)/ρ.
	want := 20*rho + 2*(2*math.Sqrt(rho*math.Log(mean))-rho) + math.Log(mean)/19
	if got < want || got > want*1.001 {
		t.Errorf("best of %v: %v, want %v or a little more", mean, got, want)
	}
}

// More runs cost more, the best of them at least as much as one, and the cost does not
// fall with the order.
func TestSelectionIsMonotone(t *testing.T) {
	orders := DefaultOrders()
	one := PoissonSampled{0.05, Gaussian{3}}
	for _, shape := range []float64{0, 0.5, 1, 3, math.Inf(1)} {
		before := divergence(func(float64) float64 { return 0 })
		for _, mean := range []float64{1, 1.1, 2, 10, 1000} {
			d, err := divergenceOf(RepeatAndSelect{one, mean, shape}, AddOrRemoveOne, orders)
			if err != nil {
				t.Fatal(err)
			}
			previous := 0.0
			for i := 0; i < len(orders); i += 25 {
				alpha := orders[i]
				run := poissonGaussianDivergence(0.05, 3, alpha)
				if x := d(alpha); !(x >= run && x >= before(alpha) && x >= previous) {
					t.Fatalf("shape %v mean %v α=%v: %v, one run %v, fewer runs %v, smaller order %v",
						shape, mean, alpha, x, run, before(alpha), previous)
				} else {
					previous = x
				}
			}
			before = d
		}
	}
}
