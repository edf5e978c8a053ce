package noise

import (
	"math"
	"math/bits"

	"dpsgd/internal/random"
)

// Below returns a uniform integer in [0, n), n ≥ 1, by rejection (Lemire 2019, "Fast Random Integer
// Generation in an Interval", arXiv:1805.10941, Algorithm 5).
func Below(n uint64, src *random.Source) uint64 {
	high, low := bits.Mul64(src.Uint64(), n)
	if low < n {
		for uneven := -n % n; low < uneven; {
			high, low = bits.Mul64(src.Uint64(), n)
		}
	}
	return high
}

// Coin reports true with probability num/den, 0 ≤ num ≤ den, den ≥ 1.
func Coin(num, den uint64, src *random.Source) bool { return Below(den, src) < num }

// ExpCoin reports true with probability exp(-a·b/den), den ≥ 1 (Canonne, Kamath, Steinke 2020,
// arXiv:2004.00010v4, Algorithm 1).
func ExpCoin(a, b, den uint64, src *random.Source) bool {
	whole, rest := uint64(math.MaxUint64), uint64(0) // of the exponent; capped here
	if high, low := bits.Mul64(a, b); high < den {
		whole, rest = bits.Div64(high, low, den)
	}
	for ; whole > 0; whole-- { // a few coins suffice: each is false with 0.63
		if !unitExpCoin(1, 1, src) {
			return false
		}
	}
	return rest == 0 || unitExpCoin(rest, den, src)
}

// unitExpCoin reports true with probability exp(-γ), γ = num/den, 0 ≤ num ≤ den. Coins with
// probabilities γ/1, γ/2, γ/3, … are all true up to the k-th with probability γ^k/k!, and the
// alternating sum of these is e^-γ. A coin with γ/k is one with γ and one with 1/k.
func unitExpCoin(num, den uint64, src *random.Source) bool {
	for k := uint64(1); ; k++ {
		if !Coin(num, den, src) || k > 1 && !Coin(1, k, src) {
			return k%2 == 1
		}
	}
}
