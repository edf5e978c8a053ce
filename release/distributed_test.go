package release

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

func distributed(sigma float64, shares Shares, seed uint64, pool *kernel.Pool) Mechanism {
	return seeded{must(NewDistributed(&ConstantNoise{}, sigma, 1, shares, pool)), random.ForTest(seed)}
}

// The noise of all clients together passes the battery of Gaussian noise: the noise accounted for
// where the fewest clients come, and more where more come. The event describes the fewest.
func TestDistributedPassesTheBattery(t *testing.T) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	for i, c := range []struct {
		sigma, bound  float64
		come, clients int
	}{{1, 1, 1, 1}, {0.5, 0.01, 3, 5}, {4, 100, 5, 5}} {
		t.Run(fmt.Sprintf("%d of %d", c.come, c.clients), func(t *testing.T) {
			shares := Shares{Clients: c.clients, Least: min(3, c.clients), ModulusBits: 52, Present: func(int) int { return c.come }}
			m := distributed(c.sigma, shares, uint64(50+i), pool)
			if m.Event(0) != (accountant.Gaussian{NoiseMultiplier: c.sigma}) {
				t.Errorf("the event is %v", m.Event(0))
			}
			more := math.Sqrt(float64(c.come) / float64(shares.Least))
			publish := func(step int, sum *clip.Sum) []float64 { return published(t, m, step, sum) }
			for _, fault := range noiseFaults(publish, more*c.sigma, c.bound) {
				t.Error(fault)
			}
		})
	}
}

// The battery rejects clients who share the work wrongly: each adds the noise of all (as where
// every client adds σ·C), each adds its part of the deviation in place of the variance, one of
// three is not there, noise is half or twice what it should be.
func TestBatteryRejectsBrokenShares(t *testing.T) {
	const sigma, bound, clients = 1.0, 0.5, 3
	for name, factor := range map[string]float64{"all by each": math.Sqrt(clients), "parts of the deviation": 1 / math.Sqrt(clients), "one is missing": math.Sqrt(2. / 3), "half": 0.5, "twice": 2} {
		m := distributed(factor*sigma, Shares{Clients: clients, Least: clients, ModulusBits: 52}, 60, nil)
		publish := func(step int, sum *clip.Sum) []float64 { return published(t, m, step, sum) }
		if len(noiseFaults(publish, sigma, bound)) == 0 {
			t.Errorf("%s: the battery finds nothing", name)
		}
	}
}

// With fewer clients than the noise is accounted for nothing leaves, and the sum stays what it was.
func TestTooFewClients(t *testing.T) {
	come := 2
	m := distributed(1, Shares{Clients: 5, Least: 3, ModulusBits: 40, Present: func(int) int { return come }}, 1, nil)
	sum := emptySum(1, 100)
	if err := m.Privatize(0, sum, nil, func(Noisy) { t.Error("a sum left") }); !errors.Is(err, ErrTooFew) {
		t.Errorf("found %v, expected %v", err, ErrTooFew)
	}
	if come = 3; m.Privatize(0, sum, nil, func(Noisy) {}) != nil {
		t.Error("the sum is gone")
	}
	for _, wrong := range []Shares{{}, {Clients: 3, ModulusBits: 40}, {Clients: 3, Least: 4, ModulusBits: 40}, {Clients: 3, Least: 3, ModulusBits: 53}, {Clients: 3, Least: 3, ModulusBits: 1}} {
		if _, err := NewDistributed(&ConstantNoise{}, 1, 1, wrong, nil); !errors.Is(err, ErrPlan) {
			t.Errorf("%+v: found %v, expected %v", wrong, err, ErrPlan)
		}
	}
	// So little noise that a share is not smooth on the lattice is refused, and a lattice that is finer.
	fine := emptySum(1, 100)
	fine.Refine(1 << 39) // by one digit
	for sigma, sum := range map[float64]*clip.Sum{1e-6: emptySum(1, 100), 1: fine} {
		m = distributed(sigma, Shares{Clients: 5, Least: 5, ModulusBits: 40}, 1, nil)
		if err := m.Privatize(0, sum, nil, func(Noisy) { t.Error("a sum left") }); !errors.Is(err, ErrPlan) {
			t.Errorf("σ %v: found %v, expected %v", sigma, err, ErrPlan)
		}
	}
	// Shares of a little more have together the variance that is accounted for, and that of the smoothing.
	m = distributed(1e-5, Shares{Clients: 5, Least: 5, ModulusBits: 40}, 1, nil)
	must(0, m.Privatize(0, emptySum(1, 100), nil, func(Noisy) {}))
	if s := m.(seeded).Mechanism.(*Distributed).share.Float64(); 5*s*s < math.Pow(1e-5*(1<<20), 2)+smoothing {
		t.Errorf("found shares of deviation %v", s)
	}
}

// What the server sees is the sum modulo 2^k: out of range it wraps around, inside it is exact.
func TestSumsModuloAPowerOfTwo(t *testing.T) {
	m := distributed(1, Shares{Clients: 1, Least: 1, ModulusBits: 8}, 1, nil)
	for x, want := range map[int64]int64{0: 0, 127: 127, 128: -128, -128: -128, -129: 127, 256: 0, 300: 44, -1: -1, math.MaxInt64: -1, math.MinInt64: 0} {
		if got := m.(seeded).Mechanism.(*Distributed).wrapped(x); got != want {
			t.Errorf("%d modulo 2^8 is %d, expected %d", x, got, want)
		}
	}
	// C/g is 2^20 at C = 1, so that noise of σ = 4 wraps a modulus of 2^22 around, and not one of
	// 2^40.
	for bits, wraps := range map[int]bool{22: true, 40: false} {
		m := distributed(4, Shares{Clients: 2, Least: 2, ModulusBits: bits}, 2, nil)
		largest := 0.0
		for _, v := range published(t, m, 0, emptySum(1, 10_000)) {
			largest = max(largest, math.Abs(v))
		}
		half := math.Ldexp(1, bits-21)
		if (largest > 0.999*half) != wraps || largest > half {
			t.Errorf("modulo 2^%d: values reach %g of %g", bits, largest, half)
		}
	}
}

// The bound of Kairouz, Liu, Steinke (arXiv:2102.06387, Theorem 1: ½·ε²-concentrated for ε =
// Δ/(√n·s) + τ·√d, τ = 10·Σ_{k<n} exp(-2π²s²k/(k+1))) says of the shares what the event says, the
// Gaussian mechanism's ½/σ², to ten digits. s and Δ in spacings of the lattice.
func TestDistributedAgainstThePaper(t *testing.T) {
	const d = 1e6
	for _, c := range []struct {
		sigma   float64
		clients int
	}{{0.5, 2}, {1, 100}, {8, 10_000}} {
		const delta = 1 << 20
		s := math.Sqrt((math.Pow(c.sigma*delta, 2) + smoothing) / float64(c.clients))
		tau := 0.0
		for k := 1.0; k < float64(c.clients); k++ {
			tau += 10 * math.Exp(-2*math.Pi*math.Pi*s*s*k/(k+1))
		}
		paper := delta/(math.Sqrt(float64(c.clients))*s) + tau*math.Sqrt(d)
		if ratio := paper * c.sigma; !(math.Abs(ratio-1) <= 1e-10) {
			t.Errorf("%+v: the paper's ε is %.12f of ours", c, ratio)
		}
	}
}

// A mechanism that adds almost nothing to δ: 10^6 parameters, 10^4 clients, 10^4 rounds at ε = 8.
func TestDistributedExcess(t *testing.T) {
	m := distributed(1, Shares{Clients: 10_000, Least: 1, ModulusBits: 40}, 1, nil).(seeded).Mechanism.(*Distributed)
	if excess, want := m.Excess(1e6*1e4, 8), (1+math.Exp(8))*1e10*1e4*perShare; !(math.Abs(excess-want) <= 1e-9*want && want < 1e-12) {
		t.Errorf("δ grows by %g, expected %g: by what each share of each value is from the law", excess, want)
	}
	if m.Excess(1e10, math.Inf(1)) != 1 {
		t.Error("δ grows by more than 1 or by no number")
	}
}
