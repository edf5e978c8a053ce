package accountant_test

import (
	"errors"
	"math"
	"testing"

	"dpsgd/accountant"
)

// The plain formula is an upper bound: never below exact and RDP, and seldom far above.
func TestPlainEpsilonIsAnUpperBound(t *testing.T) {
	rdp, exact := newNamed(t, "rdp"), newNamed(t, "exact")
	for _, c := range []struct {
		q, sigma float64
		steps    int
		delta    float64
	}{
		{0.01, 1, 1000, 1e-5}, {0.01, 0.6, 1000, 1e-5}, {0.1, 2, 300, 1e-6}, {1, 10, 50, 1e-5}, {1, 4, 1, 1e-5},
		{0.001, 0.8, 20000, 1e-7}, {0.02, 5, 1, 1e-5}, {0.3, 8, 100, 1e-4}, {0.0085, 1.1, 4700, 1e-5},
	} {
		var l accountant.Ledger
		if err := l.Add(accountant.PoissonSampled{c.q, accountant.Gaussian{c.sigma}}, c.steps); err != nil {
			t.Fatal(err)
		}
		plain, err := accountant.PlainEpsilon(&l, c.delta)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []accountant.Accountant{rdp, exact} {
			g, err := a.Guarantee(&l, c.delta)
			if err != nil {
				t.Fatal(err)
			}
			if plain < g.Epsilon {
				t.Errorf("%+v: plain says %v, %s says %v", c, plain, a.Name(), g.Epsilon)
			}
			if a == rdp && plain > 1.1*g.Epsilon+1e-3 {
				t.Errorf("%+v: plain says %v, far above the %v of rdp", c, plain, g.Epsilon)
			}
		}
	}
}

// Opacus 1.5's RDP accountant with integer orders 2..63 gives ε = 7.32911117143 for 2250 steps of q
// = 0.04, σ = 1.5 at δ = 1e-5 with finer orders; the plain formula is above it by at most 1 %. A
// single Gaussian of σ = 1 has D_n = n/2.
func TestPlainEpsilonGolden(t *testing.T) {
	var l accountant.Ledger
	if err := l.Add(accountant.PoissonSampled{0.04, accountant.Gaussian{1.5}}, 2250); err != nil {
		t.Fatal(err)
	}
	if e, err := accountant.PlainEpsilon(&l, 1e-5); err != nil || e < 7.32911117143 || e > 1.01*7.32911117143 {
		t.Errorf("found %v, %v", e, err)
	}
	for _, n := range []int{2, 17, 1000} {
		if d, err := accountant.PlainDivergence(accountant.Gaussian{1}, n); err != nil || d != float64(n)/2 {
			t.Errorf("order %d: found %v, %v", n, d, err)
		}
		// As q goes to 1 the sum goes to its last term.
		if d, err := accountant.PlainDivergence(accountant.PoissonSampled{1 - 1e-12, accountant.Gaussian{1}}, n); err != nil || math.Abs(d/(float64(n)/2)-1) > 1e-9 {
			t.Errorf("order %d, sampled with q next to 1: found %v, %v", n, d, err)
		}
	}
}

func TestPlainEpsilonOfEdges(t *testing.T) {
	if e, err := accountant.PlainEpsilon(new(accountant.Ledger), 1e-5); e != 0 || err != nil {
		t.Errorf("nothing released: %v, %v", e, err)
	}
	for _, test := range []struct {
		event accountant.Event
		want  float64
		err   error
	}{
		{accountant.Gaussian{0}, math.Inf(1), nil}, {accountant.PoissonSampled{0.5, accountant.Gaussian{0}}, math.Inf(1), nil}, {accountant.PoissonSampled{0, accountant.Gaussian{0}}, 0, nil},
		{accountant.Laplace{1}, 0, accountant.ErrUnsupported}, {accountant.PoissonSampled{0.5, accountant.Laplace{1}}, 0, accountant.ErrUnsupported}, {accountant.NonPrivate{}, 0, accountant.ErrUnsupported},
	} {
		var l accountant.Ledger
		if err := l.Add(test.event, 3); err != nil {
			t.Fatal(err)
		}
		e, err := accountant.PlainEpsilon(&l, 0.9)
		if !errors.Is(err, test.err) || test.err == nil && e != test.want {
			t.Errorf("%v: found %v, %v, expected %v, %v", test.event, e, err, test.want, test.err)
		}
	}
	if _, err := accountant.PlainEpsilon(new(accountant.Ledger), 0); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("delta 0: %v", err)
	}
}
