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

// LeastNormal is the least tail with all its digits. Smaller ones may be 0 where the truth is not.
const LeastNormal = 0x1p-1022

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
	least, most := 0.0, above // of e^ε Q[L > ε]
	if other >= LeastNormal {
		least = math.Exp(math.Log(other) + epsilon)
		most = least
	}
	rounding := relative * (above + most*(1+epsilon))
	if 0 < above && above < LeastNormal {
		rounding += 16 * math.SmallestNonzeroFloat64
	}
	lower = max(infinite, above-most-rounding)
	upper = min(max(infinite, above-least+rounding), above+rounding, 1)
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

// Transformer is a pair whose transform can be computed,
//
//	M(s) = E_P[e^(sL); L < ∞] = E_Q[(dP/dQ)^(1+s)],   Re s ≥ 0.
//
// M(0) is 1 less the infinite mass, and K = log M is convex on the real line.
type Transformer interface {
	Pair

	// Cumulant returns the function K(c) = log M(c), c > 0, with its first two derivatives, to
	// about ten digits. The function may keep tables, and is for one goroutine.
	Cumulant() func(c float64) (k, k1, k2 float64)

	// Line returns M at c, c + i·step, …, count places of the line Re s = c > 0.
	Line(c, step float64, count int) Line

	// Tail returns a bound for log |M(c+iy)| that holds for all |y| ≥ reach.
	Tail(c, reach float64) float64
}

// Line is the transform at equally spaced places of a vertical line, with bounds for the
// absolute errors of the values. If Scale is 0 they are values of M - 1, which keeps its
// digits where M is close to 1; else they are M·e^(-Scale).
type Line struct {
	Values []complex128
	Errors []float64
	Scale  float64
}

// Log returns log M at place j, its imaginary part up to a multiple of 2π, and a number e such that
// the true |M|^n and M^n are within |M|^n (e^(ne) - 1) of the computed ones.
func (l Line) Log(j int) (logM complex128, e float64) {
	x, y := real(l.Values[j]), imag(l.Values[j])
	if l.Scale == 0 {
		if z := 2*x + x*x + y*y; z > -0.5 {
			return complex(math.Log1p(z)/2, math.Atan2(y, 1+x)), math.Log1p(l.Errors[j] / math.Sqrt(1+z))
		}
		x++
	}
	size := math.Hypot(x, y)
	if size == 0 { // as good a value as 0, and with a logarithm
		size = l.Errors[j] + math.SmallestNonzeroFloat64
		return complex(l.Scale+math.Log(size), 0), math.Ln2
	}
	return complex(l.Scale+math.Log(size), math.Atan2(y, x)), math.Log1p(l.Errors[j] / size)
}

// phi2 returns e^v - 1 - v for v = x + iy, given e^x, without cancellation next to 0.
func phi2(x, y, expX float64) (re, im float64) {
	if math.Abs(x)+math.Abs(y) < 0.25 {
		v := complex(x, y)
		sum := complex(1.0/6227020800, 0) // 1/13!
		for _, c := range [...]float64{1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
			1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2} {
			sum = sum*v + complex(c, 0)
		}
		sum *= v * v
		return real(sum), imag(sum)
	}
	sin, cos := math.Sincos(y)
	return expX*cos - 1 - x, expX*sin - y
}

// ulp is the relative error of one rounding.
const ulp = 1.0 / (1 << 53)
