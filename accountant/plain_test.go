package accountant_test

import (
	"errors"
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/tiny"
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
		l := tiny.Ledger(t, accountant.PoissonSampled{c.q, accountant.Gaussian{c.sigma}}, c.steps)
		plain := tiny.Must(accountant.PlainEpsilon(l, c.delta))(t)
		for _, a := range []accountant.Accountant{rdp, exact} {
			g := tiny.Must(a.Guarantee(l, c.delta))(t)
			if !(plain >= g.Epsilon) {
				t.Errorf("%+v: plain says %v, %s says %v", c, plain, a.Name(), g.Epsilon)
			}
			if a == rdp && !(plain <= 1.1*g.Epsilon+1e-3) {
				t.Errorf("%+v: plain says %v, far above the %v of rdp", c, plain, g.Epsilon)
			}
		}
	}
}

// Opacus 1.5's RDP accountant with integer orders 2..63 gives ε = 7.32911117143 for 2250 steps of q
// = 0.04, σ = 1.5 at δ = 1e-5 with finer orders; the plain formula is above it by at most 1 %. A
// single Gaussian of σ = 1 has D_n = n/2.
func TestPlainEpsilonGolden(t *testing.T) {
	l := tiny.Ledger(t, accountant.PoissonSampled{0.04, accountant.Gaussian{1.5}}, 2250)
	if e, err := accountant.PlainEpsilon(l, 1e-5); err != nil || !(e >= 7.32911117143 && e <= 1.01*7.32911117143) {
		t.Errorf("found %v, %v", e, err)
	}
	for _, n := range []int{2, 17, 1000} {
		if d, err := accountant.PlainDivergence(accountant.Gaussian{1}, n); err != nil || d != float64(n)/2 {
			t.Errorf("order %d: found %v, %v", n, d, err)
		}
		// As q goes to 1 the sum goes to its last term.
		if d, err := accountant.PlainDivergence(accountant.PoissonSampled{1 - 1e-12, accountant.Gaussian{1}}, n); err != nil || !(math.Abs(d/(float64(n)/2)-1) <= 1e-9) {
			t.Errorf("order %d, sampled with q next to 1: found %v, %v", n, d, err)
		}
	}
}

// The sum as it stands, of 120 digits (mpmath 1.3), at the order of the formula's list that is
// best: for i, q and sigma as float64,
// log(sum(binomial(n,k)*(1-q)**(n-k)*q**k*exp((k*k-k)/(2*sigma**2)) for k in range(n+1)))/(n-1),
// times the number of releases, and converted. The formula is never below, and by no more above
// than it rounds up: where releases are many, a last digit of 1 lost in one of them is all that
// they cost.
func TestPlainEpsilonIsRoundedUp(t *testing.T) {
	for _, c := range []struct {
		q, sigma float64
		steps    int
		delta    float64
		want     float64
	}{
		{1e-06, 0.7, 1e11, 1e-06, 4.1682812944108078953},
		{1e-07, 0.6, 1e13, 1e-06, 6.5992876500313014296},
		{1e-09, 0.3, 1, 1e-05, 3.0878616587441110055},
		{1e-09, 0.5, 1e15, 1e-05, 1.2879161462893257507},
		{1e-09, 100, 1e15, 1e-05, 0.0036096861601951088466},
		{1e-09, 1, 1e15, 1e-09, 0.46775423724611087349},
		{1e-08, 0.8, 1e15, 1e-06, 3.031333654635790914},
		{1e-07, 1.5, 1e14, 1e-05, 3.3990347647476543961},
		{1e-06, 1, 1e12, 1e-05, 6.5244438600994225189},
		{1e-06, 10, 1e15, 1e-08, 23.33081989780217169},
		{1e-05, 0.5, 1e6, 1e-05, 2.2727500902715560592},
		{1e-05, 2, 1e11, 1e-07, 10.303462014173317873},
		{0.0001, 0.4, 100, 1e-05, 4.8094164326860326043},
		{0.0001, 3, 1e10, 1e-05, 21.878537971131337954},
		{0.0001, 100, 1e15, 1e-05, 1010.1766327700587177},
		{0.001, 0.8, 20000, 1e-07, 2.2261366039682795862},
		{0.001, 30, 1e9, 1e-05, 5.0320591583941681785},
		{0.01, 0.3, 10, 1e-05, 30.527073595090851312},
		{0.01, 1, 1000, 1e-05, 2.1077530754515653297},
		{0.01, 100, 1e8, 1e-05, 4.7528607544972582834},
		{0.1, 2, 300, 1e-06, 5.0991799657944385042},
		{0.1, 100, 1e15, 1e-05, 1000049511.7436700153},
		{0.5, 0.3, 1, 1e-05, 19.851492688852029275},
		{0.5, 5, 1000, 1e-05, 20.183228319633098143},
		{0.9, 1, 1e6, 1e-05, 872059.80944535594365},
		{0.999, 100, 100000, 1e-05, 19.77170947160192369},
		{1.0, 0.3, 1, 1e-05, 21.237742214961449653},
		{1.0, 100, 1e15, 1e-05, 100000000010.1266311},
		{1.0, 100, 1, 1e-05, 0.030823972895615866703},
		{1 - 0x1p-53, 0.7, 1000, 1e-05, 2050.9429576344626484},
	} {
		l := tiny.Ledger(t, accountant.PoissonSampled{c.q, accountant.Gaussian{c.sigma}}, c.steps)
		got, err := accountant.PlainEpsilon(l, c.delta)
		if err != nil || !(got >= c.want && got <= c.want*(1+1e-11)+1e-11) {
			t.Errorf("%+v: found %.17g, %v, %.3g of it too much", c, got, err, got/c.want-1)
		}
	}
}

// At every order the formula is within 1e-10 of the divergences of package rdp, which integrate and
// share no code with it: both keep their digits where a release costs next to nothing.
func TestPlainDivergenceIsThatOfRDP(t *testing.T) {
	a := newNamed(t, "rdp").(interface {
		Divergence(e accountant.Event, alpha float64) (float64, error)
	})
	for _, q := range []float64{1e-9, 1e-6, 1e-3, 0.3, 0.999} {
		for _, sigma := range []float64{0.3, 0.7, 1, 5, 100} {
			for _, n := range []int{2, 3, 7, 31, 100, 990} {
				e := accountant.PoissonSampled{q, accountant.Gaussian{sigma}}
				plain := tiny.Must(accountant.PlainDivergence(e, n))(t)
				rdp, err := a.Divergence(e, float64(n))
				if err != nil || !(math.Abs(plain/rdp-1) <= 1e-10) {
					t.Errorf("q %g, σ %g, order %d: plain says %v, rdp %v, %v: %.2g", q, sigma, n, plain, rdp, err, plain/rdp-1)
				}
			}
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
		{accountant.PoissonSampled{0.5, accountant.Gaussian{1e300}}, 0, nil},
		{accountant.Laplace{1}, 0, accountant.ErrUnsupported}, {accountant.PoissonSampled{0.5, accountant.Laplace{1}}, 0, accountant.ErrUnsupported}, {accountant.NonPrivate{}, 0, accountant.ErrUnsupported},
	} {
		l := tiny.Ledger(t, test.event, 3)
		e, err := accountant.PlainEpsilon(l, 0.9)
		if !errors.Is(err, test.err) || test.err == nil && e != test.want {
			t.Errorf("%v: found %v, %v, expected %v, %v", test.event, e, err, test.want, test.err)
		}
	}
	if _, err := accountant.PlainEpsilon(new(accountant.Ledger), 0); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("delta 0: %v", err)
	}
}
