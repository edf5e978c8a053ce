package rdp

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
)

// poissonGaussianDivergence is the divergence of one Poisson-sampled Gaussian release.
func poissonGaussianDivergence(q, sigma, alpha float64) float64 {
	return mixtureDivergence(pair.Removed(q, sigma))(alpha)
}

// Computed with mpmath 1.3.0 at 50 digits: trapezoid sum of (1+w)^α - 1 - αw with steps
// of at most 0.05 and tails to 20 standard deviations.
func TestDivergenceGolden(t *testing.T) {
	for _, tt := range []struct{ q, sigma, alpha, want float64 }{
		{0.0001, 10, 1.1, 5.5275868799879274827e-11},
		{0.01, 1.1, 1.5, 0.000095545285718748299493},
		{0.01, 1.1, 8, 0.00058407033552025108201},
		{0.004, 1, 32, 10.300427439634916496},
		{0.5, 0.5, 1.3, 1.1068058311288708089},
		{0.01, 0.1, 2.5, 117.32471635668650054},
		{0.99, 2, 20.25, 2.5207639454698884317},
		{1e-9, 1, 3, 2.5774227496539138864e-18},
		{0.02, 40, 4000, 0.00052638954780014019},
		{1e-6, 0.3, 5.5, 13.669931540265889648},
	} {
		got := poissonGaussianDivergence(tt.q, tt.sigma, tt.alpha)
		if e := accounttest.Relative(got, tt.want); !(e < relativeError) {
			t.Errorf("q=%v σ=%v α=%v: %v, want %v (relative error %.1e)", tt.q, tt.sigma, tt.alpha, got, tt.want, e)
		}
	}
}

// randomEvent draws q in [1e-7, 1), log-uniform at both ends, and σ in [0.08, 90].
func randomEvent(rng *rand.Rand) (q, sigma float64) {
	q = math.Exp(-16 * rng.Float64())
	if rng.IntN(4) == 0 {
		q = 1 - 0.999*q
	}
	return q, math.Exp(7*rng.Float64() - 2.5)
}

// hasBinomial reports whether the binomial sum is precise: for large orders it meets the rounding
// of log n!.
func hasBinomial(sigma, alpha float64) bool { return alpha <= 128 || sigma < 5 }

// logExcessBinomial is log(A_n - 1) for an integer order n = alpha ≥ 2. Mironov, Talwar,
// Zhang 2019, section 3.3, gives
//
//	A_n = Σ_k C(n,k) (1-q)^(n-k) q^k exp((k²-k)/(2σ²)).
//
// The binomial weights add up to 1, so A_n - 1 is the same sum with exp replaced by
// expm1. The terms of k = 0 and 1 are then 0, and all others positive.
func logExcessBinomial(q, sigma, alpha float64) float64 {
	n := int(alpha)
	logQ, logNotQ := math.Log(q), math.Log1p(-q)
	var sum numeric.LogSum
	for k := n; k >= 2; k-- {
		exponent := float64(k) * float64(k-1) / sigma / (2 * sigma)
		logWeight := logFactorial(alpha) - logFactorial(float64(k)) - logFactorial(float64(n-k)) +
			float64(k)*logQ + float64(n-k)*logNotQ
		sum.Add(logWeight + numeric.LogExpm1(exponent))
	}
	return sum.Log()
}

// The binomial sum and the quadrature know nothing of each other. Where the sum is not
// used, the rounding of log n! is allowed for.
func TestQuadratureAgreesWithBinomialSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		q, sigma := randomEvent(rng)
		n := math.Ceil(math.Exp(rng.Float64()*7)) + 1
		want := numeric.Log1pExp(logExcessBinomial(q, sigma, n)) / (n - 1)
		got := numeric.Log1pExp(logExcessMixtures(pair.Removed(q, sigma), n)) / (n - 1)
		tolerance := relativeError
		if !hasBinomial(sigma, n) {
			tolerance = 1e-11
		}
		if e := accounttest.Relative(got, want); !(e < tolerance) {
			t.Fatalf("q=%v σ=%v α=%v: quadrature %v, sum %v (relative difference %.1e)", q, sigma, n, got, want, e)
		}
	}
}

// At integer orders (1+w)^α has no branch point, so the choice of the step is tested
// at fractional ones, against finer steps.
func TestQuadratureStepIsFineEnough(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		q, sigma := randomEvent(rng)
		alpha := 1.01 + math.Exp(8*rng.Float64()-4)
		got := math.Exp(logExcessMixtures(pair.Removed(q, sigma), alpha))
		integrand := func(x float64) float64 { return logBernoulli(alpha, q, (x-0.5/sigma)/sigma) - x*x/2 }
		h := min(0.1, 0.2*sigma) // the branch points of (1+w)^α are πσ away from the real line
		var sum numeric.LogSum
		for x := -12.0; x < max(alpha, 2)/sigma+12; x += h {
			sum.Add(integrand(x))
		}
		want := math.Exp(sum.Log() + math.Log(h/math.Sqrt(2*math.Pi)))
		if math.IsInf(want, 1) {
			continue
		}
		if e := accounttest.Relative(got, want); !(e < 1e-11) { // exp of a sum of up to 700 costs 1e-13 of rounding
			t.Fatalf("q=%v σ=%v α=%v: %v, finer %v (relative difference %.1e)", q, sigma, alpha, got, want, e)
		}
	}
}

// Divergences rise with q, α and 1/σ, are positive, and at most the one of the Gaussian that is not
// sampled (by quasi-convexity). The floor of the order search rests on the rise with α.
func TestDivergenceIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for range 3000 {
		q, sigma := randomEvent(rng)
		alpha := 1.01 + math.Exp(10*rng.Float64()-4)
		if rng.IntN(2) == 0 {
			alpha = math.Ceil(alpha)
		}
		d := poissonGaussianDivergence(q, sigma, alpha)
		if !(d > 0) {
			t.Fatalf("q=%v σ=%v α=%v: %v", q, sigma, alpha, d)
		}
		for name, more := range map[string]float64{
			"q":     poissonGaussianDivergence(q+(1-q)*0.1*rng.Float64(), sigma, alpha),
			"α":     poissonGaussianDivergence(q, sigma, alpha*(1+0.1*rng.Float64())),
			"⌈α⌉":   poissonGaussianDivergence(q, sigma, math.Ceil(alpha)),
			"1/σ":   poissonGaussianDivergence(q, sigma*(1-0.1*rng.Float64()), alpha),
			"q = 1": gaussianDivergence(sigma)(alpha),
		} {
			if !(more >= d*(1-relativeError)) {
				t.Fatalf("q=%v σ=%v α=%v: %v, and %v with a larger %s", q, sigma, alpha, d, more, name)
			}
		}
	}
}

// D_α(Q‖P) = log(E_Q[(1+w)^(1-α)])/(α-1), by plain summation, is the smaller direction.
func TestOtherDirectionIsNotLarger(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for range 1000 {
		q := math.Exp(-4 * rng.Float64())
		sigma := math.Exp(3*rng.Float64() - 0.5)
		alpha := 1.01 + math.Exp(6*rng.Float64()-3)
		const h = 0.02
		reach := alpha/sigma + 12 // the other direction looks left
		sum := 0.0
		for x := -reach; x < reach; x += h {
			sum += math.Exp((1-alpha)*math.Log1p(q*math.Expm1((x-0.5/sigma)/sigma)) - x*x/2)
		}
		other := math.Log(sum*h/math.Sqrt(2*math.Pi)) / (alpha - 1)
		if d := poissonGaussianDivergence(q, sigma, alpha); !(d >= other-1e-12) {
			t.Fatalf("q=%v σ=%v α=%v: %v, the other direction %v", q, sigma, alpha, d, other)
		}
	}
}

func TestDivergenceAtTheEdgesOfFloat64(t *testing.T) {
	for _, q := range []float64{5e-324, 1e-300, 1e-20, 0.5, 1 - 1e-16} {
		for _, sigma := range []float64{5e-324, 1e-160, 1e-9, 1e-4, 0.01, 1e4, 1e160, math.MaxFloat64} {
			for _, alpha := range []float64{1.01, 1.5, 2, 20.5, 1024} {
				d := poissonGaussianDivergence(q, sigma, alpha)
				if d < 0 {
					t.Errorf("q=%v σ=%v α=%v: %v", q, sigma, alpha, d)
				}
				if gauss := gaussianDivergence(sigma)(alpha); d > max(gauss*(1+1e-9), 1e-300) {
					t.Errorf("q=%v σ=%v α=%v: %v, not sampled %v", q, sigma, alpha, d, gauss)
				}
			}
		}
	}
}

func TestBernoulliSeriesMeetsTheDirectFormula(t *testing.T) {
	for _, alpha := range []float64{1.01, 1.5, 2, 3.7, 40, 1000.5} {
		for _, sign := range []float64{-1, 1} {
			w := sign * 0.099 / alpha // just inside the range of the series
			x := alpha * math.Log1p(w)
			direct := math.Log(math.Expm1(x) - alpha*w)
			if got := bernoulliSeries(alpha, w); !(math.Abs(got-direct) <= 1e-11) {
				t.Errorf("α=%v w=%v: series %v, direct %v", alpha, w, got, direct)
			}
		}
	}
}

// logBernoulli changes its formula with the size of u and w; at the seams it must not jump.
func TestBernoulliIsContinuous(t *testing.T) {
	for _, alpha := range []float64{1.01, 1.5, 2.5, 40.5, 1000.5} {
		for _, q := range []float64{1e-300, 1e-43, 1e-6, 0.3, 0.999} {
			previous := math.Inf(-1)
			for u := 0.5; u < 1500; u += 0.25 {
				got := logBernoulli(alpha, q, u)
				// Between w² and w^α times a constant the logarithm rises by about 2 to α per unit
				// of u.
				least, most := 0.2*min(alpha, 2), 0.3*max(alpha, 2)+0.4
				if rise := got - previous; u > 1 && !(rise > least && rise < most) {
					t.Fatalf("α=%v q=%v: rises from %v by %v at u=%v", alpha, q, previous, rise, u)
				}
				previous = got
			}
		}
	}
}
