package pair

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// roundingOfTails bounds the relative error of Above. It is largest for erfc far out, by the
// rounding of its argument.
const roundingOfTails = 1e-12

// Delta returns bounds of δ(ε) = P[L > ε] - e^ε Q[L > ε] of one release, ε ≥ 0. The upper one
// is above 0 where the truth is, also when no float64 can hold it, and at most 1.
func Delta(p Pair, epsilon float64) (lower, upper float64) {
	above, other := p.Above(epsilon)
	infinite := p.Infinite()
	moved := 0.0
	if other > 0 {
		moved = math.Exp(math.Log(other) + epsilon)
	}
	delta, rounding := above-moved, roundingOfTails*(above+moved*(1+epsilon))
	lower = max(infinite, delta-rounding)
	upper = min(max(infinite, delta+rounding), above*(1+roundingOfTails), 1)
	if upper == 0 {
		if _, greatest := p.Support(); greatest > epsilon {
			upper = math.SmallestNonzeroFloat64
		}
	}
	return lower, upper
}

// Epsilon returns bounds of the least ε ≥ 0 at which δ(ε) of one release is at most
// delta, +Inf if there is none.
func Epsilon(p Pair, delta float64) (lower, upper float64) {
	lower, _ = leastEpsilon(func(epsilon float64) bool { low, _ := Delta(p, epsilon); return low > delta })
	_, upper = leastEpsilon(func(epsilon float64) bool { _, up := Delta(p, epsilon); return up > delta })
	return lower, upper
}

// leastEpsilon returns neighbouring floats of which above holds at lo and fails at hi: both are 0
// if it fails at 0, +Inf if it never fails.
func leastEpsilon(above func(epsilon float64) bool) (lo, hi float64) {
	if !above(0) {
		return 0, 0
	}
	lo, hi = 0.0, 0x1p-60
	for above(hi) {
		if lo, hi = hi, 2*hi; math.IsInf(hi, 1) {
			return hi, hi
		}
	}
	return numeric.Bisect(above, lo, hi, 0, 0)
}
