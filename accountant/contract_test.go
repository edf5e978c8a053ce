package accountant

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestAccountantContract holds every accountant that New knows to the comment of
// Accountant.
func TestAccountantContract(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			a, err := New(name, AddOrRemoveOne)
			if err != nil {
				t.Fatal(err)
			}
			if a.Name() != name {
				t.Errorf("New(%q) is called %q", name, a.Name())
			}
			t.Run("special ledgers", func(t *testing.T) { testSpecialLedgers(t, a) })
			t.Run("unsupported", func(t *testing.T) { testUnsupported(t, a) })
			t.Run("arguments", func(t *testing.T) { testArguments(t, a) })
			t.Run("pure", func(t *testing.T) { testPure(t, a) })
			t.Run("monotone", func(t *testing.T) { testMonotone(t, a) })
		})
	}
	if _, err := New("moments", AddOrRemoveOne); !errors.Is(err, ErrUnsupported) {
		t.Errorf("New of an unknown name: %v, want ErrUnsupported", err)
	}
}

func epsilon(t *testing.T, a Accountant, l *Ledger, delta float64) float64 {
	t.Helper()
	g, err := a.Guarantee(l, delta)
	if err != nil {
		t.Fatal(err)
	}
	if math.IsNaN(g.Epsilon) || g.Epsilon < 0 || g.Delta != delta || g.Method == "" {
		t.Fatalf("%v at delta %v: %+v", l.Entries(), delta, g)
	}
	return g.Epsilon
}

func testSpecialLedgers(t *testing.T, a Accountant) {
	inf := math.Inf(1)
	plain := mustLedger(t, Entry{Gaussian{2}, 5})
	for _, tt := range []struct {
		name   string
		ledger *Ledger
		want   float64
	}{
		{"empty", &Ledger{}, 0},
		{"q=0", mustLedger(t, Entry{PoissonSampled{0, Gaussian{1}}, 1000}), 0},
		{"q=0, σ=0", mustLedger(t, Entry{PoissonSampled{0, Gaussian{0}}, 1}), 0},
		{"q=0 of non-private", mustLedger(t, Entry{PoissonSampled{0, NonPrivate{}}, 1}), 0},
		{"q=1 is not sampled", mustLedger(t, Entry{PoissonSampled{1, Gaussian{2}}, 5}), epsilon(t, a, plain, 1e-5)},
		{"q=0 beside others", mustLedger(t, Entry{PoissonSampled{0, Gaussian{1}}, 9}, Entry{Gaussian{2}, 5}), epsilon(t, a, plain, 1e-5)},
		{"in two entries", mustLedger(t, Entry{Gaussian{2}, 2}, Entry{PoissonSampled{0, Gaussian{1}}, 9}, Entry{Gaussian{2}, 3}), epsilon(t, a, plain, 1e-5)},
		{"σ=0", mustLedger(t, Entry{Gaussian{0}, 1}), inf},
		{"σ=0 sampled", mustLedger(t, Entry{PoissonSampled{1e-9, Gaussian{0}}, 1}), inf},
		{"σ=5e-324", mustLedger(t, Entry{Gaussian{5e-324}, 1}), inf},
		{"non-private", mustLedger(t, Entry{NonPrivate{}, 1}), inf},
		{"non-private sampled", mustLedger(t, Entry{PoissonSampled{1e-9, NonPrivate{}}, 1}), inf},
		{"non-private among others", mustLedger(t, Entry{Gaussian{2}, 5}, Entry{NonPrivate{}, 1}), inf},
	} {
		got := epsilon(t, a, tt.ledger, 1e-5)
		if got != tt.want && !(math.Abs(got-tt.want) < 1e-12*tt.want) {
			t.Errorf("%s: epsilon %v, want %v", tt.name, got, tt.want)
		}
	}
}

func testUnsupported(t *testing.T, a Accountant) {
	twice := PoissonSampled{0.5, PoissonSampled{0.5, Gaussian{1}}}
	g, err := a.Guarantee(mustLedger(t, Entry{Gaussian{1}, 1}, Entry{twice, 1}), 1e-5)
	if !errors.Is(err, ErrUnsupported) || g != (Guarantee{}) {
		t.Errorf("%v: %+v, %v, want ErrUnsupported and nothing else", twice, g, err)
	}
}

func testArguments(t *testing.T, a Accountant) {
	l := mustLedger(t, Entry{Gaussian{1}, 1})
	for _, delta := range []float64{0, -1e-5, 1, 2, math.NaN(), math.Inf(1)} {
		if g, err := a.Guarantee(l, delta); !errors.Is(err, ErrInvalid) {
			t.Errorf("delta %v: %+v, %v, want ErrInvalid", delta, g, err)
		}
	}
	if g, err := a.Guarantee(nil, 1e-5); !errors.Is(err, ErrInvalid) {
		t.Errorf("nil ledger: %+v, %v, want ErrInvalid", g, err)
	}
}

// Questions change neither the ledger nor later answers.
func testPure(t *testing.T, a Accountant) {
	l := mustLedger(t, Entry{PoissonSampled{0.01, Gaussian{1}}, 100}, Entry{Gaussian{50}, 2})
	other := mustLedger(t, Entry{PoissonSampled{0.5, Gaussian{3}}, 7})
	first := epsilon(t, a, l, 1e-5)
	epsilon(t, a, other, 1e-3)
	epsilon(t, a, l, 1e-9)
	if again := epsilon(t, a, l, 1e-5); again != first || l.Count() != 102 {
		t.Errorf("asked twice: %v and %v; count %d", first, again, l.Count())
	}
}

// Epsilon is above 0 for private events at realistic δ, and more steps, more
// sampling, less noise or a smaller δ never make it smaller.
func testMonotone(t *testing.T, a Accountant) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 150 {
		q := math.Exp(-9 * rng.Float64())
		sigma := math.Exp(4*rng.Float64() - 1)
		steps := 1 + rng.IntN(20000)
		delta := math.Exp(-25*rng.Float64()-1) * min(1, q)
		ask := func(q, sigma float64, steps int, delta float64) float64 {
			return epsilon(t, a, mustLedger(t, Entry{PoissonSampled{q, Gaussian{sigma}}, steps}), delta)
		}
		e := ask(q, sigma, steps, delta)
		if !(e > 0) || math.IsInf(e, 1) {
			t.Fatalf("q=%v σ=%v T=%d δ=%v: epsilon %v", q, sigma, steps, delta, e)
		}
		part := 0.2 * rng.Float64()
		for name, more := range map[string]float64{
			"one more step":    ask(q, sigma, steps+1, delta),
			"twice the steps":  ask(q, sigma, 2*steps, delta),
			"more sampling":    ask(q+(1-q)*part, sigma, steps, delta),
			"no sampling":      ask(1, sigma, steps, delta),
			"less noise":       ask(q, sigma*(1-part), steps, delta),
			"a smaller delta":  ask(q, sigma, steps, delta*(1-part)),
			"a tiny delta":     ask(q, sigma, steps, delta*1e-6),
			"a Gaussian extra": epsilon(t, a, mustLedger(t, Entry{PoissonSampled{q, Gaussian{sigma}}, steps}, Entry{Gaussian{100}, 1}), delta),
		} {
			if !(more >= e*(1-1e-11)) { // divergences are rounded
				t.Fatalf("q=%v σ=%v T=%d δ=%v: epsilon %v, and %v with %s", q, sigma, steps, delta, e, more, name)
			}
		}
	}
}
