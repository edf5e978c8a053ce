package rdp

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/tiny"
)

// Also below 2.2e-308, where the logarithm of the standard library is wrong on some machines.
func TestTinyDeltas(t *testing.T) {
	r, l := newRDP(t, []float64{2}), accounttest.Ledger(t, accountant.Entry{Event: accountant.ZCDP{Rho: 0.5}, Count: 1})
	for delta, log := range map[float64]float64{1e-300: -690.77552789821370521, 1e-310: -713.80137882815416, 5e-324: -744.44007192138126} {
		want := 1 + math.Log(0.5) - log - math.Log(2)
		if got := accounttest.Epsilon(t, r, l, delta); !(accounttest.Relative(got, want) < 1e-9) {
			t.Errorf("epsilon at %v is %v, want %v", delta, got, want)
		}
	}
}

// randomLedger draws events of several kinds that are defined under the relation.
func randomLedger(t *testing.T, rng *rand.Rand, r accountant.Relation) *accountant.Ledger {
	t.Helper()
	var l accountant.Ledger
	add := func(e accountant.Event, count int) {
		tiny.Check(t, l.Add(e, count))
	}
	q, sigma := math.Exp(-8*rng.Float64()), math.Exp(4*rng.Float64()-0.7)
	if rng.IntN(3) > 0 {
		add(accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, 1+rng.IntN(5000))
	}
	if rng.IntN(3) == 0 {
		add(accountant.Laplace{Scale: 20 * sigma}, 1+rng.IntN(20))
	}
	if rng.IntN(3) == 0 {
		add(accountant.ZCDP{Rho: 0.01 * rng.Float64()}, 1+rng.IntN(10))
	}
	if r == accountant.ReplaceOne && rng.IntN(3) == 0 {
		add(accountant.FixedSizeSampled{DatasetSize: 60000, BatchSize: 1 + rng.IntN(600), Event: accountant.Gaussian{NoiseMultiplier: sigma + 1}}, 1+rng.IntN(1000))
	}
	if r != accountant.ReplaceOne && rng.IntN(3) == 0 {
		add(accountant.PoissonSampledGroup{SamplingProbability: q, GroupSize: 1 + rng.IntN(4), Event: accountant.Gaussian{NoiseMultiplier: sigma + 1}}, 1+rng.IntN(100))
	}
	add(accountant.Gaussian{NoiseMultiplier: 30 * sigma}, 1)
	return &l
}

// 200 random ledgers: δ at ε is found among all orders, falls with ε, and Guarantee
// answers ε or less at that δ.
func TestDeltaIsTheInverseOfGuarantee(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 1))
	for range 200 {
		relation := []accountant.Relation{accountant.AddOrRemoveOne, accountant.ReplaceOne, accountant.ZeroOut}[rng.IntN(3)]
		r := rdpUnder(t, relation, opacusOrders())
		l := randomLedger(t, rng, relation)
		e := math.Exp(6*rng.Float64() - 3)
		if rng.IntN(8) == 0 {
			e = 0
		}
		g, err := r.Delta(l, e)
		if err != nil || !(g.Delta > 0 && g.Delta <= 1) {
			t.Fatalf("%v at ε=%v: %v, %v", l.Entries(), e, g, err)
		}
		total := tiny.Must(r.total(l))(t)
		least := 0.0
		for i, alpha := range r.orders {
			least = min(least, (alpha-1)*(total.curves.at(i)-e+math.Log1p(-1/alpha))-math.Log(alpha))
		}
		if got := math.Log(g.Delta); !(math.Abs(got-least) <= 1e-11*(1+math.Abs(least))) && least > -700 { // math.Log loses digits of subnormal numbers
			t.Errorf("%v at ε=%v: log δ = %v, over all orders %v", l.Entries(), e, got, least)
		}
		if more, err := r.Delta(l, e*1.01+1e-3); err != nil || more.Delta > g.Delta {
			t.Errorf("%v: δ=%v at ε=%v, and %v, %v at a larger one", l.Entries(), g.Delta, e, more.Delta, err)
		}
		if g.Delta < 1 {
			if back := accounttest.Epsilon(t, r, l, g.Delta); back > e*(1+1e-9) {
				t.Errorf("%v: δ=%v at ε=%v, where epsilon is %v", l.Entries(), g.Delta, e, back)
			}
		}
	}
}

func TestDeltaAtTheEnds(t *testing.T) {
	r := newRDP(t, DefaultOrders())
	for _, tt := range []struct {
		name string
		l    *accountant.Ledger
		want float64
	}{
		{"hardly any noise", accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 0.01}, Count: 1}), 1},
		{"below every float64", accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 1e6}, Count: 1}), math.SmallestNonzeroFloat64},
	} {
		if g, err := r.Delta(tt.l, 5); err != nil || g.Delta != tt.want {
			t.Errorf("%s: delta %v, %v, want %v", tt.name, g.Delta, err, tt.want)
		}
	}
	if _, err := r.Delta(&accountant.Ledger{}, -1); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("epsilon -1: %v, want ErrInvalid", err)
	}
	if _, err := r.Delta(nil, 1); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("nil ledger: %v, want ErrInvalid", err)
	}
	if _, err := r.Guarantee(nil, 1); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("delta 1: %v, want ErrInvalid", err)
	}
	bad := newRDP(t, []float64{2, 4})
	l := accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 1}, Count: 1})
	c, _, err := bad.curves.get(accountant.Gaussian{NoiseMultiplier: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.divergence = func(float64) float64 { return math.NaN() }
	if g, err := bad.Delta(l, 1); !errors.Is(err, accountant.ErrUncertified) {
		t.Errorf("divergences NaN: %v, %v, want ErrUncertified", g.Delta, err)
	}
}
