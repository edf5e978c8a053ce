package accountants

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/rdp"
	"dpsgd/internal/tiny"
)

func newZCDP(t testing.TB, r accountant.Relation) accountant.Accountant {
	return tiny.Must(NewConcentrated(r))(t)
}

// simpleEpsilon is ρ + 2 √(ρ log(1/δ)), the conversion that papers print (Bun, Steinke 2016,
// Proposition 1.3): the accountant is never above it.
func simpleEpsilon(rho, delta float64) float64 {
	return rho + 2*math.Sqrt(rho)*math.Sqrt(-math.Log(delta))
}

func TestReferenceZCDP(t *testing.T) {
	a := newZCDP(t, accountant.AddOrRemoveOne)
	for _, row := range accounttest.Rows[accounttest.Row](t, "zcdp") {
		if got := simpleEpsilon(row.Rho, row.Delta); !(accounttest.Relative(got, row.Value) < 1e-11) {
			t.Errorf("%s: the simple conversion gives %v, want %v", row.ID, got, row.Value)
		}
		got := accounttest.Epsilon(t, a, accounttest.Ledger(t, accountant.Entry{Event: accountant.ZCDP{Rho: row.Rho}, Count: 1}), row.Delta)
		if !(accounttest.Relative(got, row.Value2) < 1e-11) || got < row.ValueGaussian {
			t.Errorf("%s: epsilon %v, want %v, and not below the exact %v of a Gaussian", row.ID, got, row.Value2, row.ValueGaussian)
		}
		if rdp := accounttest.Epsilon(t, newRenyi(t), accounttest.Ledger(t, accountant.Entry{Event: accountant.ZCDP{Rho: row.Rho}, Count: 1}), row.Delta); !(rdp >= got*(1-1e-11) && rdp <= got*1.0005) {
			t.Errorf("%s: epsilon %v, and %v by the Rényi accountant", row.ID, got, rdp)
		}
	}
}

func TestRho(t *testing.T) {
	for _, tt := range []struct {
		r    accountant.Relation
		e    accountant.Event
		want float64
	}{
		{accountant.AddOrRemoveOne, accountant.Gaussian{NoiseMultiplier: 2}, 0.125},
		{accountant.ReplaceOne, accountant.Gaussian{NoiseMultiplier: 2}, 0.5},
		{accountant.ZeroOut, accountant.Gaussian{NoiseMultiplier: 2}, 0.125},
		{accountant.AddOrRemoveOne, accountant.Laplace{Scale: 4}, 0.25 * math.Tanh(0.125)},
		{accountant.ReplaceOne, accountant.Laplace{Scale: 4}, 0.5 * math.Tanh(0.25)},
		{accountant.AddOrRemoveOne, accountant.ApproxDP{Epsilon: 3}, 3 * math.Tanh(1.5)},
		{accountant.AddOrRemoveOne, accountant.ZCDP{Rho: 0.3}, 0.3},
		{accountant.AddOrRemoveOne, accountant.DiscreteGaussian{NoiseMultiplier: 2, Sensitivity: 3}, 0.125},
		{accountant.ReplaceOne, accountant.DiscreteGaussian{NoiseMultiplier: 2}, 0.5},
		{accountant.AddOrRemoveOne, accountant.DiscreteLaplace{Scale: 4, Sensitivity: 3}, 0.25 * math.Tanh(0.125)},
		{accountant.ReplaceOne, accountant.DiscreteLaplace{Scale: 4, Sensitivity: 3}, 0.5 * math.Tanh(0.25)},
		{accountant.AddOrRemoveOne, accountant.BoundedRange{Range: 0.5}, 0.25 / 8},
		{accountant.ReplaceOne, accountant.BoundedRange{Range: 0.5}, 1. / 8},
		{accountant.ReplaceOne, accountant.AddOrRemoveDP{Epsilon: 1.5}, 3 * math.Tanh(1.5)},
		{accountant.ReplaceOne, accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 2}, math.Log(3) / 2}, // tanh(log(3)/2) = 1/2
		{accountant.ZeroOut, accountant.TreeAggregation{NoiseMultiplier: 2, Steps: 4}, 3 * 0.125},
		{accountant.AddOrRemoveOne, accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 2}, Count: 8}, 1},
		{accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 0, Event: accountant.Gaussian{NoiseMultiplier: 2}}, 0},
		{accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 1, Event: accountant.Gaussian{NoiseMultiplier: 2}}, 0.125},
		{accountant.AddOrRemoveOne, accountant.NonPrivate{}, math.Inf(1)},
	} {
		got, err := total(accounttest.Ledger(t, accountant.Entry{Event: tt.e, Count: 3}), tt.r, rhoOf)
		if want := 3 * tt.want; err != nil || got != want && !(accounttest.Relative(got, want) < 1e-11 && got >= want) {
			t.Errorf("3 × %v under %v: %v, %v, want %v", tt.e, tt.r, got, err, want)
		}
	}
	for e, r := range map[accountant.Event]accountant.Relation{
		accountant.PoissonSampled{SamplingProbability: 0.5, Event: accountant.Gaussian{NoiseMultiplier: 1}}: accountant.AddOrRemoveOne,
		accountant.ApproxDP{Epsilon: 1, Delta: 1e-9}:                                                        accountant.ZeroOut, accountant.AddOrRemoveDP{Epsilon: 1, Delta: 1e-9}: accountant.ZeroOut,
		accountant.TreeAggregation{NoiseMultiplier: 1, Steps: 5}: accountant.ReplaceOne, accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 2}: accountant.ZeroOut,
	} {
		if g, err := newZCDP(t, r).Guarantee(accounttest.Ledger(t, accountant.Entry{Event: e, Count: 1}), 1e-5); !errors.Is(err, accountant.ErrUnsupported) {
			t.Errorf("%v under %v: %v, %v, want ErrUnsupported", e, r, g, err)
		}
	}
}

// Every ε-DP mechanism has a divergence of at most α ε tanh(ε/2); for orders near 1 no
// smaller number would do.
func TestRhoOfPureBoundsRandomizedResponse(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for range 2000 {
		e, alpha := math.Exp(10*rng.Float64()-7), 1.01+math.Exp(10*rng.Float64()-4)
		if d, most := pureRenyi(t, e, alpha), alpha*rhoOfPure(e); !(d <= most*(1+2e-12)) {
			t.Fatalf("ε=%v α=%v: divergence %v, ρα = %v", e, alpha, d, most)
		}
	}
	d := math.Log(math.Cosh((1.0001-0.5)*0.5)/math.Cosh(0.25)) / 0.0001
	if rho := rhoOfPure(0.5); accounttest.Relative(d, rho) > 2e-4 {
		t.Errorf("divergence of order 1.0001 %v, ρ %v", d, rho)
	}
}

// The order that is found is the best one: no other gives less. And δ at ε is the inverse.
func TestConcentratedConversionIsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	for range 500 {
		rho, delta := math.Exp(16*rng.Float64()-12), math.Exp(-30*rng.Float64()-0.01)
		e := concentratedEpsilon(rho, delta)
		for range 50 {
			alpha := 1 + math.Exp(14*rng.Float64()-5)
			other := rho*alpha + math.Log1p(-1/alpha) - math.Log(delta*alpha)/(alpha-1)
			if max(other, 0) < e*(1-1e-9)-1e-14 {
				t.Fatalf("ρ=%v δ=%v: epsilon %v, and %v at order %v", rho, delta, e, other, alpha)
			}
		}
		if simple := simpleEpsilon(rho, delta) * (1 + roundingError); e > simple {
			t.Errorf("ρ=%v δ=%v: epsilon %v, simple %v", rho, delta, e, simple)
		}
		if e == 0 {
			continue
		}
		back := concentratedDelta(rho, e)
		if !(back > 0 && accounttest.Relative(back, delta) < 1e-6) {
			t.Errorf("ρ=%v: δ=%v gives ε=%v, which gives δ=%v", rho, delta, e, back)
		}
		if again := concentratedEpsilon(rho, back); again > e*(1+1e-9) {
			t.Errorf("ρ=%v: δ=%v gives ε=%v, more than %v", rho, back, again, e)
		}
	}
}

func TestZCDPAtTheEnds(t *testing.T) {
	a := newZCDP(t, accountant.AddOrRemoveOne)
	for _, tt := range []struct {
		name           string
		l              *accountant.Ledger
		epsilon, delta float64 // at δ = 1e-5 and at ε = 1
	}{
		{"free", accounttest.Ledger(t, accountant.Entry{Event: accountant.ZCDP{Rho: 0}, Count: 5}), 0, 0},
		{"σ=5e-324", accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 5e-324}, Count: 1}), math.Inf(1), 1},
		{"b=5e-324", accounttest.Ledger(t, accountant.Entry{Event: accountant.Laplace{Scale: 5e-324}, Count: 1}), math.Inf(1), 1},
		{"ρ=1e300", accounttest.Ledger(t, accountant.Entry{Event: accountant.ZCDP{Rho: 1e300}, Count: 1}), 1e300, 1},
		{"ρ=5e-324", accounttest.Ledger(t, accountant.Entry{Event: accountant.ZCDP{Rho: 5e-324}, Count: 1}), 0, 5e-324},
	} {
		if got := accounttest.Epsilon(t, a, tt.l, 1e-5); got != tt.epsilon && !(accounttest.Relative(got, tt.epsilon) < 1e-9) {
			t.Errorf("%s: epsilon %v, want %v", tt.name, got, tt.epsilon)
		}
		if g, err := a.Delta(tt.l, 1); err != nil || g.Delta != tt.delta {
			t.Errorf("%s: delta %v, %v, want %v", tt.name, g.Delta, err, tt.delta)
		}
	}
}

// Computed with mpmath 1.4.1: findroot of the derivative of
//
//	ρα + log(1 - 1/α) - log(δα)/(α-1)   and of   (α-1)(ρα - ε + log(1 - 1/α)) - log α.
func TestConcentratedGolden(t *testing.T) {
	for _, row := range []struct{ rho, epsilon, delta float64 }{ // at δ = 1e-5, at ε = 5
		{0.125, 2.16571554517548506, 4.16879156666584022e-23},
		{0.5, 4.7283869849433139, 2.89612280938479501e-6},
		{1, 7.07719669580633976, 0.002612034506620487},
	} {
		for _, entries := range [][]accountant.Entry{
			{{Event: accountant.ZCDP{Rho: row.rho}, Count: 1}},
			{{Event: accountant.ZCDP{Rho: row.rho / 8}, Count: 8}},
			{{Event: accountant.Gaussian{NoiseMultiplier: 1 / math.Sqrt(row.rho/4)}, Count: 8}}, // 8/(2σ²) = ρ
			{{Event: accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 1 / math.Sqrt(row.rho/4)}, Count: 2}, Count: 4}},
		} {
			a, l := newZCDP(t, accountant.AddOrRemoveOne), accounttest.Ledger(t, entries...)
			if e := accounttest.Epsilon(t, a, l, 1e-5); !(e >= row.epsilon*(1-1e-15) && e <= row.epsilon*(1+1e-11)) {
				t.Errorf("%v: epsilon %v, want %v", entries, e, row.epsilon)
			}
			if g, err := a.Delta(l, 5); err != nil || !(g.Delta >= row.delta*(1-1e-14) && g.Delta <= row.delta*(1+1e-9)) {
				t.Errorf("%v: delta %v, %v, want %v", entries, g.Delta, err, row.delta)
			}
		}
	}
}

func newRenyi(t testing.TB) *rdp.Accountant {
	t.Helper()
	return tiny.Must(rdp.New(accountant.AddOrRemoveOne, rdp.DefaultOrders()))(t)
}

// pureRenyi is the largest Rényi divergence of an ε-differentially private release.
func pureRenyi(t *testing.T, epsilon, alpha float64) float64 {
	t.Helper()
	return tiny.Must(newRenyi(t).Divergence(accountant.ApproxDP{Epsilon: epsilon}, alpha))(t)
}

func TestReferenceGDP(t *testing.T) {
	for _, row := range accounttest.Rows[accounttest.Row](t, "gdp") {
		l := accounttest.Ledger(t, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: row.Q, Event: accountant.Gaussian{NoiseMultiplier: row.Sigma}}, Count: row.Steps})
		mu, err := muOfAll(l, accountant.AddOrRemoveOne)
		if err != nil || !(accounttest.Relative(mu, row.Mu) < 1e-12) {
			t.Errorf("%s: μ = %v, %v, want %v", row.ID, mu, err, row.Mu)
		}
		got, err := GaussianEstimate(l, accountant.AddOrRemoveOne, row.Delta)
		if err != nil || !(accounttest.Relative(got, row.Value) < 1e-11) {
			t.Errorf("%s: epsilon %v, %v, want %v", row.ID, got, err, row.Value)
		}
		if got >= row.ExactPoisson {
			t.Errorf("%s: epsilon %v is not below the exact %v any more", row.ID, got, row.ExactPoisson)
		}
		uniform := math.Sqrt(float64(row.Steps)) * muOfUniform(row.Q, row.Sigma)
		if !(accounttest.Relative(uniform, row.MuUniform) < 1e-12) {
			t.Errorf("%s: μ of uniform samples %v, want %v", row.ID, uniform, row.MuUniform)
		}
		if got, err := epsilonOf(uniform, row.Delta); err != nil || !(accounttest.Relative(got, row.ValueUniform) < 1e-11) {
			t.Errorf("%s: epsilon of uniform samples %v, %v, want %v", row.ID, got, err, row.ValueUniform)
		}
	}
}

func TestGDPOfPhases(t *testing.T) {
	poisson := accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}
	estimate := func(r accountant.Relation, entries ...accountant.Entry) float64 {
		t.Helper()
		return tiny.Must(muOfAll(accounttest.Ledger(t, entries...), r))(t)
	}
	a, b := estimate(accountant.ZeroOut, accountant.Entry{Event: poisson, Count: 300}), estimate(accountant.ZeroOut, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 7}, Count: 5})
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"phases add up by squares", estimate(accountant.ZeroOut, accountant.Entry{Event: poisson, Count: 300}, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 7}, Count: 5}), math.Sqrt(a*a + b*b)},
		{"a Gaussian is exact", b, math.Sqrt(5) / 7},
		{"a replacement is twice as far", estimate(accountant.ReplaceOne, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 7}, Count: 1}), 2.0 / 7},
		{"a fixed size", estimate(accountant.ReplaceOne, accountant.Entry{Event: accountant.FixedSizeSampled{DatasetSize: 1000, BatchSize: 10, Event: accountant.Gaussian{NoiseMultiplier: 3}}, Count: 4}), 2 * muOfUniform(0.01, 1.5)},
		// 1 - Φ(-x) = Φ(x): the formula as it is printed.
		{"its formula", muOfUniform(0.01, 1.5), 0.01 * math.Sqrt(2*(math.Exp(1/2.25)*math.Erfc(-1/math.Sqrt2)/2+3*math.Erfc(1/3./math.Sqrt2)/2-2))},
		// q √(T (e^(1/σ²) - 1)), with mpmath 1.2.1.
		{"Poisson samples", estimate(accountant.AddOrRemoveOne, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: 0.04, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, Count: 2249}), 1.4190663105677055},
		{"nothing", estimate(accountant.AddOrRemoveOne), 0},
		{"no noise", estimate(accountant.AddOrRemoveOne, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 0}, Count: 1}), math.Inf(1)},
	} {
		if tt.got != tt.want && !(accounttest.Relative(tt.got, tt.want) < 1e-12) {
			t.Errorf("%s: μ = %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestGDPAtTheEnds(t *testing.T) {
	for _, tt := range []struct{ mu, epsilon float64 }{
		{0, 0}, {1e-310, 0}, {math.Inf(1), math.Inf(1)}, {1e200, math.Inf(1)},
	} {
		if e, err := epsilonOf(tt.mu, 1e-5); err != nil || e != tt.epsilon {
			t.Errorf("μ=%v: epsilon %v, %v, want %v", tt.mu, e, err, tt.epsilon)
		}
	}
	if _, err := epsilonOf(1, 0); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("δ = 0: %v, want ErrInvalid", err)
	}
	for _, e := range []accountant.Event{accountant.Laplace{Scale: 1}, accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Laplace{Scale: 1}}, accountant.FixedSizeSampled{DatasetSize: 10, BatchSize: 2, Event: accountant.Gaussian{NoiseMultiplier: 1}}} {
		if _, err := GaussianEstimate(accounttest.Ledger(t, accountant.Entry{Event: e, Count: 1}), accountant.AddOrRemoveOne, 1e-5); !errors.Is(err, accountant.ErrUnsupported) {
			t.Errorf("%v: %v, want ErrUnsupported", e, err)
		}
	}
}
