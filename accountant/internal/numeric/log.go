package numeric

import "math"

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
