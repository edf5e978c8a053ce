package theorems_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/theorems"
	"dpsgd/internal/tiny"
)

// linear is the divergence, over its order, of the last iterate of steps w ← c·w + Z, with c of the
// batch and Z ~ N(0, 1), where the record at a place moves its step by 1: two normal distributions,
// whose means and variance are added up here.
func linear(c []float64, passes, place int) float64 {
	moved, variance := 0.0, 0.0
	for range passes {
		for j := range c {
			moved, variance = c[j]*moved, c[j]*c[j]*variance+1
			if j == place {
				moved++
			}
		}
	}
	return moved * moved / (2 * variance)
}

// No linear contractions and no place have a larger divergence than the bound, and some have it:
// random ones, and those that forget everything before the last move. The bound without its last
// move, and one that takes half of the others, are below the truth somewhere.
func TestLastIterateOfLinearSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	attained, withoutLast, halfOfOthers := 0, false, false
	for passes := 1; passes <= 5; passes++ {
		for batches := 1; batches <= 4; batches++ {
			rho := tiny.Must(theorems.LastIterate{NoiseMultiplier: 1, Passes: passes, Batches: batches, Reach: math.Inf(1)}.Rho(1))(t)
			for try := range 400 {
				c := make([]float64, batches)
				for j := range c {
					switch c[j] = 1; try {
					case 0:
					case 1:
						c[j] = min(1, float64(batches-1-j)) // the last step forgets
					default:
						c[j] = max(-1, min(1, 3*rng.Float64()-1.5))
					}
				}
				for place := range batches {
					found := linear(c, passes, place)
					if found > rho*(1+1e-12) {
						t.Fatalf("%d passes of %v, place %d: divergence %v·α, bound %v·α", passes, c, place, found, rho)
					}
					if found > rho*(1-1e-9) {
						attained++
					}
					withoutLast = withoutLast || found > rho-0.5
					halfOfOthers = halfOfOthers || found > (rho+0.5)/2
				}
			}
		}
	}
	if attained < 5 || !withoutLast || !halfOfOthers {
		t.Errorf("the bound is attained %d times; too small bounds are refuted: %t, %t", attained, withoutLast, halfOfOthers)
	}
}

// projected is the divergence of order 2, over 2, of the last iterate of w ← [w + N(0, σ²)] in an
// interval, where the record of the last batch of a pass moves its step by 1: by 600 cells for the
// distributions, and the two ends, where the projection puts some of them.
func projected(width, sigma float64, passes, batches int) float64 {
	const cells = 600
	at := func(i int) float64 { // the middle of a cell; of the first and the last, the ends
		return max(0, min(width, (float64(i)-0.5)*width/(cells-2)))
	}
	below := func(x float64) float64 { return math.Erfc(-x/(sigma*math.Sqrt2)) / 2 }
	kernel := make([]float64, 0, 2*cells*cells) // of a step without the record, and of one with it
	for _, moved := range []float64{0, 1} {
		for from := range cells {
			for to := range cells {
				lo, hi := 0.0, 1.0
				if to > 0 {
					lo = below(float64(to-1)*width/(cells-2) - at(from) - moved)
				}
				if to < cells-1 {
					hi = below(float64(to)*width/(cells-2) - at(from) - moved)
				}
				kernel = append(kernel, hi-lo)
			}
		}
	}
	step := func(p, kernel []float64) []float64 {
		next := make([]float64, cells)
		for from, mass := range p {
			for to, chance := range kernel[from*cells : (from+1)*cells] {
				next[to] += mass * chance
			}
		}
		return next
	}
	p, q := make([]float64, cells), make([]float64, cells)
	p[0], q[0] = 1, 1
	for n := range passes * batches {
		p = step(p, kernel[:cells*cells])
		if n%batches == batches-1 {
			q = step(q, kernel[cells*cells:])
		} else {
			q = step(q, kernel[:cells*cells])
		}
	}
	sum := 0.0
	for i := range p {
		if p[i] > 0 {
			sum += p[i] * p[i] / q[i]
		}
	}
	return math.Log(sum) / 2
}

// In an interval, more passes cost no more after a while, and never more than the bound, by numbers
// (within 1 %, for the cells). A bound that counts from a third of the diameter is below the truth.
func TestLastIterateInAnInterval(t *testing.T) {
	refuted := false
	for _, tt := range []struct {
		width, sigma    float64
		passes, batches int
	}{{2, 1, 1, 1}, {2, 1, 12, 1}, {1, 0.5, 6, 1}, {4, 1, 8, 1}, {4, 1, 4, 3}, {1, 1, 10, 2}, {0.5, 1, 6, 1}} {
		l := theorems.LastIterate{NoiseMultiplier: tt.sigma, Passes: tt.passes, Batches: tt.batches, Reach: tt.width}
		rho := tiny.Must(l.Rho(1))(t)
		found := projected(tt.width, tt.sigma, tt.passes, tt.batches)
		if found > rho*1.01 {
			t.Errorf("%+v: divergence %v·α, bound %v·α", l, found, rho)
		}
		l.Reach /= 3
		small, _ := l.Rho(1)
		refuted = refuted || found > small*1.01
		t.Logf("%+v: divergence %v·α, bound %v·α, from a third of the diameter %v·α", tt, found, rho, small)
	}
	if !refuted {
		t.Error("a third of the diameter is as good as all of it")
	}
}

// The bound of each kind by hand: one pass, many passes, the plateau 4·D/s of a long run, replacing
// a record.
func TestLastIterateByHand(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		l     theorems.LastIterate
		moves float64
		want  float64 // 2·σ²·ρ
	}{
		{theorems.LastIterate{NoiseMultiplier: 3, Passes: 1, Batches: 100, Reach: inf}, 1, 1},
		{theorems.LastIterate{NoiseMultiplier: 3, Passes: 21, Batches: 100, Reach: inf}, 1, 1.2},
		{theorems.LastIterate{NoiseMultiplier: 3, Passes: 50, Batches: 1, Reach: inf}, 1, 50},
		{theorems.LastIterate{NoiseMultiplier: 3, Passes: 5000, Batches: 1, Reach: 10}, 1, 40},
		{theorems.LastIterate{NoiseMultiplier: 3, Passes: 5000, Batches: 1, Reach: 20}, 2, 160},
		{theorems.LastIterate{NoiseMultiplier: 3, Passes: 5000, Batches: 8, Reach: 10}, 1, 1 + 40.0/8},
		{theorems.LastIterate{NoiseMultiplier: 3, Passes: 5000, Batches: 8, Reach: 0}, 1, 1 + 1.0/8},
		{theorems.LastIterate{NoiseMultiplier: 3, Passes: 4, Batches: 8, Reach: 0}, 2, 4 * (1 + 1.0/8)},
	} {
		rho, err := tt.l.Rho(tt.moves)
		if found := rho * 18; err != nil || found < tt.want || found > tt.want*(1+1e-12) {
			t.Errorf("%+v: found %v (%v), expected %v", tt.l, found, err, tt.want)
		}
	}
	for _, wrong := range []theorems.LastIterate{{}, {NoiseMultiplier: 1, Passes: 1}, {NoiseMultiplier: math.NaN(), Passes: 1, Batches: 1}, {NoiseMultiplier: 1, Passes: 1, Batches: 1, Reach: -1}} {
		if _, err := wrong.Rho(1); !errors.Is(err, accountant.ErrInvalid) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}
