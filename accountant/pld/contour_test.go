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
	if got, _, err := exactDirection([]pair.Part{{Pair: pair.Removed(1e-15, 0.05).Reversed(), Count: 100_000}}, epsilonAt(1e-10)); !errors.Is(err, accountant.ErrUncertified) {
		t.Errorf("a cumulant that overflows: %v, %v, want ErrUncertified", got, err)
	}
}

// gaussianDelta is δ(ε) of one Gaussian release, for any real ε (Balle, Wang 2018, Theorem 8).
func gaussianDelta(sigma, epsilon float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return phi(0.5/sigma-epsilon*sigma) - math.Exp(epsilon)*phi(-0.5/sigma-epsilon*sigma)
}

// leaky is k releases of ApproxDP(e0, d0) beside Gaussian ones, and its δ(ε): an outcome that
// gives the record away with probability 1 - (1-d0)^k, and else a sum over the binomial losses
// of the others (Kairouz, Oh, Viswanath 2015, Theorem 3.3).
func leaky(k int, e0, d0, sigma float64, count int) (parts []pair.Part, delta func(epsilon float64) float64) {
	parts = []pair.Part{{Pair: pair.ApproxDP(e0, d0), Count: k}, {Pair: pair.Gaussian(sigma), Count: count}}
	return parts, func(epsilon float64) float64 {
		safe := math.Pow(1-d0, float64(k))
		odds := 1 / (1 + math.Exp(-e0))
		sum, choose := 0.0, 1.0
		for i := range k + 1 {
			chance := choose * math.Pow(odds, float64(i)) * math.Pow(1-odds, float64(k-i))
			sum += chance * gaussianDelta(sigma/math.Sqrt(float64(count)), epsilon-float64(2*i-k)*e0)
			choose *= float64(k-i) / float64(i+1)
		}
		return 1 - safe + safe*sum
	}
}

// Outcomes of an infinite loss take their probability off δ, and leave that much less mass to
// the finite losses.
func TestInfiniteLosses(t *testing.T) {
	for _, tt := range []struct {
		k      int
		e0, d0 float64
	}{{1, 0.1, 1e-3}, {2, 0.3, 0.05}, {4, 0.2, 1e-7}} {
		parts, delta := leaky(tt.k, tt.e0, tt.d0, 10, 100)
		for _, epsilon := range []float64{0.5, 2, 4, 6} {
			want := delta(epsilon)
			got, err := contourDelta(parts, epsilon)
			if err != nil || !(math.Abs(got.Lower-want) < 1e-8*want) || !(math.Abs(got.Upper-want) < 1e-8*want) {
				t.Errorf("%+v: δ(%v) in %v, %v, want %v", tt, epsilon, got, err, want)
			}
			back, err := contourEpsilon(parts, want)
			if err != nil || !(math.Abs(back.Lower-epsilon) < 1e-6*epsilon) || !(math.Abs(back.Upper-epsilon) < 1e-6*epsilon) {
				t.Errorf("%+v: ε(%v) in %v, %v, want %v", tt, want, back, err, epsilon)
			}
			if bound, err := chernoffDelta(parts, epsilon); err != nil || !(bound >= want) {
				t.Errorf("%+v: Chernoff's bound for δ(%v) is %v, below %v", tt, epsilon, bound, want)
			}
			if bound, err := chernoffEpsilon(parts, want); err != nil || !(bound >= epsilon) {
				t.Errorf("%+v: Chernoff's bound for ε(%v) is %v, below %v", tt, want, bound, epsilon)
			}
		}
	}
}

// off is a pair whose transform is computed with a relative error, which it states.
type off struct {
	pair.Mixtures
	by float64
}

func (o off) Line(c, step float64, count int) pair.Line {
	l := o.Mixtures.Line(c, step, count)
	one := complex(0, 0)
	if l.Scale == 0 { // the values are M - 1
		one = 1
	}
	for j, v := range l.Values {
		m := v + one
		l.Values[j] = m*complex(1+o.by, 0) - one
		l.Errors[j] += math.Abs(o.by) * math.Hypot(real(m), imag(m)) * (1 + 1e-9)
	}
	return l
}

// The intervals include the errors that the transforms state, in either direction.
func TestErrorsOfTransformsAreIncluded(t *testing.T) {
	const count, sigma, epsilon = 100, 10.0, 2.0
	want := tiny.Must(theorems.GaussianDelta(sigma/10, epsilon))(t)
	for _, by := range []float64{1e-5, -1e-5, 1e-9, -1e-9} {
		parts := []pair.Part{{Pair: off{pair.Gaussian(sigma), by}, Count: count}}
		got, err := contourDelta(parts, epsilon)
		if err != nil || !(got.Lower <= want && want <= got.Upper) {
			t.Errorf("off by %v: δ in %v, %v, want %v inside", by, got, err, want)
		}
		if wide := count * math.Abs(by) * want; !(got.Upper-got.Lower >= 2*wide*(1-1e-3) && got.Upper-got.Lower < 20*wide) {
			t.Errorf("off by %v: δ in %v, %v wide, want a little above %v", by, got, got.Upper-got.Lower, 2*wide)
		}
		back, err := contourEpsilon(parts, want)
		if err != nil || !(back.Lower <= epsilon && epsilon <= back.Upper) {
			t.Errorf("off by %v: ε in %v, %v, want %v inside", by, back, err, epsilon)
		}
	}
}

// A line whose step is too large, or which ends too early, says by how much it is off. (The
// lines that are chosen have steps and ends so fine that neither can be seen.) To the left of the
// saddle point it is δ at smaller ε that a large step lets in, to the right of it δ at larger ones.
func TestAliasesAndTailsAreIncluded(t *testing.T) {
	const epsilon = 2.0
	p := tiny.Must(newProblem([]pair.Part{{Pair: pair.Gaussian(10), Count: 100}}))(t)
	delta := tiny.Must(theorems.GaussianDelta(1, epsilon))(t)
	want := math.Log(delta)
	saddle := tiny.Must(p.saddleAtEpsilon(epsilon))(t)
	for _, tt := range []struct {
		name           string
		c, step, reach float64 // c in units of the saddle point
	}{
		{"aliases from below", 0.1, 0.1, 20},
		{"aliases from below", 0.3, 0.3, 20},
		{"aliases from above", 2, 0.8, 20},
		{"aliases from above", 2.5, 0.6, 20},
		{"a short line", 1, 0.1, 5},
		{"a shorter line", 1, 0.1, 3},
	} {
		l := &line{c: tt.c * saddle, h: tt.step, epsilon: epsilon}
		k, _, _ := p.cumulant(l.c)
		l.top = k - math.Log(l.c) - math.Log1p(l.c)
		for _, at := range p.cumulantsAround(saddle) {
			if at.c > l.c {
				l.cumulants = append(l.cumulants, at)
			}
		}
		count := int(math.Ceil(tt.reach / l.h))
		l.tail = p.tail(l.c, float64(count)*l.h, l.top, l.h)
		tiny.Check(t, l.fill(p.parts, count))
		got, relative := l.delta(epsilon)
		off := math.Abs(math.Expm1(want - got))
		t.Logf("%s: off by %.2g, bound %.2g", tt.name, off, relative)
		if !(off > 1e-9) {
			t.Errorf("%s: off by %v, want something to be seen", tt.name, off)
		}
		if !(off <= relative) {
			t.Errorf("%s: off by %v, with a bound of %v", tt.name, off, relative)
		}
	}
}

// exactly is a pair that states no error of its transform.
type exactly struct{ pair.Mixtures }

func (e exactly) Line(c, step float64, count int) pair.Line {
	l := e.Mixtures.Line(c, step, count)
	clear(l.Errors)
	return l
}

// Each term counts the rounding of its own exponential, and the sum the rounding of every term: at
// least one unit of each. A δ that is the target up to its error is on neither side of it.
func TestRoundingIsIncluded(t *testing.T) {
	const epsilon, unit = 2.0, 1.0 / (1 << 53)
	p := tiny.Must(newProblem([]pair.Part{{Pair: exactly{pair.Gaussian(10)}, Count: 100}}))(t)
	saddle := tiny.Must(p.saddleAtEpsilon(epsilon))(t)
	l := tiny.Must(p.line(saddle, epsilon, cancellations[0]))(t)
	total, stated := 0.0, 0.0
	for j, e := range l.errors {
		size := math.Hypot(real(l.terms[j]), imag(l.terms[j]))
		if !(e >= size*unit) {
			t.Fatalf("term %d of size %v: error %v", j, size, e)
		}
		total += size
		stated += e
	}
	if got := l.roundings(); !(got >= stated+total*unit) {
		t.Errorf("terms of %v with errors of %v: in all an error of %v", total, stated, got)
	}
	logDelta, relative := l.delta(epsilon)
	if !(relative >= l.h/math.Pi*l.roundings()*math.Exp(l.top-l.c*epsilon-logDelta)) {
		t.Errorf("relative error %v, of which rounding of %v", relative, l.roundings())
	}
	if l.atMost(epsilon, logDelta) || l.atLeast(epsilon, logDelta) {
		t.Errorf("log δ = %v ± %v is on one side of itself", logDelta, relative)
	}
	if !l.atMost(epsilon, logDelta+3*relative) || !l.atLeast(epsilon, logDelta-3*relative) {
		t.Errorf("log δ = %v ± %v is not told from what is three errors off", logDelta, relative)
	}
}
