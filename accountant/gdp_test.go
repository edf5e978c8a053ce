package accountant

import (
	"dpsgd/accountant/internal/reference"
	"errors"
	"math"
	"testing"
)

func TestReferenceGDP(t *testing.T) {
	for _, row := range reference.Rows[renyiRow](t, "gdp") {
		g, err := EstimateGDP(mustLedger(t, Entry{PoissonSampled{row.Q, Gaussian{row.Sigma}}, row.Steps}), AddOrRemoveOne)
		if err != nil || !(relative(g.Mu, row.Mu) < 1e-12) {
			t.Errorf("%s: μ = %v, %v, want %v", row.ID, g.Mu, err, row.Mu)
		}
		got, err := g.Epsilon(row.Delta)
		if err != nil || !(relative(got, row.Value) < 1e-11) {
			t.Errorf("%s: epsilon %v, %v, want %v", row.ID, got, err, row.Value)
		}
		if got >= row.ExactPoisson {
			t.Errorf("%s: epsilon %v is not below the exact %v any more", row.ID, got, row.ExactPoisson)
		}
		uniform := GDP{Mu: math.Sqrt(float64(row.Steps)) * muOfUniform(row.Q, row.Sigma)}
		if !(relative(uniform.Mu, row.MuUniform) < 1e-12) {
			t.Errorf("%s: μ of uniform samples %v, want %v", row.ID, uniform.Mu, row.MuUniform)
		}
		if got, err := uniform.Epsilon(row.Delta); err != nil || !(relative(got, row.ValueUniform) < 1e-11) {
			t.Errorf("%s: epsilon of uniform samples %v, %v, want %v", row.ID, got, err, row.ValueUniform)
		}
	}
}

func TestGDPOfPhases(t *testing.T) {
	poisson := PoissonSampled{0.01, Gaussian{1.5}}
	estimate := func(r Relation, entries ...Entry) float64 {
		t.Helper()
		g, err := EstimateGDP(mustLedger(t, entries...), r)
		if err != nil {
			t.Fatal(err)
		}
		return g.Mu
	}
	a, b := estimate(ZeroOut, Entry{poisson, 300}), estimate(ZeroOut, Entry{Gaussian{7}, 5})
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"phases add up by squares", estimate(ZeroOut, Entry{poisson, 300}, Entry{Gaussian{7}, 5}), math.Sqrt(a*a + b*b)},
		{"a Gaussian is exact", b, math.Sqrt(5) / 7},
		{"a replacement is twice as far", estimate(ReplaceOne, Entry{Gaussian{7}, 1}), 2.0 / 7},
		{"a fixed size", estimate(ReplaceOne, Entry{FixedSizeSampled{1000, 10, Gaussian{3}}, 4}), 2 * muOfUniform(0.01, 1.5)},
		// 1 - Φ(-x) = Φ(x): the formula as it is printed.
		{"its formula", muOfUniform(0.01, 1.5), 0.01 * math.Sqrt(2*(math.Exp(1/2.25)*math.Erfc(-1/math.Sqrt2)/2+3*math.Erfc(1/3./math.Sqrt2)/2-2))},
		// q √(T (e^(1/σ²) - 1)), with mpmath 1.2.1.
		{"Poisson samples", estimate(AddOrRemoveOne, Entry{PoissonSampled{0.04, Gaussian{1.5}}, 2249}), 1.4190663105677055},
		{"nothing", estimate(AddOrRemoveOne), 0},
		{"no noise", estimate(AddOrRemoveOne, Entry{Gaussian{0}, 1}), math.Inf(1)},
	} {
		if tt.got != tt.want && !(relative(tt.got, tt.want) < 1e-12) {
			t.Errorf("%s: μ = %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestGDPAtTheEnds(t *testing.T) {
	for _, tt := range []struct{ mu, epsilon, delta float64 }{
		{0, 0, 0}, {1e-310, 0, 0}, {math.Inf(1), math.Inf(1), 1}, {1e200, math.Inf(1), 1},
	} {
		g := GDP{Mu: tt.mu}
		e, err := g.Epsilon(1e-5)
		d, err2 := g.Delta(1)
		if err != nil || err2 != nil || e != tt.epsilon || d != tt.delta {
			t.Errorf("μ=%v: epsilon %v, %v, delta %v, %v, want %v and %v", tt.mu, e, err, d, err2, tt.epsilon, tt.delta)
		}
	}
	for _, bad := range []func() error{
		func() error { _, err := GDP{Mu: -1}.Epsilon(0.1); return err },
		func() error { _, err := GDP{Mu: math.NaN()}.Delta(1); return err },
		func() error { _, err := GDP{Mu: 1}.Epsilon(0); return err },
		func() error { _, err := GDP{Mu: 1}.Delta(-1); return err },
	} {
		if err := bad(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v, want ErrInvalid", err)
		}
	}
	for _, e := range []Event{Laplace{1}, PoissonSampled{0.1, Laplace{1}}, FixedSizeSampled{10, 2, Gaussian{1}}} {
		if _, err := EstimateGDP(mustLedger(t, Entry{e, 1}), AddOrRemoveOne); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%v: %v, want ErrUnsupported", e, err)
		}
	}
}
