package pair

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// randomTransformer returns a pair of any kind and a c that keeps its transform within float64.
func randomTransformer(rng *rand.Rand) (t Transformer, c float64) {
	q := math.Exp(-6 * rng.Float64())
	sigma := math.Exp(3*rng.Float64() - 1)
	c = math.Exp(3*rng.Float64()-1) * min(sigma, 3)
	switch rng.IntN(11) {
	case 0:
		return Gaussian(sigma), c
	case 1:
		return Removed(q, sigma), c
	case 2:
		return Removed(q, sigma).Reversed(), c
	case 3:
		return Replaced(q, 2*sigma), c
	case 4:
		return RemovedGroup(q, 2+rng.IntN(4), 3*sigma), c
	case 5:
		return SampledLaplace{sigma, q, rng.IntN(2) == 0}, c
	case 6:
		return ApproxDP(sigma, q*1e-3), c
	case 7:
		return DiscreteLaplace(1/sigma, 5), c
	case 8:
		return DiscreteGaussian(sigma+2, 2), min(c, 3)
	case 9:
		return BoundedRange{1 / sigma}, c
	}
	return Combination{{q, Replaced(q, 2*sigma)}, {1 - q, Removed(q, 2*sigma)}}, c
}

// slowMoment is E_P[(P/Q)^s] by its definition: a plain sum on a grid far finer and wider
// than it needs to be.
func slowMoment(t *testing.T, p Transformer, s complex128) complex128 {
	switch p := p.(type) {
	case Mixtures:
		var sum complex128
		const h = 4e-3
		for x := -20 * p.Sigma; x < (20+real(s)*8/p.Sigma)*p.Sigma; x += h * p.Sigma {
			a, b := density(p.P, p.Sigma, x), density(p.Q, p.Sigma, x)
			if a > 0 && b > 0 {
				sum += complex(a*h*p.Sigma, 0) * cmplx.Exp(s*complex(math.Log(a)-math.Log(b), 0))
			}
		}
		return sum
	case SampledLaplace:
		b, q := p.Scale, p.SamplingProbability
		var sum complex128
		const n = 50000
		add := func(x, width float64) {
			base := math.Exp(-math.Abs(x)/b) / (2 * b)
			other := (1-q)*base + q*math.Exp(-math.Abs(x-1)/b)/(2*b)
			if p.Added {
				base, other = other, base
			}
			sum += complex(other*width, 0) * cmplx.Exp(s*complex(math.Log(other/base), 0))
		}
		for i := range n { // the tails outside of [0, 1] have constant losses
			add((float64(i)+0.5)/n, 1.0/n)
		}
		tail := b / (1.0 / n) // ∫ e^(-x/b) dx = b
		add(0, tail/n)
		add(1, tail/n)
		return sum
	case BoundedRange: // by its density, ½ e^((l+η)/2)/(e^η - 1)
		var sum complex128
		const n = 200000
		for i := range n {
			l := p.Range * (2*(float64(i)+0.5)/n - 1)
			sum += complex(p.Range/n*math.Exp((l+p.Range)/2)/math.Expm1(p.Range), 0) * cmplx.Exp(s*complex(l, 0))
		}
		return sum
	case *Ladder:
		var sum complex128
		for loss, chance := range p.Steps {
			sum += complex(chance, 0) * cmplx.Exp(s*complex(loss, 0))
		}
		return sum
	case Combination:
		var sum complex128
		for _, w := range p {
			sum += complex(w.Weight, 0) * slowMoment(t, w.Pair, s)
		}
		return sum
	}
	t.Fatalf("no slow moment of %T", p)
	return 0
}

func density(cs []Component, sigma, x float64) float64 {
	sum := 0.0
	for _, c := range cs {
		d := (x - c.Mean) / sigma
		sum += c.Weight * math.Exp(-d*d/2) / sigma / math.Sqrt(2*math.Pi)
	}
	return sum
}

// Every line agrees with the definition of the transform, within the slow sum's own error of
// about 1e-8 (of the midpoint rule for Laplace) and the bound that the line states.
func TestLineIsTheTransform(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 60 {
		p, c := randomTransformer(rng)
		step := c * (0.1 + rng.Float64())
		line := p.Line(c, step, 40)
		k, _, _ := p.Cumulant()(c)
		if want := math.Log(real(slowMoment(t, p, complex(c, 0)))); !(math.Abs(k-want) <= 1e-7*(1+math.Abs(want))) {
			t.Errorf("%v at %v: K = %v, want %v", p, c, k, want)
		}
		for _, j := range []int{0, 1, 7, 39} {
			logM, e := line.Log(j)
			want := slowMoment(t, p, complex(c, float64(j)*step))
			got := cmplx.Exp(logM)
			if diff := cmplx.Abs(got - want); !(diff <= (2e-8+1e-12*k)*math.Exp(k)+cmplx.Abs(got)*math.Expm1(min(e, 1))) {
				t.Errorf("%v at %v: M = %v ± %.1e, want %v (difference %.1e, M(c) = %v)", p, complex(c, float64(j)*step), got, e, want, diff, math.Exp(k))
			}
			if real(logM) > k+1e-8*(1+k) {
				t.Errorf("%v at c=%v, y=%v: |M| = e^%v above M(c) = e^%v", p, c, float64(j)*step, real(logM), k)
			}
		}
		if !(line.Errors[39] < 1e-8*math.Exp(k-line.Scale)) {
			t.Errorf("%v at c=%v: stated error %v", p, c, line.Errors[39])
		}
	}
}

// M(n-1) - 1 has a closed form for whole n (Mironov, Talwar, Zhang 2019, section 3.3, with
// expm1 for exp), and keeps its digits where it is 1e-14: the transform of ten
// million steps is the tenth million power.
func TestExcessKeepsItsDigits(t *testing.T) {
	for _, q := range []float64{1e-7, 1e-4, 0.03, 0.4} {
		for _, sigma := range []float64{0.7, 1, 4, 50} {
			want := 0.0 // A_3 - 1 = 3 (1-q) q² (e^(1/σ²) - 1) + q³ (e^(3/σ²) - 1)
			want += 3 * (1 - q) * q * q * math.Expm1(1/sigma/sigma)
			want += q * q * q * math.Expm1(3/sigma/sigma)
			line := Removed(q, sigma).Line(2, 0.5, 200)
			got := real(line.Values[0])
			if relative := math.Abs(got-want) / want; !(relative < 1e-13) || !(line.Errors[0] < 1e-12*want) || relative > line.Errors[0]/want {
				t.Errorf("q=%v σ=%v: M(2)-1 = %v ± %v, want %v (relative error %.1e)", q, sigma, got, line.Errors[0], want, relative)
			}
			k, _, _ := Removed(q, sigma).Cumulant()(2)
			if relative := math.Abs(k-math.Log1p(want)) / k; !(relative < 1e-9) {
				t.Errorf("q=%v σ=%v: K(2) = %v, want %v (relative error %.1e)", q, sigma, k, math.Log1p(want), relative)
			}
		}
	}
}

// The derivatives of K agree with differences of K.
func TestCumulantDerivatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for range 200 {
		p, c := randomTransformer(rng)
		cumulant := p.Cumulant()
		h := 1e-3 * c
		before, _, _ := cumulant(c - h)
		k, k1, k2 := cumulant(c)
		after, _, _ := cumulant(c + h)
		if got := (after - before) / (2 * h); !(math.Abs(got-k1) <= 1e-4*math.Abs(k1)+1e-6*k2*c+1e-7*(1+math.Abs(k))/h) {
			t.Errorf("%v at %v: K′ = %v, differences give %v", p, c, k1, got)
		}
		if got := (after - 2*k + before) / (h * h); !(k2 >= 0) || !(math.Abs(got-k2) <= 1e-2*k2+1e-8*(1+math.Abs(k))/(h*h)) {
			t.Errorf("%v at %v: K″ = %v, differences give %v", p, c, k2, got)
		}
	}
}

// Beyond the reach, |M| is never above the bound, and for Gaussians the bound is attained.
func TestTailBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	for range 60 {
		p, c := randomTransformer(rng)
		reach := c * math.Exp(4*rng.Float64()-1)
		tail := p.Tail(c, reach)
		if k, _, _ := p.Cumulant()(c); !(tail <= k+0.3*(1+math.Abs(k))) {
			t.Errorf("%v at c=%v, reach %v: bound e^%v, M(c) is e^%v", p, c, reach, tail, k)
		}
		step := reach / 10
		line := p.Line(c, step, 60)
		for j := 10; j < 60; j++ {
			logM, _ := line.Log(j)
			if m := math.Exp(real(logM) - line.Scale); m > math.Exp(tail+1e-9-line.Scale)+line.Errors[j] {
				t.Fatalf("%v: log |M(%v+%vi)| = %v, above the bound %v from %v on", p, c, float64(j)*step, real(logM), tail, reach)
			}
		}
	}
}

// φ₂ keeps its digits next to 0: against its series with exact arithmetic of 40 terms.
func TestPhi2(t *testing.T) {
	for _, v := range []complex128{1e-9, 1e-9i, 0.1 + 0.1i, 0.2499, 0.2501, -0.3i, -2 + 1i, 3 - 4i} {
		want, term := complex128(0), v
		for n := 2; n < 60; n++ {
			term *= v / complex(float64(n), 0)
			want += term
		}
		re, im := phi2(real(v), imag(v), math.Exp(real(v)))
		if got := complex(re, im); !(cmplx.Abs(got-want) <= 4e-15*cmplx.Abs(want)) {
			t.Errorf("φ₂(%v) = %v, want %v", v, got, want)
		}
	}
}
