package mechanism

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant/internal/numeric"
)

func bigLaplaceDelta(scale, epsilon float64) *big.Float {
	gap := sub(div(bf(1), bf(scale)), bf(epsilon))
	if gap.Sign() <= 0 {
		return bf(0)
	}
	return sub(bf(1), bigExp(div(gap, bf(-2))))
}

func TestLaplaceDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 2000 {
		scale := logUniform(rng, 1e-3, 1e12)
		epsilon := rng.Float64() * 1.2 / scale
		if rng.IntN(3) == 0 { // where the two terms of the exponent nearly cancel
			epsilon = 1 / scale * (1 - logUniform(rng, 1e-18, 1e-3))
		}
		got, err := LaplaceDelta(scale, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if want := bigLaplaceDelta(scale, epsilon); got < 1 {
			mustBeJustAbove(t, got, want, 1e-14, "b=%v ε=%v", scale, epsilon)
		}
	}
}

// The formula itself, against its definition: the integral of the positive part of
// p(z) - e^ε p(z-1), by the midpoint rule between the kinks.
func TestLaplaceDeltaIsTheHockeyStick(t *testing.T) {
	for _, tt := range []struct{ scale, epsilon float64 }{{1, 0}, {1, 0.25}, {0.5, 1}, {3, 0.1}, {0.2, 4.9}, {2, 0.6}} {
		density := func(z float64) float64 { return math.Exp(-math.Abs(z)/tt.scale) / (2 * tt.scale) }
		sum := 0.0
		const n = 200_000
		for _, piece := range [][2]float64{{-40 * tt.scale, 0}, {0, 1}, {1, 1 + 40*tt.scale}} {
			h := (piece[1] - piece[0]) / n
			for i := range n {
				z := piece[0] + (float64(i)+0.5)*h
				sum += h * max(0, density(z)-math.Exp(tt.epsilon)*density(z-1))
			}
		}
		got, err := LaplaceDelta(tt.scale, tt.epsilon)
		if err != nil || math.Abs(got-sum) > 1e-7 {
			t.Errorf("b=%v ε=%v: δ = %v, %v, the integral is %v", tt.scale, tt.epsilon, got, err, sum)
		}
	}
}

func TestLaplaceEpsilon(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for range 2000 {
		scale, delta := logUniform(rng, 1e-3, 1e12), randomDelta(rng)
		if rng.IntN(2) == 0 {
			delta = -math.Expm1(-rng.Float64() / (2 * scale)) // where ε is above 0
		}
		if delta == 0 || delta == 1 {
			continue
		}
		epsilon, err := LaplaceEpsilon(scale, delta)
		if err != nil || !(epsilon >= 0 && epsilon <= numeric.QuotientUp(1, scale)) {
			t.Fatal(scale, delta, epsilon, err)
		}
		if bigLaplaceDelta(scale, epsilon).Cmp(bf(delta)) > 0 {
			t.Errorf("b=%v δ=%v: ε = %v is below the true one", scale, delta, epsilon)
		}
		if less := epsilon * (1 - 1e-14); epsilon > 0 && bigLaplaceDelta(scale, less).Cmp(mul(bf(delta), bf(1-1e-14))) < 0 {
			t.Errorf("b=%v δ=%v: ε = %v, but %v is private", scale, delta, epsilon, less)
		}
	}
}

func TestLaplaceScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		epsilon := logUniform(rng, 1e-300, 1e300)
		scale, err := LaplaceScale(epsilon)
		if err != nil || mul(bf(scale), bf(epsilon)).Cmp(bf(1)) < 0 {
			t.Fatalf("ε=%v: b = %v, %v, below 1/ε", epsilon, scale, err)
		}
		if less := math.Nextafter(scale, 0); mul(bf(less), bf(epsilon)).Cmp(bf(1)) >= 0 {
			t.Errorf("ε=%v: b = %v, but %v is private", epsilon, scale, less)
		}
		if delta, err := LaplaceDelta(scale, epsilon); err != nil || delta != 0 {
			t.Errorf("ε=%v: b = %v has δ = %v, %v", epsilon, scale, delta, err)
		}
	}
}

func bigLaplaceRenyi(scale, alpha float64) *big.Float {
	b, a, one := bf(scale), bf(alpha), bf(1)
	a1 := sub(a, one)
	n := sub(mul(bf(2), a), one)
	first := mul(div(a, n), bigExp(div(a1, b)))
	second := mul(div(a1, n), bigExp(bf(0).Neg(div(a, b))))
	return div(bigLog(add(first, second)), a1)
}

func TestLaplaceRenyi(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1500 {
		scale := logUniform(rng, 1e-3, 1e12)
		alpha := 1 + logUniform(rng, 1e-12, 1e6)
		got, err := LaplaceRenyi(scale, alpha)
		if err != nil || got > numeric.QuotientUp(1, scale) {
			t.Fatal(scale, alpha, got, err)
		}
		if got < numeric.QuotientUp(1, scale) {
			mustBeJustAbove(t, got, bigLaplaceRenyi(scale, alpha), 1e-14, "b=%v α=%v", scale, alpha)
		}
	}
}

// No NaN, nothing negative, monotone in the order, at the ends of the range.
func TestLaplaceExtremes(t *testing.T) {
	for _, scale := range []float64{tinyFloat, 1e-308, 1e-200, 1e-3, 1, 1e10, 1e155, 1e300, math.MaxFloat64} {
		previous := 0.0
		for _, alpha := range []float64{math.Nextafter(1, 2), 1 + 1e-9, 1.5, 64, 1e9, 1e155, 1e300, math.MaxFloat64, math.Inf(1)} {
			d, err := LaplaceRenyi(scale, alpha)
			if err != nil || !(d > 0 && d >= previous*(1-1e-14)) {
				t.Errorf("b=%v α=%v: %v, %v, after %v at a lower order", scale, alpha, d, err, previous)
			}
			previous = d
		}
		for _, delta := range []float64{0, tinyFloat, 1e-300, 0.5, math.Nextafter(1, 0)} {
			epsilon, err := LaplaceEpsilon(scale, delta)
			if err != nil || !(epsilon >= 0) {
				t.Errorf("b=%v δ=%v: ε = %v, %v", scale, delta, epsilon, err)
			}
		}
		for _, epsilon := range []float64{0, tinyFloat, 1, 1e300} {
			delta, err := LaplaceDelta(scale, epsilon)
			if err != nil || !(delta >= 0 && delta <= 1) {
				t.Errorf("b=%v ε=%v: δ = %v, %v", scale, epsilon, delta, err)
			}
		}
	}
}
