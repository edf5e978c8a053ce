package composition

import (
	"math"
	"sort"

	"dpsgd/accountant/internal/numeric"
)

// binomial is the number of successes in n trials. Success and failure
// probabilities are given apart, so that both are precise next to 0.
type binomial struct {
	n    int
	p, q float64 // p + q = 1
}

// relativeError bounds the relative error of exp(logMass) and of sums of such
// terms for masses above e^-745. The n-term is that of the saddle point: masses
// 37 standard deviations from the mean move by 37√n times the rounding of p.
func (b binomial) relativeError() float64 { return 1e-12 + 1e-14*math.Sqrt(float64(b.n)) }

// logMass returns the log of the probability of exactly x successes, 0 ≤ x ≤ n.
//
// Saddle-point form of Loader 2000, "Fast and Accurate Computation of Binomial
// Probabilities": log-gamma functions would lose n log n ulp.
func (b binomial) logMass(x int) float64 {
	n, k := float64(b.n), float64(x)
	switch {
	case b.n == 0:
		return 0
	case x == 0:
		return n * logComplement(b.p, b.q)
	case x == b.n:
		return n * logComplement(b.q, b.p)
	}
	return stirlingError(n) - stirlingError(k) - stirlingError(n-k) -
		deviance(k, n*b.p) - deviance(n-k, n*b.q) +
		0.5*math.Log(n/(2*math.Pi*k*(n-k)))
}

// logComplement returns log(q) for p + q = 1, from the smaller of the two.
func logComplement(p, q float64) float64 {
	if p < q {
		return math.Log1p(-p)
	}
	return numeric.Log(q)
}

// mode returns the most likely number of successes.
func (b binomial) mode() int {
	return min(b.n, int((float64(b.n)+1)*b.p))
}

// window returns lo ≤ hi so that less than a has at most cut probability, and so
// has more than hi. The bound is that of a geometric series.
func (b binomial) window(cut float64) (lo, hi int) {
	m, limit, n := b.mode(), numeric.Log(cut), float64(b.n)
	above := func(x int) bool { // Pr[X ≥ x] ≤ cut is sure
		ratio := (n - float64(x)) / float64(x+1) * (b.p / b.q)
		return b.logMass(x)-math.Log1p(-ratio) < limit
	}
	below := func(x int) bool { // Pr[X ≤ x] ≤ cut is sure
		ratio := float64(x) / (n - float64(x) + 1) * (b.q / b.p)
		return b.logMass(x)-math.Log1p(-ratio) < limit
	}
	hi = m + sort.Search(b.n-m, func(i int) bool { return above(m + 1 + i) })
	lo = m - sort.Search(m, func(i int) bool { return below(m - 1 - i) })
	return lo, hi
}

// stirlingError returns log(x!) - log(√(2πx) (x/e)^x) for whole x ≥ 1.
func stirlingError(x float64) float64 {
	if x < 16 {
		return stirlingErrors[int(x)]
	}
	y := 1 / (x * x) // DLMF 5.11.1; the first term left out is below 2e-17 here
	return (1.0/12 - (1.0/360-(1.0/1260-(1.0/1680-(1.0/1188-691.0/360360*y)*y)*y)*y)*y) / x
}

// stirlingErrors holds the error for 0 to 15, computed with 40 digits (mpmath 1.3).
var stirlingErrors = [16]float64{
	0, 0.08106146679532725822, 0.041340695955409294094, 0.027677925684998339149,
	0.020790672103765093112, 0.016644691189821192163, 0.013876128823070747999, 0.011896709945891770095,
	0.010411265261972096497, 0.0092554621827127329177, 0.0083305634333628712565, 0.007573675487951840795,
	0.0069428401072095298657, 0.0064089941880042070684, 0.0059513701127588477356, 0.005554733551962801371,
}

// deviance returns x log(x/m) + m - x, the cost of seeing x where m is expected.
// Next to m the terms cancel, and a series in v = (x-m)/(x+m) takes their place
// (Loader 2000, section 2).
func deviance(x, m float64) float64 {
	d := x - m
	if math.Abs(d) >= 0.1*(x+m) {
		return x*math.Log(x/m) - d
	}
	v := d / (x + m)
	sum, term := d*v, 2*x*v
	for j := 3.0; j < 2000; j += 2 {
		term *= v * v
		next := sum + term/j
		if next == sum {
			break
		}
		sum = next
	}
	return sum
}
