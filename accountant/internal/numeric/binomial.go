package numeric

import (
	"math"
	"sort"
)

// Binomial is the number of successes in N trials. The probabilities of success and failure are
// given apart, so that both are precise next to 0.
type Binomial struct {
	N    int
	P, Q float64 // P + Q = 1
}

// RelativeError bounds the relative error of exp(LogMass) and of sums of such terms for masses
// above e^-745. The term with N comes from the saddle point: masses 37 standard deviations from the
// mean move by 37√N times the rounding of P.
func (b Binomial) RelativeError() float64 { return 1e-12 + 1e-14*math.Sqrt(float64(b.N)) }

// LogMass returns the logarithm of the probability of exactly x successes, 0 ≤ x ≤ N.
//
// Saddle-point form of Loader 2000, "Fast and Accurate Computation of Binomial Probabilities":
// log-gamma functions would lose N log N ulp.
func (b Binomial) LogMass(x int) float64 {
	n, k := float64(b.N), float64(x)
	switch {
	case b.N == 0:
		return 0
	case x == 0:
		return n * logComplement(b.P, b.Q)
	case x == b.N:
		return n * logComplement(b.Q, b.P)
	}
	return stirlingError(n) - stirlingError(k) - stirlingError(n-k) -
		deviance(k, n*b.P) - deviance(n-k, n*b.Q) +
		0.5*math.Log(n/(2*math.Pi*k*(n-k)))
}

// logComplement returns log(q) for p + q = 1, computed from the smaller of the two.
func logComplement(p, q float64) float64 {
	if p < q {
		return math.Log1p(-p)
	}
	return Log(q)
}

// Tail returns the probability of at least k successes, with a small relative error also where it
// is tiny: by adding up the side of the mean that k is on.
func (b Binomial) Tail(k int) float64 {
	switch {
	case k <= 0 || k <= b.N && b.Q == 0:
		return 1
	case k > b.N || b.P == 0:
		return 0
	case float64(k) <= float64(b.N)*b.P: // fewer than k successes are more than N-k failures
		return 1 - Binomial{b.N, b.Q, b.P}.Tail(b.N-k+1)
	}
	term := math.Exp(b.LogMass(k))
	sum := term
	for i := k; i < b.N && term > 1e-18*sum; i++ {
		term *= float64(b.N-i) / float64(i+1) * b.P / b.Q
		sum += term
	}
	return min(1, sum)
}

// Mode returns the most likely number of successes.
func (b Binomial) Mode() int { return min(b.N, int((float64(b.N)+1)*b.P)) }

// Window returns lo ≤ hi such that fewer than lo successes have a probability of at most cut, and
// more than hi too. Geometric series bound these probabilities.
func (b Binomial) Window(cut float64) (lo, hi int) {
	m, limit, n := b.Mode(), Log(cut), float64(b.N)
	above := func(x int) bool { // Pr[X ≥ x] ≤ cut is sure
		ratio := (n - float64(x)) / float64(x+1) * (b.P / b.Q)
		return b.LogMass(x)-math.Log1p(-ratio) < limit
	}
	below := func(x int) bool { // Pr[X ≤ x] ≤ cut is sure
		ratio := float64(x) / (n - float64(x) + 1) * (b.Q / b.P)
		return b.LogMass(x)-math.Log1p(-ratio) < limit
	}
	hi = m + sort.Search(b.N-m, func(i int) bool { return above(m + 1 + i) })
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

// stirlingErrors[x] is stirlingError(x) for x from 1 to 15, computed with 40 digits (mpmath 1.3).
var stirlingErrors = [16]float64{
	0, 0.08106146679532725822, 0.041340695955409294094, 0.027677925684998339149,
	0.020790672103765093112, 0.016644691189821192163, 0.013876128823070747999, 0.011896709945891770095,
	0.010411265261972096497, 0.0092554621827127329177, 0.0083305634333628712565, 0.007573675487951840795,
	0.0069428401072095298657, 0.0064089941880042070684, 0.0059513701127588477356, 0.005554733551962801371,
}

// deviance returns x log(x/m) + m - x, the cost of seeing x where m is expected. Next to m the
// terms cancel, and a series in v = (x-m)/(x+m) takes their place (Loader 2000, section 2).
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
