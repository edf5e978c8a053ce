package rdp

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/tiny"
)

func newRDP(t testing.TB, orders []float64) *Accountant {
	t.Helper()
	return rdpUnder(t, accountant.AddOrRemoveOne, orders)
}

func rdpUnder(t testing.TB, r accountant.Relation, orders []float64) *Accountant {
	t.Helper()
	return tiny.Must(New(r, orders))(t)
}

// The weights of the orders of chosen releases add up to 1 at most: the argument at Chosen needs it.
// A tenth of δ is left for events with a δ of their own.
func TestWeightsOfOrders(t *testing.T) {
	c := tiny.Must(NewChosen(accountant.ZeroOut))(t)
	sum, divergences := 0.0, []float64(nil)
	for i, w := range c.weights {
		sum += w
		divergences = append(divergences, c.rdp.orders[i]/2)
	}
	if !(sum > 0.999 && sum <= 1) {
		t.Errorf("the weights add up to %v, expected a little less than 1", sum)
	}
	l := tiny.Must(new(accountant.Ledger).With(accountant.Gaussian{NoiseMultiplier: 1}, 1))(t)
	if g, want := tiny.Must(c.Guarantee(l, 1e-5))(t), c.mixed(divergences, 0.9e-5); math.Abs(g.Epsilon-want) > 1e-9 {
		t.Errorf("found ε = %v, expected %v", g.Epsilon, want)
	}
}

// opacusOrders is the default list of Opacus 1.5: 1.1 to 10.9 by tenths, 12 to 63.
func opacusOrders() []float64 {
	var orders []float64
	for i := 1; i < 100; i++ {
		orders = append(orders, 1+float64(i)/10)
	}
	for n := 12.0; n < 64; n++ {
		orders = append(orders, n)
	}
	return orders
}

// Opacus prints 7.32911117143 in its tests (accountants_test.py, release 1.5.4); the
// digits beyond come from mpmath.
func TestOpacusAnchor(t *testing.T) {
	l := accounttest.Ledger(t, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: 0.04, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, Count: 2250})
	r := newRDP(t, opacusOrders())
	g, err := r.Guarantee(l, 1e-5)
	if err != nil || accounttest.Relative(g.Epsilon, 7.329111171484174) > 1e-11 {
		t.Errorf("epsilon %v, %v, want 7.329111171484174", g.Epsilon, err)
	}
	if s, _, err := r.search(l, r.conversion.epsilonSearch(1e-5)); err != nil || r.orders[s.best] != 3.9 {
		t.Errorf("best order %v, %v, want 3.9", r.orders[s.best], err)
	}
	if g.Relation != accountant.AddOrRemoveOne || g.Delta != 1e-5 || !strings.Contains(g.Method, "Mironov") || !strings.Contains(g.Method, "Canonne") {
		t.Errorf("guarantee %+v", g)
	}
}

func TestNewOrders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		orders []float64
		want   []float64 // nil: an error
	}{
		{"sorted, distinct", []float64{8, 1.5, 8, 2}, []float64{1.5, 2, 8}},
		{"next to 1 is left out", []float64{1 + 1e-8, 1.009, 1.01, 2}, []float64{1.01, 2}},
		{"only next to 1", []float64{1.001}, nil},
		{"none", nil, nil},
		{"1", []float64{1, 2}, nil},
		{"below 1", []float64{0.5}, nil},
		{"NaN", []float64{math.NaN(), 2}, nil},
		{"infinite", []float64{math.Inf(1)}, nil},
		{"too large", []float64{maxOrder + 1}, nil},
	} {
		r, err := New(accountant.AddOrRemoveOne, tt.orders)
		if tt.want == nil {
			if !errors.Is(err, accountant.ErrInvalid) {
				t.Errorf("%s: error %v, want ErrInvalid", tt.name, err)
			}
		} else if err != nil || !slices.Equal(r.orders, tt.want) {
			t.Errorf("%s: orders %v, %v, want %v", tt.name, r.orders, err, tt.want)
		}
	}
}

func TestDefaultOrders(t *testing.T) {
	orders := DefaultOrders()
	if !slices.IsSorted(orders) || orders[0] > 1.05 || orders[len(orders)-1] < 1024 {
		t.Errorf("orders from %v to %v, sorted: %v", orders[0], orders[len(orders)-1], slices.IsSorted(orders))
	}
	if orders[0] != 1.02 || orders[len(orders)-1] != 8192 {
		t.Errorf("orders from %v to %v, want 1.02 to 8192", orders[0], orders[len(orders)-1])
	}
	for i, alpha := range orders[1:] {
		if before := orders[i]; alpha <= 101 && (alpha-1)/(before-1) > 1.01+1e-12 || alpha > 101 && alpha > math.Ceil(1.01*before) {
			t.Errorf("orders go from %v to %v, more than 1 %%", before, alpha)
		}
	}
	r := newRDP(t, orders)
	for _, sigma := range []float64{0.3, 0.5, 1, 2, 10} {
		for _, q := range []float64{1e-4, 0.004, 0.1, 1} {
			for _, steps := range []int{1, 100, 10000, 1000000} {
				l := accounttest.Ledger(t, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, Count: steps})
				s, _, err := r.search(l, r.conversion.epsilonSearch(1e-6))
				tiny.Check(t, err)
				if (s.best == 0 || s.best == len(orders)-1) && s.value > 0.01 && s.value < 10000 {
					t.Errorf("q=%v σ=%v T=%d: epsilon %v is at the end of the orders", q, sigma, steps, s.value)
				}
			}
		}
	}
}

// The branch and bound answers exactly like the search of all orders.
func TestOrderSearchIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	r := newRDP(t, opacusOrders())
	for range 300 {
		q, sigma := randomEvent(rng)
		l := accounttest.Ledger(t,
			accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, Count: 1 + rng.IntN(1000)},
			accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: sigma * 20}, Count: 1 + rng.IntN(10)})
		delta := math.Exp(-20 * rng.Float64())
		g := tiny.Must(r.Guarantee(l, delta))(t)
		total := tiny.Must(r.total(l))(t)
		want := math.Inf(1)
		for i, term := range r.conversion.terms(delta) {
			want = min(want, total.curves.at(i)+term)
		}
		if g.Epsilon != max(want, 0) {
			t.Fatalf("q=%v σ=%v δ=%v: %v, over all orders %v", q, sigma, delta, g.Epsilon, want)
		}
	}
}

// dp_accounting and others answered ε = 0 where a divergence came out negative or NaN.
func TestBadOrdersAreNotUsed(t *testing.T) {
	e := accountant.Gaussian{NoiseMultiplier: 1}
	l := accounttest.Ledger(t, accountant.Entry{Event: e, Count: 1})
	with := func(values ...float64) (accountant.Guarantee, error) {
		r := newRDP(t, []float64{2, 4, 8})
		c, _, err := r.curves.get(e)
		tiny.Check(t, err)
		c.divergence = func(alpha float64) float64 { return values[slices.Index(r.orders, alpha)] }
		return r.Guarantee(l, 1e-5)
	}
	nan, inf := math.NaN(), math.Inf(1)
	alone := tiny.Must(with(nan, nan, 1))(t)
	for _, values := range [][]float64{{nan, -1, 1}, {-inf, -1e-300, 1}, {inf, inf, 1}, {nan, inf, 1}} {
		if g, err := with(values...); err != nil || g.Epsilon != alone.Epsilon {
			t.Errorf("divergences %v: epsilon %v, %v, want %v from the last alone", values, g.Epsilon, err, alone.Epsilon)
		}
	}
	for _, values := range [][]float64{{nan, nan, nan}, {-1, -1, nan}, {-1e-300, -inf, -2}} {
		if g, err := with(values...); err == nil {
			t.Errorf("divergences %v: epsilon %v, want an error", values, g.Epsilon)
		}
	}
	if g, err := with(nan, inf, inf); err != nil || !math.IsInf(g.Epsilon, 1) {
		t.Errorf("infinite divergences: epsilon %v, %v, want +Inf", g.Epsilon, err)
	}
}

func TestCacheIsBoundedAndConcurrent(t *testing.T) {
	r := newRDP(t, []float64{1.5, 2, 8, 33.5})
	ledger := func(i int) *accountant.Ledger {
		return accounttest.Ledger(t, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1 + float64(i)/1000}}, Count: 10})
	}
	want := make([]float64, 2*maxCurves)
	for i := range want {
		g := tiny.Must(newRDP(t, r.orders).Guarantee(ledger(i), 1e-5))(t)
		want[i] = g.Epsilon
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range want {
				if g, err := r.Guarantee(ledger(i), 1e-5); err != nil || g.Epsilon != want[i] {
					t.Errorf("event %d: %v, %v, want %v", i, g.Epsilon, err, want[i])
				}
			}
		})
	}
	wg.Wait()
	if n := len(r.curves.curves); n > maxCurves {
		t.Errorf("%d curves are kept, want at most %d", n, maxCurves)
	}
}

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
	bad := newRDP(t, []float64{2, 4})
	l := accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 1}, Count: 1})
	c, _, err := bad.curves.get(accountant.Gaussian{NoiseMultiplier: 1})
	tiny.Check(t, err)
	c.divergence = func(float64) float64 { return math.NaN() }
	if g, err := bad.Delta(l, 1); !errors.Is(err, accountant.ErrUncertified) {
		t.Errorf("divergences NaN: %v, %v, want ErrUncertified", g.Delta, err)
	}
}
