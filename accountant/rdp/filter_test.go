package rdp

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/mechanism"
)

// spendAll spends the event until the filter refuses it.
func spendAll(t *testing.T, f *Filter, e accountant.Event) int {
	t.Helper()
	for n := 0; n < 1_000_000; n++ {
		ok, err := f.Spend(e, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return n
		}
	}
	t.Fatalf("%v never ends", e)
	return 0
}

// With the one order that is best for a plan a filter lasts as long as the plan by the
// Rényi accountant; with several it is a little shorter and never longer.
func TestFilterLastsAsLongAsAPlan(t *testing.T) {
	target := accountant.Guarantee{Epsilon: 2, Delta: 1e-5}
	step := accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1}}
	r := newRDP(t, DefaultOrders())
	planned, err := accountant.MaxSteps(r, step, target, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	order, _, err := r.BestOrder(accounttest.Ledger(t, accountant.Entry{Event: step, Count: planned}), target.Delta)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name        string
		orders      []float64
		least, most int
	}{
		{"the best order", []float64{order}, planned, planned},
		{"several orders", FilterOrders(), planned / 2, planned - 1},
	} {
		f, err := NewFilter(target, tt.orders)
		if err != nil {
			t.Fatal(err)
		}
		if n := spendAll(t, f, step); n < tt.least || n > tt.most {
			t.Errorf("%s: %d steps, want %d to %d; the plan takes %d", tt.name, n, tt.least, tt.most, planned)
		}
		if n := f.Ledger().Count(); n == 0 || f.Target() != target {
			t.Errorf("%s: a ledger of %d and target %v", tt.name, n, f.Target())
		}
	}
}

// Each of m orders has a share δ/m, also of those that are left when others have no budget. Of
// ρ-zCDP releases the divergence is known, so that the budget is that of Proposition 12 of
// Canonne, Kamath, Steinke 2020: up to (ε - log(1-1/α) + log(αδ/m)/(α-1))/(ρα) releases at order α.
func TestFilterSharesDelta(t *testing.T) {
	const rho = 1e-7
	target := accountant.Guarantee{Epsilon: 1, Delta: 1e-5}
	for _, tt := range []struct {
		orders []float64
		used   []float64 // the conversion alone is above ε for the others
	}{
		{[]float64{20}, []float64{20}},
		{[]float64{16, 24, 32, 64}, []float64{16, 24, 32, 64}},
		{[]float64{2, 4, 24, 8}, []float64{24}},
		{FilterOrders(), []float64{12, 16, 24, 32, 64, 128}},
	} {
		f, err := NewFilter(target, tt.orders)
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for _, alpha := range tt.used {
			share := target.Delta / float64(len(tt.used))
			budget := target.Epsilon - math.Log1p(-1/alpha) + math.Log(alpha*share)/(alpha-1)
			most = max(most, budget/rho/alpha)
		}
		// Rounding takes 1e-12 of the budget and of the divergence.
		less, more := int(most*(1-1e-9)), int(most*(1+1e-9))+1
		if ok, err := f.Allow(accountant.ZCDP{Rho: rho}, more); ok || err != nil {
			t.Errorf("orders %v: %d releases are allowed, %v, want at most %v", tt.orders, more, err, most)
		}
		if ok, err := f.Spend(accountant.ZCDP{Rho: rho}, less/2); !ok || err != nil {
			t.Errorf("orders %v: the first %d releases: %v, %v, want %v", tt.orders, less/2, ok, err, most)
		}
		if ok, err := f.Allow(accountant.ZCDP{Rho: rho}, more-less/2); ok || err != nil {
			t.Errorf("orders %v: %d releases in two parts are allowed, %v, want at most %v", tt.orders, more, err, most)
		}
		if ok, err := f.Spend(accountant.ZCDP{Rho: rho}, less-less/2); !ok || err != nil {
			t.Errorf("orders %v: %d releases are refused, %v, want %v", tt.orders, less, err, most)
		}
	}
}

// The bound of an odometer is the least Σ ρα + log(m/δ)/(α-1) over its m orders.
func TestOdometerSharesDelta(t *testing.T) {
	const rho, delta = 1e-4, 1e-5
	for _, orders := range [][]float64{{20}, {2, 20, 200}, FilterOrders()} {
		o, err := NewOdometer(accountant.AddOrRemoveOne, delta, orders)
		if err != nil {
			t.Fatal(err)
		}
		for n := 100; n < 1e6; n *= 3 {
			if err := o.Spend(accountant.ZCDP{Rho: rho}, n); err != nil {
				t.Fatal(err)
			}
			spent := float64((3*n-100)/2) * rho // 100 + 300 + … + n
			want := math.Inf(1)
			for _, alpha := range orders {
				want = min(want, spent*alpha+math.Log(float64(len(orders))/delta)/(alpha-1))
			}
			if got := o.Epsilon(); !(got >= want*(1-1e-15) && got <= want*(1+1e-11)) {
				t.Errorf("orders %v, ρ=%v spent: %v, want %v", orders, spent, got, want)
			}
		}
	}
}

// 150 random adaptive runs: whatever order of events is chosen, what was spent is within
// the target when it is looked at as a plan.
func TestFilterNeverPassesItsBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for range 150 {
		relation := accountant.Relation(rng.IntN(3))
		target := accountant.Guarantee{Epsilon: math.Exp(4*rng.Float64() - 1), Delta: math.Exp(-20*rng.Float64() - 3), Relation: relation}
		f, err := NewFilter(target, FilterOrders())
		if errors.Is(err, accountant.ErrUnreachable) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for refused < 5 {
			e := accountant.PoissonSampled{SamplingProbability: math.Exp(-5 * rng.Float64()), Event: accountant.Gaussian{NoiseMultiplier: math.Exp(3 * rng.Float64())}}
			count := 1 + rng.IntN(50)
			allowed, err := f.Allow(e, count)
			if err != nil {
				t.Fatal(err)
			}
			before := f.Ledger().Count()
			spent, err := f.Spend(e, count)
			if err != nil || spent != allowed {
				t.Fatalf("Allow says %v, Spend %v, %v", allowed, spent, err)
			}
			if after := f.Ledger().Count(); after-before != map[bool]int{true: count}[spent] {
				t.Fatalf("spent %v: the ledger went from %d to %d releases", spent, before, after)
			}
			if !spent {
				refused++
			}
		}
		if g, err := rdpUnder(t, relation, FilterOrders()).Guarantee(f.Ledger(), target.Delta); err != nil || !g.Within(target) {
			t.Errorf("%v were spent under %v: %v, %v", f.Ledger().Entries(), target, g, err)
		}
	}
}

func TestFilterRefuses(t *testing.T) {
	target := accountant.Guarantee{Epsilon: 1, Delta: 1e-5}
	f, err := NewFilter(target, []float64{16, 32})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []accountant.Event{accountant.NonPrivate{}, accountant.Gaussian{NoiseMultiplier: 0}, accountant.Gaussian{NoiseMultiplier: 0.1}, accountant.ZCDP{Rho: 10}} {
		if ok, err := f.Spend(e, 1); ok || err != nil {
			t.Errorf("%v: %v, %v, want a refusal", e, ok, err)
		}
	}
	if ok, err := f.Allow(accountant.TreeAggregation{NoiseMultiplier: 1, Steps: 4}, 1); ok || !errors.Is(err, accountant.ErrUnsupported) {
		t.Errorf("tree: %v, %v, want ErrUnsupported", ok, err)
	}
	if ok, err := f.Allow(accountant.Gaussian{NoiseMultiplier: 1}, -1); ok || !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("count -1: %v, %v, want ErrInvalid", ok, err)
	}
	if ok, err := f.Spend(accountant.Gaussian{NoiseMultiplier: 20}, 1); !ok || err != nil || f.Ledger().Count() != 1 {
		t.Errorf("after refusals: %v, %v, %d releases; a cheap one should do", ok, err, f.Ledger().Count())
	}
	if ok, err := f.Spend(accountant.PoissonSampled{SamplingProbability: 0, Event: accountant.Gaussian{NoiseMultiplier: 1}}, 1000); !ok || err != nil {
		t.Errorf("free releases: %v, %v", ok, err)
	}
	for _, tt := range []struct {
		target accountant.Guarantee
		orders []float64
		want   error
	}{
		{accountant.Guarantee{Epsilon: 0, Delta: 1e-5}, FilterOrders(), accountant.ErrInvalid},
		{accountant.Guarantee{Epsilon: 1, Delta: 0}, FilterOrders(), accountant.ErrInvalid},
		{target, nil, accountant.ErrInvalid},
		{target, []float64{0.5}, accountant.ErrInvalid},
		{target, []float64{1.5, 2}, accountant.ErrUnreachable}, // log(1/δ)/(α-1) is above 11
	} {
		if _, err := NewFilter(tt.target, tt.orders); !errors.Is(err, tt.want) {
			t.Errorf("%v %v: %v, want %v", tt.target, tt.orders, err, tt.want)
		}
	}
}

// One Gaussian release of which everything is known: the privacy loss is N(μ²/2, μ²), and
// an odometer's bound holds with probability 1 - δ. (Exactly computed, no sampling.)
func TestOdometerCoversAGaussian(t *testing.T) {
	const delta = 1e-3
	o, err := NewOdometer(accountant.AddOrRemoveOne, delta, FilterOrders())
	if err != nil {
		t.Fatal(err)
	}
	if e := o.Epsilon(); e != 0 {
		t.Errorf("at first: %v, want 0", e)
	}
	previous := 0.0
	for n := 1; n <= 200; n++ {
		if err := o.Spend(accountant.Gaussian{NoiseMultiplier: 8}, 1); err != nil {
			t.Fatal(err)
		}
		mu := math.Sqrt(float64(n)) / 8
		e := o.Epsilon()
		if tail := math.Erfc((e-mu*mu/2)/mu/math.Sqrt2) / 2; !(tail <= delta) {
			t.Errorf("%d releases: the loss is above %v with probability %v, want at most %v", n, e, tail, delta)
		}
		exact, err := mechanism.GaussianEpsilon(1/mu, delta)
		if err != nil || !(e > previous && e >= exact) {
			t.Errorf("%d releases: %v, before %v, a plan has %v, %v", n, e, previous, exact, err)
		}
		previous = e
	}
}

// 4,000 runs of an adversary that stops as soon as the loss looks large: the loss passes the
// odometer's bound at some time in at most δ = 5 % of the runs. With the true rate at
// its largest, more than 273 of them would have a probability below 1e-5
// (binomial, 5.3 standard deviations).
func TestOdometerHoldsAtAllTimes(t *testing.T) {
	const delta, runs, sigma = 0.05, 4000, 4.0
	rng := rand.New(rand.NewPCG(12, 1))
	var bounds []float64
	o, err := NewOdometer(accountant.AddOrRemoveOne, delta, []float64{4, 8})
	if err != nil {
		t.Fatal(err)
	}
	for range 60 {
		if err := o.Spend(accountant.Gaussian{NoiseMultiplier: sigma}, 1); err != nil {
			t.Fatal(err)
		}
		bounds = append(bounds, o.Epsilon())
	}
	passed := 0
	for range runs {
		loss := 0.0
		for _, bound := range bounds {
			loss += 1/(2*sigma*sigma) + rng.NormFloat64()/sigma
			if loss > bound {
				passed++
				break
			}
		}
	}
	if passed > 273 {
		t.Errorf("%d of %d runs pass the bound, want at most 5 %%", passed, runs)
	}
	if passed == 0 {
		t.Errorf("no run passes the bound: it is far too large")
	}
}

func TestOdometerRefuses(t *testing.T) {
	for _, delta := range []float64{0, 1, math.NaN()} {
		if _, err := NewOdometer(accountant.AddOrRemoveOne, delta, FilterOrders()); !errors.Is(err, accountant.ErrInvalid) {
			t.Errorf("delta %v: %v, want ErrInvalid", delta, err)
		}
	}
	o, err := NewOdometer(accountant.AddOrRemoveOne, 1e-5, FilterOrders())
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Spend(accountant.TreeAggregation{NoiseMultiplier: 1, Steps: 4}, 1); !errors.Is(err, accountant.ErrUnsupported) || o.Epsilon() != 0 {
		t.Errorf("tree: %v and %v, want ErrUnsupported and 0", err, o.Epsilon())
	}
	if err := o.Spend(accountant.NonPrivate{}, 1); err != nil || !math.IsInf(o.Epsilon(), 1) {
		t.Errorf("non-private: %v, %v, want +Inf", err, o.Epsilon())
	}
}
