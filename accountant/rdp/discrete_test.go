package rdp

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
)

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

// A replaced record is one that goes and one that comes.
func TestReplacedRecordsCostTwice(t *testing.T) {
	one, replaced := newRDP(t, DefaultOrders()), rdpUnder(t, accountant.ReplaceOne, DefaultOrders())
	for _, e := range []accountant.Event{
		accountant.DiscreteLaplace{Scale: 3, Sensitivity: 2}, accountant.DiscreteGaussian{NoiseMultiplier: 5, Sensitivity: 2}, accountant.DiscreteGaussian{NoiseMultiplier: 5},
		accountant.BoundedRange{Range: 0.3}, accountant.AddOrRemoveDP{Epsilon: 0.3},
	} {
		l := accounttest.Ledger(t, accountant.Entry{Event: e, Count: 3})
		pairs, err := accountant.Group(l, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := accounttest.Epsilon(t, replaced, l, 1e-6), accounttest.Epsilon(t, one, pairs, 1e-6); !(accounttest.Relative(got, want) < 1e-9) {
			t.Errorf("%v: epsilon %v for a replaced record, %v for two", e, got, want)
		}
	}
}
