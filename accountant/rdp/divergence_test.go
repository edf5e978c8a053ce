package rdp

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/internal/pair"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
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
		if got := tt.d(tt.alpha); !(accounttest.Relative(got, tt.want) < relativeError) {
			t.Errorf("%s α=%v: %v, want %v (relative error %.1e)", tt.name, tt.alpha, got, tt.want, accounttest.Relative(got, tt.want))
		}
	}
	// The second moment of ten bins, halfway to the third one, and E[S^-3] of two; rounded up.
	for _, c := range [][2]float64{{allocationDivergence(10, 1)(2), 0.1585650787404291110}, {allocationDivergence(10, 1)(2.5), 0.2207466917832590312}, {logNegativeMoment(2, 1, 3), 3.3188909732432}} {
		if got, want := c[0], c[1]; !(got >= want && got <= want*(1+1e-9)) {
			t.Errorf("bins: %v, want %v", got, want)
		}
	}
}

// sampleOf returns an event of every kind with q and σ, and the relation it is defined for.
func sampleOf(q, sigma float64) map[accountant.Event]accountant.Relation {
	n := 100000
	return map[accountant.Event]accountant.Relation{
		accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}:                                                                          accountant.ReplaceOne,
		accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Laplace{Scale: sigma}}:                                                                                     accountant.AddOrRemoveOne,
		accountant.PoissonSampledGroup{SamplingProbability: q, GroupSize: 4, Event: accountant.Gaussian{NoiseMultiplier: sigma}}:                                                       accountant.AddOrRemoveOne,
		accountant.FixedSizeSampled{DatasetSize: n, BatchSize: int(math.Ceil(q * float64(n))), Event: accountant.Gaussian{NoiseMultiplier: sigma}}:                                     accountant.ReplaceOne,
		accountant.TruncatedPoissonSampled{DatasetSize: n, SamplingProbability: q, MaxBatchSize: int(math.Ceil(q*float64(n)) + 9), Event: accountant.Gaussian{NoiseMultiplier: sigma}}: accountant.ZeroOut,
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
			d := tiny.Must(divergenceOf(e, r, nil))(t)
			x := d(alpha)
			top := 16 * alpha / (2 * sigma * sigma)
			if p, ok := e.(accountant.PoissonSampled); ok {
				if _, ok := p.Event.(accountant.Laplace); ok {
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

func sameKind(a, b accountant.Event) bool {
	kind := func(e accountant.Event) string {
		if p, ok := e.(accountant.PoissonSampled); ok {
			return strings.Fields(p.Event.String())[0][:3]
		}
		return fmt.Sprintf("%T", e)
	}
	return kind(a) == kind(b)
}

// What can be computed in two ways.
func TestDivergencesThatAgree(t *testing.T) {
	divergenceAt := func(r accountant.Relation, e accountant.Event, alpha float64) float64 {
		t.Helper()
		return tiny.Must(rdpUnder(t, r, DefaultOrders()).Divergence(e, alpha))(t)
	}
	const never = 100000 // of 100000 records: no batch is cut
	for _, alpha := range []float64{1.01, 1.7, 2, 15.5, 64} {
		for _, tt := range []struct {
			name   string
			r1     accountant.Relation
			e1     accountant.Event
			r2     accountant.Relation
			e2     accountant.Event
			factor float64
		}{
			{"zero-out is leaving out", accountant.ZeroOut, accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 2}}, accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 2}}, 1},
			{"a replacement is twice as far", accountant.ReplaceOne, accountant.Gaussian{NoiseMultiplier: 2}, accountant.AddOrRemoveOne, accountant.Gaussian{NoiseMultiplier: 1}, 1},
			{"Laplace too", accountant.ReplaceOne, accountant.Laplace{Scale: 2}, accountant.ZeroOut, accountant.Laplace{Scale: 1}, 1},
			{"sample of everything", accountant.ReplaceOne, accountant.PoissonSampled{SamplingProbability: 1, Event: accountant.Gaussian{NoiseMultiplier: 3}}, accountant.ReplaceOne, accountant.Gaussian{NoiseMultiplier: 3}, 1},
			{"fixed sample of everything", accountant.ReplaceOne, accountant.FixedSizeSampled{DatasetSize: 50, BatchSize: 50, Event: accountant.Gaussian{NoiseMultiplier: 3}}, accountant.ReplaceOne, accountant.Gaussian{NoiseMultiplier: 3}, 1},
			{"never cut", accountant.AddOrRemoveOne, accountant.TruncatedPoissonSampled{DatasetSize: never, SamplingProbability: 0.1, MaxBatchSize: never, Event: accountant.Gaussian{NoiseMultiplier: 2}}, accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 2}}, 1},
			{"group of one", accountant.AddOrRemoveOne, accountant.PoissonSampledGroup{SamplingProbability: 0.1, GroupSize: 1, Event: accountant.Gaussian{NoiseMultiplier: 2}}, accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 2}}, 1},
			{"group without sampling", accountant.AddOrRemoveOne, accountant.PoissonSampledGroup{SamplingProbability: 1, GroupSize: 4, Event: accountant.Gaussian{NoiseMultiplier: 2}}, accountant.AddOrRemoveOne, accountant.Gaussian{NoiseMultiplier: 0.5}, 1},
			{"binary response", accountant.ReplaceOne, accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 2}, accountant.AddOrRemoveOne, accountant.ApproxDP{Epsilon: math.Log(3)}, 1},
			{"zCDP", accountant.AddOrRemoveOne, accountant.ZCDP{Rho: 0.125}, accountant.AddOrRemoveOne, accountant.Gaussian{NoiseMultiplier: 2}, 1},
			{"tree of one step", accountant.ZeroOut, accountant.TreeAggregation{NoiseMultiplier: 2, Steps: 1}, accountant.ZeroOut, accountant.Gaussian{NoiseMultiplier: 2}, 1},
			{"tree of four", accountant.ZeroOut, accountant.TreeAggregation{NoiseMultiplier: 2, Steps: 4}, accountant.ZeroOut, accountant.Gaussian{NoiseMultiplier: 2}, 3},
			{"self-composition", accountant.AddOrRemoveOne, accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 2}, Count: 7}, accountant.AddOrRemoveOne, accountant.Gaussian{NoiseMultiplier: 2}, 7},
			{"best of one", accountant.AddOrRemoveOne, accountant.RepeatAndSelect{Event: accountant.Gaussian{NoiseMultiplier: 2}, Mean: 1, Shape: 0.5}, accountant.AddOrRemoveOne, accountant.Gaussian{NoiseMultiplier: 2}, 1},
		} {
			got, want := divergenceAt(tt.r1, tt.e1, alpha), tt.factor*divergenceAt(tt.r2, tt.e2, alpha)
			if !(accounttest.Relative(got, want) < 1e-11) {
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
		relation accountant.Relation
		event    accountant.Event
		want     float64
	}{
		{accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 0.5, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, alpha / sigma / (2 * sigma)},
		{accountant.ZeroOut, accountant.PoissonSampled{SamplingProbability: 0.5, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, alpha / sigma / (2 * sigma)},
		{accountant.ReplaceOne, accountant.PoissonSampled{SamplingProbability: 0.5, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, 4 * alpha / sigma / (2 * sigma)},
		{accountant.AddOrRemoveOne, accountant.PoissonSampledGroup{SamplingProbability: 0.5, GroupSize: 3, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, 9 * alpha / sigma / (2 * sigma)},
	} {
		d := tiny.Must(divergenceOf(tt.event, tt.relation, nil))(t)
		if got := d(alpha); !(accounttest.Relative(got, tt.want) < 1e-12) {
			t.Errorf("%v under %v: %v, want %v", tt.event, tt.relation, got, tt.want)
		}
	}
}

// A divergence below the range of float64 is not 0: what was released is not free.
func TestDivergenceIsNeverFree(t *testing.T) {
	for _, e := range []accountant.Event{accountant.Gaussian{NoiseMultiplier: 1e200}, accountant.PoissonSampled{SamplingProbability: 1e-200, Event: accountant.Gaussian{NoiseMultiplier: 1}}, accountant.PoissonSampled{SamplingProbability: 1e-200, Event: accountant.Laplace{Scale: 1}}, accountant.ZCDP{Rho: 5e-324}} {
		r := newRDP(t, []float64{1.5, 2})
		if d, err := r.Divergence(e, 1.5); err != nil || !(d > 0 && d < 1e-300) {
			t.Errorf("%v: divergence %v, %v, want one above 0", e, d, err)
		}
		if g, err := r.Delta(accounttest.Ledger(t, accountant.Entry{Event: e, Count: 1}), 1); err != nil || !(g.Delta > 0) {
			t.Errorf("%v: delta %v, %v, want one above 0", e, g.Delta, err)
		}
	}
}

func TestRDPRefusesWhatItCannotAnalyse(t *testing.T) {
	for _, tt := range []struct {
		r accountant.Relation
		e accountant.Event
	}{
		{accountant.AddOrRemoveOne, accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 4}},
		{accountant.ZeroOut, accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 4}},
		{accountant.AddOrRemoveOne, accountant.ApproxDP{Epsilon: 1, Delta: 1e-9}},
		{accountant.AddOrRemoveOne, accountant.TreeAggregation{NoiseMultiplier: 1, Steps: 5}},
		{accountant.ReplaceOne, accountant.TreeAggregation{NoiseMultiplier: 1, Steps: 5}},
		{accountant.AddOrRemoveOne, accountant.FixedSizeSampled{DatasetSize: 10, BatchSize: 2, Event: accountant.Gaussian{NoiseMultiplier: 1}}},
		{accountant.ZeroOut, accountant.FixedSizeSampled{DatasetSize: 10, BatchSize: 2, Event: accountant.Gaussian{NoiseMultiplier: 1}}},
		{accountant.ReplaceOne, accountant.FixedSizeSampled{DatasetSize: 10, BatchSize: 2, Event: accountant.Laplace{Scale: 1}}},
		{accountant.ReplaceOne, accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Laplace{Scale: 1}}},
		{accountant.ReplaceOne, accountant.PoissonSampledGroup{SamplingProbability: 0.1, GroupSize: 2, Event: accountant.Gaussian{NoiseMultiplier: 1}}},
		{accountant.AddOrRemoveOne, accountant.PoissonSampledGroup{SamplingProbability: 0.1, GroupSize: 2, Event: accountant.Laplace{Scale: 1}}},
		{accountant.ReplaceOne, accountant.TruncatedPoissonSampled{DatasetSize: 10, SamplingProbability: 0.1, MaxBatchSize: 2, Event: accountant.Gaussian{NoiseMultiplier: 1}}},
		{accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.ZCDP{Rho: 1}}},
		{accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1}}}},
		{accountant.AddOrRemoveOne, accountant.RepeatAndSelect{Event: accountant.ApproxDP{Epsilon: 1, Delta: 1e-9}, Mean: 10, Shape: 1}},
	} {
		r := rdpUnder(t, tt.r, DefaultOrders())
		_, err := r.Guarantee(accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 1}, Count: 1}, accountant.Entry{Event: tt.e, Count: 1}), 1e-5)
		if !errors.Is(err, accountant.ErrUnsupported) || !strings.Contains(err.Error(), tt.r.String()) {
			t.Errorf("%v under %v: %v, want ErrUnsupported with both", tt.e, tt.r, err)
		}
		if _, err := r.Divergence(tt.e, 2); !errors.Is(err, accountant.ErrUnsupported) {
			t.Errorf("Divergence of %v under %v: %v, want ErrUnsupported", tt.e, tt.r, err)
		}
	}
}

func TestDivergenceArguments(t *testing.T) {
	r := newRDP(t, DefaultOrders())
	for _, alpha := range []float64{1, 1.001, 0, -1, math.NaN(), math.Inf(1), maxOrder + 1} {
		if d, err := r.Divergence(accountant.Gaussian{NoiseMultiplier: 1}, alpha); !errors.Is(err, accountant.ErrInvalid) {
			t.Errorf("order %v: %v, %v, want ErrInvalid", alpha, d, err)
		}
	}
	if d, err := r.Divergence(accountant.Gaussian{NoiseMultiplier: -1}, 2); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("bad event: %v, %v, want ErrInvalid", d, err)
	}
	for e, want := range map[accountant.Event]float64{
		accountant.NonPrivate{}:                 math.Inf(1),
		accountant.Gaussian{NoiseMultiplier: 0}: math.Inf(1),
		accountant.PoissonSampled{SamplingProbability: 0, Event: accountant.Gaussian{NoiseMultiplier: 0}}:                         0,
		accountant.RepeatAndSelect{Event: accountant.NonPrivate{}, Mean: 3, Shape: 1}:                                             math.Inf(1),
		accountant.RepeatAndSelect{Event: accountant.ZCDP{Rho: 0}, Mean: 3, Shape: 1}:                                             0,
		accountant.RepeatAndSelect{Event: accountant.ZCDP{Rho: 0}, Mean: 3, Shape: math.Inf(1)}:                                   0,
		accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 1}, Count: 0}:                                         0,
		accountant.TruncatedPoissonSampled{DatasetSize: 9, SamplingProbability: 0, MaxBatchSize: 2, Event: accountant.Gaussian{}}: 0,
	} {
		if d, err := r.Divergence(e, 2); err != nil || d != want {
			t.Errorf("%v: %v, %v, want %v", e, d, err, want)
		}
	}
}

// The mean and log(1/γ) of Definition 1 of Papernot, Steinke 2022 go back and forth; the cost
// equals Theorem 2, written out for the Gaussian, whose best order is known.
func TestSelectionOfNegativeBinomialNumber(t *testing.T) {
	for _, shape := range []float64{0, 1e-9, 0.3, 0.5, 1, 2, 50} {
		for _, mean := range []float64{1 + 1e-6, 1.5, 10, 1e6} {
			y := logOneOverGamma(mean, shape)
			got := math.Expm1(y) / y
			if shape > 0 {
				got = shape * math.Expm1(y) / -math.Expm1(-shape*y)
			}
			if !(accounttest.Relative(got, mean) < 1e-9) {
				t.Errorf("shape %v: log(1/γ) = %v gives a mean of %v, want %v", shape, y, got, mean)
			}
		}
	}
	const rho, mean = 0.02, 10.0
	got := tiny.Must(newRDP(t, DefaultOrders()).Divergence(accountant.RepeatAndSelect{Event: accountant.ZCDP{Rho: rho}, Mean: mean, Shape: 1}, 20))(t)
	// min over λ of (1-1/λ)ρλ + log(mean)/λ is at λ² = log(mean)/ρ.
	want := 20*rho + 2*(2*math.Sqrt(rho*math.Log(mean))-rho) + math.Log(mean)/19
	if !(got >= want && got <= want*1.001) {
		t.Errorf("best of %v: %v, want %v or a little more", mean, got, want)
	}
}

// More runs cost more, the best of them at least as much as one (more, where there may be several
// on average one), and the cost does not fall with the order.
func TestSelectionIsMonotone(t *testing.T) {
	orders := DefaultOrders()
	one := accountant.PoissonSampled{SamplingProbability: 0.05, Event: accountant.Gaussian{NoiseMultiplier: 3}}
	shapes := []float64{0.5, math.Inf(1), 0, 1, 3}
	if !slow.Asked() {
		shapes = shapes[:2]
	}
	for _, shape := range shapes {
		before := divergence(func(float64) float64 { return 0 })
		for _, mean := range []float64{1, 1.1, 2, 10, 1000} {
			d := tiny.Must(divergenceOf(accountant.RepeatAndSelect{Event: one, Mean: mean, Shape: shape}, accountant.AddOrRemoveOne, orders))(t)
			previous := 0.0
			for i := 0; i < len(orders); i += 25 {
				alpha := orders[i]
				run := poissonGaussianDivergence(0.05, 3, alpha)
				if x := d(alpha); !(x >= run && x >= before(alpha) && x >= previous) || math.IsInf(shape, 1) && x == run {
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

// The worst of all losses t and t-η, by looking at many.
func TestRangeDivergenceIsTheWorst(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for range 300 {
		eta, alpha := math.Exp(6*rng.Float64()-4), 1.01+math.Exp(6*rng.Float64()-3)
		worst := 0.0
		const steps = 4000
		for i := 1; i < steps; i++ {
			high := eta * float64(i) / steps
			truth := -math.Expm1(high-eta) / -math.Expm1(-eta) // chance of the loss t
			worst = max(worst, math.Log(truth*math.Exp((alpha-1)*high)+(1-truth)*math.Exp((alpha-1)*(high-eta)))/(alpha-1))
		}
		got := rangeDivergence(eta)(alpha)
		if !(got >= worst-1e-13/(alpha-1)) || !(got <= worst*(1+1e-4)+1e-12/(alpha-1)) || got > alpha*eta*eta/8 || got > eta {
			t.Errorf("η=%v, α=%v: %v, the worst is %v", eta, alpha, got, worst)
		}
	}
}

// The divergence of discrete Laplace noise, summed over the integers.
func TestDiscreteLaplaceDivergence(t *testing.T) {
	a := newRDP(t, DefaultOrders())
	for _, c := range []struct {
		scale    float64 // of the noise
		distance int
	}{{1, 1}, {3, 2}, {0.4, 1}, {20, 7}, {1000, 1500}} {
		for _, alpha := range []float64{1.5, 2, 8, 32} {
			sum, total := 0.0, 0.0
			reach := int(60*c.scale) + 2*c.distance
			for n := -reach; n <= reach; n++ {
				p, q := -math.Abs(float64(n))/c.scale, -math.Abs(float64(n-c.distance))/c.scale
				total += math.Exp(p)
				sum += math.Exp(alpha*p + (1-alpha)*q)
			}
			want := math.Log(sum/total) / (alpha - 1)
			got, err := a.Divergence(accountant.DiscreteLaplace{Scale: c.scale / float64(c.distance), Sensitivity: c.distance}, alpha)
			if err != nil || !(got >= want*(1-1e-9) && got <= want*(1+1e-5)) {
				t.Errorf("scale %v, distance %d, α=%v: %v, %v, want %v", c.scale, c.distance, alpha, got, err, want)
			}
		}
	}
}

// Runs of one kind cost what the event says whose values are held against other implementations.
func TestSelectionOfOneKindIsTheEvent(t *testing.T) {
	a := newRDP(t, DefaultOrders())
	shapes := []float64{0, math.Inf(1), 0.5, 1}
	if !slow.Asked() {
		shapes = shapes[:2]
	}
	for _, shape := range shapes {
		run := steps(t, 0.004266666666666667, 1.3, 3516)
		whole := new(accountant.Ledger)
		tiny.Check(t, whole.Add(accountant.RepeatAndSelect{Event: run, Mean: 10, Shape: shape}, 1))
		want := tiny.Must(a.Guarantee(whole, 1e-5))(t)
		got, err := a.Selection([]accountant.Event{run, run}, 10, shape, 1e-5)
		if err != nil || !(math.Abs(got.Epsilon/want.Epsilon-1) <= 1e-11) {
			t.Errorf("shape %v: found %v (%v), expected %v", shape, got.Epsilon, err, want.Epsilon)
		}
	}
}

// Kinds whose divergences cross: the cost is above the cost of each alone, because a run can be of
// either, and below the cost of runs which do both.
func TestSelectionAmongKinds(t *testing.T) {
	a := newRDP(t, DefaultOrders())
	few, many := steps(t, 0.2, 1, 4), steps(t, 0.01, 0.9, 2000)
	cost := func(kinds ...accountant.Event) float64 {
		g := tiny.Must(a.Selection(kinds, 10, 1, 1e-5))(t)
		return g.Epsilon
	}
	both := tiny.Must(accountant.Compose(few, many))(t)
	if mixed := cost(few, many); mixed < cost(few) || mixed < cost(many) || mixed > cost(both) || mixed != cost(many, few) {
		t.Errorf("found %v among both kinds, %v and %v of one, %v of both at once", mixed, cost(few), cost(many), cost(both))
	}
	if free := cost(); free != 0 {
		t.Errorf("found %v of runs that release nothing, expected 0", free)
	}
	if open := cost(few, accountant.NonPrivate{}); !math.IsInf(open, 1) {
		t.Errorf("found %v where a run may have no noise, expected +Inf", open)
	}
}

func steps(t *testing.T, q, sigma float64, n int) accountant.Event {
	t.Helper()
	return accountant.SelfComposed{Event: accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, Count: n}
}
