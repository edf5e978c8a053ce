package theorems

import (
	"fmt"
	"math"

	"dpsgd/accountant"
)

// ulp is the distance from 1 to the next float64.
const ulp = 0x1p-52

// tinyFloat is the smallest positive float64: the least δ above 0.
const tinyFloat = math.SmallestNonzeroFloat64

func validatePositive(name string, x float64) error {
	if !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%w: %s is %v, must be finite and above 0", accountant.ErrInvalid, name, x)
	}
	return nil
}

// roundUp returns x ≥ 0 raised by n ulp and to the next float64. It leaves 0 and +Inf as they are.
func roundUp(x, n float64) float64 {
	if x == 0 || math.IsInf(x, 1) {
		return x
	}
	return math.Nextafter(x+float64(x*n)*ulp, math.Inf(1))
}

// searchWidth is the width to which leastPrivate narrows the bracket, relative to the answer.
const searchWidth = 8 * ulp

// logRatio returns log(a/b), for a and b above the least normal float64. It has the sign of a - b:
// the quotient of two different floats never rounds to 1.
func logRatio(a, b float64) float64 {
	switch {
	case a > b:
		return max(math.Log(a/b), tinyFloat)
	case a < b:
		return min(math.Log(a/b), -tinyFloat)
	}
	return 0
}

// leastPrivate returns the least x in (lo, hi] at which excess is at most 0, to a relative
// searchWidth, for an excess that falls through 0 once. The answer is always a point at which
// excess was evaluated and found at most 0. The second value of excess is its slope, NaN or 0 where
// it is not known. Excess at lo must be above 0; if it is so at hi too, the search goes beyond.
//
// The method is Newton's inside a bracket. All the excesses are concave in ε (the log
// of a tail of a log-concave density), so that Newton's steps from the right stay there;
// each aims a hair beyond the root to close the bracket from the other side.
func leastPrivate(excess func(x float64) (value, slope float64), lo, hi float64) (float64, error) {
	value, slope := excess(hi)
	for value > 0 {
		lo = hi
		if hi *= 2; math.IsInf(hi, 1) {
			return 0, fmt.Errorf("%w: no finite number is private enough", accountant.ErrInvalid)
		}
		value, slope = excess(hi)
	}
	x := hi
	const limit = 2300 // halvings from 1e308 to 1e-308, and the digits after that
	for i := 0; i < limit && hi-lo > searchWidth*hi; i++ {
		next := x - value/slope
		next -= math.Copysign(searchWidth/4*next, value*-1)
		if !(next > lo && next < hi) || i%8 == 7 { // every eighth step is a bisection
			next = middle(lo, hi)
		}
		if next == lo || next == hi { // neighbouring floats
			break
		}
		x = next
		if value, slope = excess(x); value > 0 {
			lo = x
		} else {
			hi = x
		}
	}
	return hi, nil
}

// middle returns the arithmetic mean of lo and hi or, where hi is above 4·lo, the geometric mean,
// for which lo counts as at least hi·2⁻⁶⁰.
func middle(lo, hi float64) float64 {
	if hi > 4*lo {
		return math.Sqrt(max(lo, hi*0x1p-60)) * math.Sqrt(hi)
	}
	return lo + (hi-lo)/2
}
