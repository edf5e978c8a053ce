// Package numeric is the arithmetic that the accountants share: sums of numbers that are given by
// their logarithms, sums and products that are rounded up, and the binomial distribution.
package numeric

import "math"

// Ulp is the spacing of the floats just above 1.
const Ulp = 0x1p-52

// Up returns x·(1 + n·Ulp), for an x of at least 0. Infinities stay.
func Up(x float64, n float64) float64 { return x * (1 + n*Ulp) }

// AddUp returns a + b for numbers of at least 0, rounded up, not to nearest: it is the sum where
// the sum is a float, else the float above.
func AddUp(a, b float64) float64 {
	s := a + b
	if math.IsInf(s, 1) {
		return s
	}
	// The rounding error of a sum is a float (Knuth, TAOCP 2, 4.2.2, Theorem B).
	bb := s - a
	if (a-(s-bb))+(b-bb) > 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}

// MulUp returns a·b for numbers of at least 0, rounded up; 0·∞ is 0.
func MulUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	if math.IsInf(p, 1) {
		return p
	}
	// FMA rounds once, so its sign is the sign of the error of p; where the error underflows it is
	// unknown, and the step up is taken.
	if r := math.FMA(a, b, -p); r > 0 || p < 0x1p-900 {
		return math.Nextafter(p, math.Inf(1))
	}
	return p
}

// QuotientUp returns a/b of numbers above 0, rounded up.
func QuotientUp(a, b float64) float64 {
	q := a / b
	if !math.IsInf(q, 1) && (math.FMA(q, b, -a) < 0 || a < 0x1p-900) {
		return math.Nextafter(q, math.Inf(1))
	}
	return q
}

// Group returns the (ε, δ), rounded up, that a mechanism has for a group of k records, if it is
// (epsilon, delta)-differentially private for one of them:
//
//	kε,  δ Σ_{i<k} e^{iε} = δ (e^{kε} - 1)/(e^ε - 1),
//
// the delta at most 1 (the proof of Lemma 2.2 in Vadhan 2017, "The Complexity of Differential
// Privacy").
func Group(epsilon, delta float64, k int) (groupEpsilon, groupDelta float64) {
	n := float64(k)
	groupEpsilon = MulUp(n, epsilon)
	switch {
	case k == 1:
		return epsilon, delta
	case delta == 0:
		return groupEpsilon, 0
	case epsilon == 0:
		return groupEpsilon, min(1, MulUp(n, delta))
	case math.IsInf(epsilon, 1):
		return groupEpsilon, 1
	}
	// e^{(k-1)ε} (1 - e^{-kε})/(1 - e^{-ε}) in logs: the first factor overflows.
	log := Log(delta) + (n-1)*epsilon + Log(math.Expm1(-n*epsilon)/math.Expm1(-epsilon))
	if log >= 0 {
		return groupEpsilon, 1
	}
	return groupEpsilon, min(1, Up(math.Exp(log), 16+4*(math.Abs(Log(delta))+n*epsilon)))
}

// Log returns log x also for numbers below 2.2e-308, where math.Log of Go 1.26 on amd64 does not:
// it answers -709 for 5e-324, whose logarithm is -744.
func Log(x float64) float64 {
	fraction, exponent := math.Frexp(x)
	if exponent > -1000 {
		return math.Log(x)
	}
	return math.Log(fraction) + float64(exponent)*math.Ln2
}

// LogExpm1 returns log(exp(x) - 1) for x ≥ 0.
func LogExpm1(x float64) float64 {
	if x > 40 { // exp(-40) is below half an ulp of 40
		return x
	}
	return math.Log(math.Expm1(x))
}

// Log1pExp returns log(1 + exp(x)).
func Log1pExp(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}

// LogAddExp returns log(exp(a) + exp(b)).
func LogAddExp(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + Log1pExp(b-a)
}

// LogSum adds numbers that are given by their logarithms. The zero value is an empty sum.
type LogSum struct {
	max, scaled float64 // the sum is scaled·exp(max)
}

// negligible is a logarithm: a term this far below the largest so far is left out.
// A million of them are 1e-17 of the sum.
const negligible = -53

// Add adds exp(x).
func (s *LogSum) Add(x float64) {
	switch {
	case s.scaled == 0:
		if !math.IsInf(x, -1) {
			s.max, s.scaled = x, 1
		}
	case x > s.max:
		s.max, s.scaled = x, s.scaled*math.Exp(s.max-x)+1
	case x-s.max < negligible:
	default: // also NaN, which stays
		s.scaled += math.Exp(x - s.max)
	}
}

// Log returns the logarithm of the sum, -Inf if it is empty.
func (s *LogSum) Log() float64 { return s.max + math.Log(s.scaled) }
