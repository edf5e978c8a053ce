package accountant

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// randomTarget draws a budget with ε from 0.01 to 150 and δ from 1e-12 to 0.01.
func randomTarget(rng *rand.Rand) Guarantee {
	return Guarantee{Epsilon: math.Exp(9.6*rng.Float64() - 4.6), Delta: math.Exp(-23*rng.Float64() - 4.6)}
}

// 1,000 random calibrations: the guarantee that a fresh accountant computes for the
// result is within target, and a hundred-thousandth less noise would exceed it.
func TestCalibrationIsPrivateAndTight(t *testing.T) {
	const parts = 4
	each := 250
	if testing.Short() { // for the race detector
		each = 25
	}
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(4, uint64(part)))
			a := newRDP(t, DefaultOrders())
			for range each {
				q := math.Exp(-9 * rng.Float64())
				steps := 1 + int(math.Exp(12*rng.Float64()))
				target := randomTarget(rng)
				event := func(sigma float64) Event { return PoissonSampled{q, Gaussian{sigma}} }
				sigma, err := CalibrateNoiseMultiplier(a, event, steps, target)
				if err != nil {
					t.Fatalf("q=%v T=%d %v: %v", q, steps, target, err)
				}
				l := mustLedger(t, Entry{event(sigma), steps})
				if g, err := newRDP(t, DefaultOrders()).Guarantee(l, target.Delta); err != nil || !g.Within(target) {
					t.Errorf("q=%v T=%d %v: σ=%v gives %v, %v", q, steps, target, sigma, g.Epsilon, err)
				}
				less := mustLedger(t, Entry{event(sigma * (1 - 1e-5)), steps})
				if e := epsilon(t, a, less, target.Delta); e <= target.Epsilon {
					t.Errorf("q=%v T=%d %v: σ=%v, but 1e-5 less gives %v", q, steps, target, sigma, e)
				}
			}
		})
	}
}

func TestCalibrationAtTheEnds(t *testing.T) {
	a := newRDP(t, DefaultOrders())
	gaussian := func(sigma float64) Event { return Gaussian{sigma} }
	target := Guarantee{Epsilon: 1, Delta: 1e-5}

	never := func(sigma float64) Event { return PoissonSampled{0, Gaussian{sigma}} }
	if sigma, err := CalibrateNoiseMultiplier(a, never, 10, target); err != nil || relative(sigma, minCalibrated) > 1e-9 {
		t.Errorf("q=0: σ=%v, %v, want the least, %v", sigma, err, minCalibrated)
	}
	// The orders end at 8192, where the conversion alone is above 1e-5.
	if sigma, err := CalibrateNoiseMultiplier(a, gaussian, 1, Guarantee{Epsilon: 1e-5, Delta: 1e-10}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("tiny epsilon: σ=%v, %v, want ErrUnreachable", sigma, err)
	}
	leaky := func(float64) Event { return NonPrivate{} }
	if sigma, err := CalibrateNoiseMultiplier(a, leaky, 1, target); !errors.Is(err, ErrUnreachable) {
		t.Errorf("non-private: σ=%v, %v, want ErrUnreachable", sigma, err)
	}
}

func TestCalibrationRefuses(t *testing.T) {
	a := newRDP(t, DefaultOrders())
	gaussian := func(sigma float64) Event { return Gaussian{sigma} }
	good := Guarantee{Epsilon: 1, Delta: 1e-5}
	for _, tt := range []struct {
		name   string
		event  func(float64) Event
		steps  int
		target Guarantee
		want   error
	}{
		{"no steps", gaussian, 0, good, ErrInvalid},
		{"negative steps", gaussian, -3, good, ErrInvalid},
		{"epsilon 0", gaussian, 1, Guarantee{Epsilon: 0, Delta: 1e-5}, ErrInvalid},
		{"epsilon NaN", gaussian, 1, Guarantee{Epsilon: math.NaN(), Delta: 1e-5}, ErrInvalid},
		{"epsilon infinite", gaussian, 1, Guarantee{Epsilon: math.Inf(1), Delta: 1e-5}, ErrInvalid},
		{"delta 0", gaussian, 1, Guarantee{Epsilon: 1}, ErrInvalid},
		{"delta 1", gaussian, 1, Guarantee{Epsilon: 1, Delta: 1}, ErrInvalid},
		{"other relation", gaussian, 1, Guarantee{Epsilon: 1, Delta: 1e-5, Relation: ReplaceOne}, ErrUnsupported},
		{"no event", nil, 1, good, ErrInvalid},
		{"nil event", func(float64) Event { return nil }, 1, good, ErrInvalid},
		{"unsupported event", func(s float64) Event { return nested(3) }, 1, good, ErrUnsupported},
	} {
		if sigma, err := CalibrateNoiseMultiplier(a, tt.event, tt.steps, tt.target); !errors.Is(err, tt.want) || sigma != 0 {
			t.Errorf("%s: σ=%v, %v, want %v", tt.name, sigma, err, tt.want)
		}
		if tt.event == nil {
			continue
		}
		if n, err := MaxSteps(a, tt.event(1), tt.target, tt.steps); tt.steps != 0 && (!errors.Is(err, tt.want) || n != 0) {
			t.Errorf("%s: MaxSteps %d, %v, want %v", tt.name, n, err, tt.want)
		}
	}
}

// narrow ends on the right side of every kind of falling function, also of jumps and
// of ones with infinite values.
func TestNarrow(t *testing.T) {
	inf := math.Inf(1)
	for name, f := range map[string]func(float64) float64{
		"line":     func(x float64) float64 { return 0.3 - x },
		"cubic":    func(x float64) float64 { return -math.Pow(x-0.3, 3) },
		"flat":     func(x float64) float64 { return math.Expm1(40*(0.3-x)) * 1e-9 },
		"jump":     func(x float64) float64 { return math.Copysign(1, 0.3-x) },
		"infinite": func(x float64) float64 { return math.Copysign(inf, 0.3-x) },
		"log":      func(x float64) float64 { return math.Log(max(0, 0.6-x) / 0.3) },
	} {
		calls := 0
		got := narrow(func(x float64) float64 { calls++; return f(x) }, 0, f(0), 1, f(1), 1e-9)
		if f(got) > 0 || got > 0.3+1.1e-9 {
			t.Errorf("%s: %v (f = %v), want 0.3 from the right", name, got, f(got))
		}
		if calls > 32 { // 30 halvings, one more, and one for rounding
			t.Errorf("%s: %d calls", name, calls)
		}
	}
}
