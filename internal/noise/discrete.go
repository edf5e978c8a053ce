// Discrete Laplace, discrete Gaussian and rounded Laplace noise, and the coins that they are made
// of.
//
// Every draw is a finite sequence of uniform integers from random bits and of comparisons of
// integers; no logarithm, no exponential and no float is taken of a random number. So the
// probabilities are those of the formulas, also in the tails, and no pattern of floating-point
// rounding gives the noise away (Mironov 2012, "On Significance of the Least Significant Bits for
// Differential Privacy").
//
// Assumed: the words of the source are uniform and independent (random.Source is AES-256 in counter
// mode), and the observer has no clock, because how long a draw takes depends on what is drawn.

package noise

import (
	"math"
	"math/bits"

	"dpsgd/internal/random"
)

// Laplace returns an integer N of the discrete Laplace (two-sided geometric) distribution,
// Pr[N = n] = (1-a)/(1+a)·a^|n|, a = exp(-1/scale), for a scale of at most MaxScale (Canonne,
// Kamath, Steinke 2020, Algorithm 2).
func Laplace(scale Ratio, src *random.Source) int64 {
	for {
		n, negative := geometric(scale, src), isHeads(src)
		if negative && n == 0 {
			continue // 0 has one sign
		}
		return signed(n, negative)
	}
}

// RoundedLaplace returns ⌊X + 1/2⌋ for X of the Laplace distribution of that scale, at most
// MaxScale:
//
//	Pr[N = 0] = 1 - exp(-1/(2b)),  Pr[|N| ≥ n] = exp(-(n-1/2)/b) for n ≥ 1, its sign fair.
func RoundedLaplace(scale Ratio, src *random.Source) int64 {
	if !ExpCoin(1, scale.Den, 2*scale.Num, src) {
		return 0
	}
	return signed(1+geometric(scale, src), isHeads(src))
}

// Gaussian returns an integer N of the discrete Gaussian distribution, Pr[N = n] ∝ exp(-n²/(2σ²)),
// for a σ with a numerator of at most MaxDeviation (Canonne, Kamath, Steinke 2020, Algorithm 3,
// with discrete Laplace noise of scale σ).
func Gaussian(sigma Ratio, src *random.Source) int64 {
	for {
		n := Laplace(sigma, src)
		// n is accepted with exp(-(|n|-σ)²/(2σ²)). Overflow takes |n|·Den ≥ 2^63: |n| > 2^32·σ.
		away := int64(magnitude(n)*sigma.Den) - int64(sigma.Num)
		if ExpCoin(magnitude(away), magnitude(away), 2*sigma.Num*sigma.Num, src) {
			return n
		}
	}
}

// geometric returns an integer N ≥ 0 with Pr[N ≥ n] = exp(-n/scale): ⌊M/Den⌋ of an integer
// M = u + Num·v with Pr[M ≥ m] = exp(-m/Num).
func geometric(scale Ratio, src *random.Source) uint64 {
	u := Below(scale.Num, src)
	for !unitExpCoin(u, scale.Num, src) {
		u = Below(scale.Num, src)
	}
	v := uint64(0)
	for unitExpCoin(1, 1, src) {
		v++
	}
	high, low := bits.Mul64(scale.Num, v)
	if low, carry := bits.Add64(low, u, 0); high+carry == 0 {
		return min(low/scale.Den, math.MaxInt64-1)
	}
	return math.MaxInt64 - 1 // with a probability below exp(-2^20)
}

func isHeads(src *random.Source) bool { return src.Uint64()>>63 == 1 }

func signed(n uint64, negative bool) int64 {
	if negative {
		return -int64(n)
	}
	return int64(n)
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return uint64(-n)
	}
	return uint64(n)
}
