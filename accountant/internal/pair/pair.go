// Package pair describes single releases by their dominating pairs.
//
// A pair (P, Q) of distributions dominates a mechanism in one direction of a relation when no two
// neighbouring datasets, taken in that direction, are easier to tell apart than P and Q:
// H_γ(M(D)‖M(D′)) ≤ H_γ(P‖Q) for every γ ≥ 0, where H_γ is the hockey-stick divergence (Zhu, Dong,
// Wang 2022, arXiv:2106.08567, Definition 7). Pairs compose: the product of the pairs of several
// mechanisms dominates their composition, also when later ones are chosen adaptively (same paper,
// Theorem 10). So all that an accountant needs of a release is the distribution of its privacy loss
//
//	L = log(dP/dQ),
//
// under P and under Q, and, with the losses of independent releases added up,
//
//	δ(ε) = P[L > ε] - e^ε Q[L > ε] = E_P[(1 - e^(ε-L))₊].
//
// A [Pair] gives the two distributions of L by their tails, each with a small relative error
// however small it is. A pair that is also a [Transformer] has the transform M(s) = E_P[e^(sL)] on
// vertical lines of the complex plane, with bounds for its error and its decay.
//
// The distributions are over one dimension: for noise that is spherically symmetric (Gaussian) or
// independent per coordinate with L1 sensitivity (Laplace) the worst case lies along one axis.
package pair

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Pair is a dominating pair. Implementations are immutable values, comparable by ==
// where they hold no slices.
type Pair interface {
	// Above returns P[L > l] and Q[L > l], Below P[L ≤ l] and Q[L ≤ l]. P[L > l]
	// includes P[L = +Inf]; Q[L ≤ l] includes Q[L = -Inf].
	Above(l float64) (p, q float64)
	Below(l float64) (p, q float64)

	// Support returns the least and the greatest finite value that L comes
	// close to, -Inf and +Inf where it is unbounded.
	Support() (least, greatest float64)

	// Infinite returns P[L = +Inf]: the chance of an outcome that is impossible
	// under Q. It is part of δ at every ε.
	Infinite() float64
}

// Part is Count independent releases, each with this pair.
type Part struct {
	Pair  Pair
	Count int
}

// Infinite returns the chance that the loss of any release is +Inf.
func Infinite(parts []Part) float64 {
	log := 0.0
	for _, p := range parts {
		log += float64(p.Count) * math.Log1p(-p.Pair.Infinite())
	}
	return -math.Expm1(log)
}

// RoundingOfInfinite bounds the relative error of Infinite.
const RoundingOfInfinite = 1e-12

// WithoutInfinite returns left, δ less the probability of infinite losses, rounded down. If left is
// not above 0, the ε at δ lies from least to +Inf: least is +Inf, or 0 where rounding decides.
func WithoutInfinite(parts []Part, delta float64) (left, least float64) {
	infinite := Infinite(parts)
	if infinite*(1-RoundingOfInfinite) >= delta {
		least = math.Inf(1)
	}
	return delta - infinite*(1+RoundingOfInfinite), least
}

// roundingOfTails bounds the relative error of Above. It is largest for erfc far out, by the
// rounding of its argument.
const roundingOfTails = 1e-12

// Delta returns bounds of δ(ε) = P[L > ε] - e^ε Q[L > ε] of one release, ε ≥ 0. The upper one
// is above 0 where the truth is, also when no float64 can hold it, and at most 1.
func Delta(p Pair, epsilon float64) (lower, upper float64) {
	relative := roundingOfTails + Rounding(p)
	lower, upper = deltaOf(p, epsilon, relative)
	if b, ok := p.(Bounded); ok {
		lower, _ = deltaOf(b.Dominated(), epsilon, relative)
	}
	return lower, upper
}

// deltaOf is Delta for a pair whose tails have this relative error.
func deltaOf(p Pair, epsilon, relative float64) (lower, upper float64) {
	above, other := p.Above(epsilon)
	infinite := p.Infinite()
	moved := 0.0
	if other > 0 {
		moved = math.Exp(math.Log(other) + epsilon)
	}
	delta, rounding := above-moved, relative*(above+moved*(1+epsilon))
	lower = max(infinite, delta-rounding)
	upper = min(max(infinite, delta+rounding), above*(1+relative), 1)
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
