package accountants

import (
	"errors"
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/tiny"
)

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
