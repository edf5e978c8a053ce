package pld_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/pld"
	"dpsgd/accountant/rdp"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

func epochs(t *testing.T, bins int, sigma float64, epochs int) *accountant.Ledger {
	t.Helper()
	return ledgerOf(t, accountant.BallsInBins{Bins: bins, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, bins*epochs)
}

func ledgerOf(t *testing.T, e accountant.Event, count int) *accountant.Ledger {
	t.Helper()
	var l accountant.Ledger
	tiny.Check(t, l.Add(e, count))
	return &l
}

// Bounds of ε are at most 0.1 % apart, and lie below the bound by Rényi divergences, whose numbers
// share nothing with them. Slow: from 2 to 10,000 bins, noise from 0.3 to 20, 1 to 100 epochs; with
// DPSGD_EVERY=5 one of these for each number of bins and noise, not five.
func TestBallsInBinsBounds(t *testing.T) {
	sizes, sigmas, counts := []int{2, 117}, []float64{0.7, 3}, []int{1, 10}
	if slow.Asked() {
		sizes = []int{2, 3, 5, 31, 117, 500, 1000, 4095, 10_000}
		sigmas = []float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.5, 3, 8, 20}
		counts = []int{1, 3, 10, 30, 100}
	}
	a := tiny.Must(pld.NewExact(accountant.ZeroOut))(t)
	renyi := tiny.Must(rdp.New(accountant.ZeroOut, rdp.DefaultOrders()))(t)
	worst, every := 0.0, slow.Number(t, "DPSGD_EVERY", 1, 1)
	for i, bins := range sizes {
		for j, sigma := range sigmas {
			for k, n := range counts {
				if (i+j+k)%every != 0 {
					continue
				}
				l := epochs(t, bins, sigma, n)
				for _, delta := range []float64{1e-5, 1e-8, 1e-10} {
					i := tiny.Must(a.EpsilonInterval(l, delta))(t)
					gap := (i.Upper - i.Lower) / i.Upper
					worst = max(worst, gap)
					if !(gap >= 0 && gap <= 0.001) {
						t.Errorf("%d bins, σ %v, %d epochs, δ %v: ε in [%v, %v]", bins, sigma, n, delta, i.Lower, i.Upper)
					}
					back := tiny.Must(a.DeltaInterval(l, i.Upper))(t)
					if !(back.Lower <= delta && back.Upper >= back.Lower) {
						t.Errorf("%d bins, σ %v, %d epochs: δ in %v at the ε of δ %v", bins, sigma, n, back, delta)
					}
				}
				g := tiny.Must(renyi.Guarantee(l, 1e-5))(t)
				if i := tiny.Must(a.EpsilonInterval(l, 1e-5))(t); i.Lower > g.Epsilon {
					t.Errorf("%d bins, σ %v, %d epochs: ε of at least %v, %v by Rényi divergences", bins, sigma, n, i.Lower, g.Epsilon)
				}
			}
		}
	}
	t.Logf("bounds are at most %.2g apart", worst)
}

// δ is within its bounds by simulation of the losses under P, with Bernstein's inequality at a
// chance of 1e-9 for each of the comparisons, of which there are at most 100. Slow: 10^7 draws.
func TestBallsInBinsBySimulation(t *testing.T) {
	draws := 20_000
	if slow.Asked() {
		draws = 10_000_000
	}
	a := tiny.Must(pld.New(accountant.ZeroOut))(t)
	random := rand.New(rand.NewPCG(28, 1))
	for _, c := range []struct {
		bins, epochs int
		sigma        float64
		epsilons     []float64
	}{
		{2, 1, 1, []float64{0.5, 1.5}},
		{5, 3, 0.7, []float64{1, 3, 6}},
		{10, 2, 0.4, []float64{2, 8}},
		{20, 1, 3, []float64{0.02, 0.1}},
	} {
		// For every ε the sum and the sum of squares of (1 - e^(ε-L))₊, in both directions.
		sums := make([][2][2]float64, len(c.epsilons))
		for range draws {
			for direction := range 2 {
				loss := 0.0
				for range c.epochs {
					loss += drawnLoss(random, c.bins, c.sigma, direction == 0)
				}
				for k, epsilon := range c.epsilons {
					if x := -math.Expm1(epsilon - loss); x > 0 {
						sums[k][direction][0] += x
						sums[k][direction][1] += x * x
					}
				}
			}
		}
		for k, epsilon := range c.epsilons {
			i := tiny.Must(a.DeltaInterval(epochs(t, c.bins, c.sigma, c.epochs), epsilon))(t)
			var low, high float64
			for _, s := range sums[k] {
				mean, off := s[0]/float64(draws), bernstein(s, float64(draws))
				low, high = max(low, mean-off), max(high, mean+off)
			}
			if i.Upper < low || i.Lower > high {
				t.Errorf("%d bins, σ %v, %d epochs: δ(%v) in %v, by simulation between %v and %v", c.bins, c.sigma, c.epochs, epsilon, i, low, high)
			}
		}
	}
}

// bernstein returns how far the mean of n draws from [0, 1], with this sum and sum of squares, lies
// from its expectation but for a chance of 1e-9 (Maurer, Pontil 2009, arXiv:0907.3740, Theorem 4, on
// both sides).
func bernstein(sum [2]float64, n float64) float64 {
	log := math.Log(4e9)
	variance := (sum[1] - sum[0]*sum[0]/n) / (n - 1)
	return math.Sqrt(2*variance*log/n) + 7*log/(3*(n-1))
}

// drawnLoss draws the loss of one epoch under P, for the direction in which D has the record if
// with.
func drawnLoss(random *rand.Rand, bins int, sigma float64, with bool) float64 {
	sum := 0.0
	for k := range bins {
		x := sigma * random.NormFloat64()
		if with && k == 0 {
			x++
		}
		sum += math.Exp((x - 0.5) / (sigma * sigma))
	}
	loss := math.Log(sum / float64(bins))
	if !with {
		return -loss
	}
	return loss
}

// An epoch of one bin has no amplification, and one that was cut short costs as much as a whole one.
func TestBallsInBinsOfOneBin(t *testing.T) {
	a := tiny.Must(pld.NewExact(accountant.ZeroOut))(t)
	gaussian := ledgerOf(t, accountant.Gaussian{NoiseMultiplier: 2}, 7)
	want := tiny.Must(a.EpsilonInterval(gaussian, 1e-5))(t)
	if got := tiny.Must(a.EpsilonInterval(epochs(t, 1, 2, 7), 1e-5))(t); got != want {
		t.Errorf("7 epochs of one bin: ε in %v, 7 Gaussian releases: %v", got, want)
	}
	e := accountant.BallsInBins{Bins: 10, Event: accountant.Gaussian{NoiseMultiplier: 1}}
	for steps, whole := range map[int]int{1: 1, 10: 1, 11: 2, 20: 2, 29: 3} {
		part := tiny.Must(a.EpsilonInterval(ledgerOf(t, e, steps), 1e-5))(t)
		if want := tiny.Must(a.EpsilonInterval(epochs(t, 10, 1, whole), 1e-5))(t); part != want {
			t.Errorf("%d steps of epochs of 10: ε in %v, %d epochs: %v", steps, part, whole, want)
		}
	}
}

// More noise, more bins and fewer epochs never cost more, up to and beyond the limits of what the
// bounds are computed for, by more than the bounds are apart.
func TestBallsInBinsIsMonotone(t *testing.T) {
	a := tiny.Must(pld.NewExact(accountant.ZeroOut))(t)
	last := math.Inf(1)
	for _, sigma := range []float64{0.01, 0.0499, 0.05, 0.1, 1, 100, 1e4, 1e6} {
		i := tiny.Must(a.EpsilonInterval(epochs(t, 20, sigma, 2), 1e-5))(t)
		if !(i.Upper <= last*1.001 && i.Lower <= i.Upper) {
			t.Errorf("σ %v: ε in %v, with less noise %v", sigma, i, last)
		}
		last = i.Upper
	}
	last = math.Inf(1)
	for _, bins := range []int{1, 2, 3, 64, 1 << 20, 1 << 24} {
		i := tiny.Must(a.EpsilonInterval(epochs(t, bins, 1.5, 1), 1e-5))(t)
		if !(i.Upper <= last*1.001 && i.Lower <= i.Upper) {
			t.Errorf("%d bins: ε in %v, with fewer %v", bins, i, last)
		}
		last = i.Upper
	}
}
