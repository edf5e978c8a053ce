package pld

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/pair"
	"dpsgd/accountant/theorems"
	"dpsgd/internal/tiny"
)

// A composition of Gaussian releases is one Gaussian release, whose δ has a closed form
// (Balle, Wang 2018, Theorem 8); theorems.GaussianDelta is above it by at most 1e-14 of it.
func TestGaussianCompositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for range 200 {
		var parts []pair.Part
		precision := 0.0
		for range 1 + rng.IntN(3) {
			sigma, count := math.Exp(5*rng.Float64()), 1+rng.IntN(1000)
			parts = append(parts, pair.Part{Pair: pair.Gaussian(sigma), Count: count})
			precision += float64(count) / sigma / sigma
		}
		sigma := 1 / math.Sqrt(precision)
		epsilon := (0.5/sigma + 8*rng.Float64()) / sigma
		delta := tiny.Must(theorems.GaussianDelta(sigma, epsilon))(t)
		got, err := contourDelta(parts, epsilon)
		if err != nil || !(got.Lower <= delta && delta*(1-2e-12) <= got.Upper) || !(got.Upper-got.Lower < 1e-9*(1-math.Log(delta))*delta) {
			t.Errorf("σ=%v: δ(%v) in %v, %v, want %v", sigma, epsilon, got, err, delta)
		}
	}
}

// Two sampled releases are few enough to integrate: δ = E_P[(1 - e^(ε-L₁-L₂))₊] with the inner
// release in closed form, the outer by a sum on a fine grid. Its error is about 1e-10.
func TestTwoReleases(t *testing.T) {
	for _, tt := range []struct{ q, sigma, epsilon float64 }{{0.5, 1, 1}, {0.5, 1, 3}, {0.3, 0.8, 2}, {0.9, 2, 0.5}} {
		p := pair.Removed(tt.q, tt.sigma)
		want := 0.0
		const h = 1e-4
		for x := -12 * tt.sigma; x < 1+12*tt.sigma; x += h {
			at0 := math.Exp(-x*x/2/tt.sigma/tt.sigma) / tt.sigma / math.Sqrt(2*math.Pi)
			l := p.Loss(x)
			abovP, aboveQ := p.Above(tt.epsilon - l)
			want += h * (math.Exp(l)*at0*abovP - math.Exp(tt.epsilon)*at0*aboveQ)
		}
		got, err := contourDelta([]pair.Part{{Pair: p, Count: 2}}, tt.epsilon)
		if err != nil || !(got.Lower <= want*(1+1e-8) && want*(1-1e-8) <= got.Upper) || !(got.Upper-got.Lower < 1e-6*want) {
			t.Errorf("%+v: δ in %v, %v, want %v", tt, got, err, want)
		}
	}
}

// randomParts returns compositions that decay.
func randomParts(rng *rand.Rand) []pair.Part {
	var parts []pair.Part
	for range 1 + rng.IntN(3) {
		q, sigma := math.Exp(-6*rng.Float64()), math.Exp(2*rng.Float64()-0.5)
		count := 200 + rng.IntN(5000)
		switch rng.IntN(5) {
		case 0:
			parts = append(parts, pair.Part{Pair: pair.Gaussian(30 * sigma), Count: count})
		case 1:
			parts = append(parts, pair.Part{Pair: pair.Removed(q, 2*sigma).Reversed(), Count: count})
		case 2:
			parts = append(parts, pair.Part{Pair: pair.Replaced(q, 2*sigma), Count: count})
		case 3:
			parts = append(parts, pair.Part{Pair: pair.Laplace(10 * sigma), Count: 50}, pair.Part{Pair: pair.Removed(q, 2*sigma), Count: count})
		default:
			parts = append(parts, pair.Part{Pair: pair.Removed(q, sigma), Count: count})
		}
	}
	return parts
}

// The answer depends neither on the contour nor on the step: lines at other places give
// intervals that overlap.
func TestSecondContour(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	for range 60 {
		p := tiny.Must(newProblem(randomParts(rng)))(t)
		c, epsilon, err := p.saddleAtDelta(math.Log(math.Pow(10, -2-8*rng.Float64())))
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := math.Inf(-1), math.Inf(1)
		for _, factor := range []float64{1, 0.8, 1.02} {
			l, err := p.line(c*factor, epsilon, 0.5)
			if err != nil {
				t.Fatalf("%v: %v", p.parts, err)
			}
			logDelta, relative := l.delta(epsilon)
			if !(relative < 1e-6) {
				t.Errorf("%v at ε=%v, c=%v: relative error %v", p.parts, epsilon, l.c, relative)
			}
			lo, hi = max(lo, logDelta+math.Log1p(-relative)), min(hi, logDelta+math.Log1p(relative))
		}
		if lo > hi {
			t.Errorf("%v at ε=%v: the contours disagree by %.1e", p.parts, epsilon, lo-hi)
		}
	}
}

// ε and δ are inverse to each other, and Chernoff's bound is above δ.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	for range 100 {
		parts := randomParts(rng)
		delta := math.Pow(10, -1-12*rng.Float64())
		epsilon, err := contourEpsilon(parts, delta)
		if err != nil {
			t.Fatalf("%v: %v", parts, err)
		}
		if !(epsilon.Lower <= epsilon.Upper) || epsilon.Upper-epsilon.Lower > 1e-8*epsilon.Upper {
			t.Errorf("%v: ε(%v) in %v", parts, delta, epsilon)
		}
		at, err := contourDelta(parts, epsilon.Upper)
		if err != nil || !(at.Lower <= delta) || !(at.Upper >= delta*(1-1e-6)) && epsilon.Upper > 0 {
			t.Errorf("%v: δ(ε(%v)) in %v, %v", parts, delta, at, err)
		}
		if certainlyAtMost(parts, epsilon.Lower*0.999, delta) && epsilon.Lower > 0 {
			t.Errorf("%v: Chernoff's bound is below δ(%v) = %v", parts, epsilon.Lower, delta)
		}
	}
}

func TestSpecialAnswers(t *testing.T) {
	leak := []pair.Part{{Pair: pair.ApproxDP(0.1, 1e-3), Count: 2}, {Pair: pair.Gaussian(10), Count: 100}}
	if got, err := contourEpsilon(leak, 1e-3); err != nil || !math.IsInf(got.Lower, 1) {
		t.Errorf("δ below the infinite mass: %v, %v, want +Inf", got, err)
	}
	if got, err := contourEpsilon(leak, pair.Infinite(leak)*(1+5e-13)); err != nil || got != (accountant.Interval{Lower: 0, Upper: math.Inf(1)}) {
		t.Errorf("δ of the infinite mass but for rounding: %v, %v, want [0, +Inf]", got, err)
	}
	if got, err := contourDelta(leak, 20); err != nil || !(got.Lower >= 1.998e-3 && got.Upper < 2.1e-3) {
		t.Errorf("δ at a large ε: %v, %v, want the infinite mass 1 - (1-1e-3)²", got, err)
	}
	if got, err := contourEpsilon([]pair.Part{{Pair: pair.Removed(1e-3, 10), Count: 100}}, 0.5); err != nil || got != (accountant.Interval{}) {
		t.Errorf("a δ above δ(0): %v, %v, want 0", got, err)
	}
	if got, err := contourDelta([]pair.Part{{Pair: pair.ApproxDP(0.1, 0), Count: 3}}, 0.15); !errors.Is(err, accountant.ErrUncertified) {
		t.Errorf("a loss of four values: %v, %v, want ErrUncertified", got, err)
	}
}
