package clip

import (
	"math"
	"math/bits"
)

// Lattice is the set of multiples of a spacing, to which contributions are rounded. It depends on
// the bound and on the number of examples, which are public.
type Lattice struct {
	// Bound is C, the L2 norm that no example's contribution exceeds.
	Bound float64
	// Spacing is g, the power of two for which C/g is from 2^20 to 2^21, times 2^-Digits: dividing
	// by it is exact.
	Spacing float64
	// Digits counts the binary digits by which the lattice is finer than that of the noise, from 0
	// to [mostDigits].
	Digits int
}

const (
	// latticeBits sets the spacing of the noise's lattice, between C·2^-20 and C·2^-21: far below
	// any noise that hides a record.
	latticeBits = 20
	// mostDigits leaves room for groups of 64 rows (see the package). With them a gradient of norm
	// C·10^-5 in a million dimensions is rounded by 10^-6 of its norm.
	mostDigits = 26
)

func latticeOf(bound float64, digits int) Lattice {
	_, exponent := math.Frexp(bound) // bound = f·2^exponent, f in [1/2, 1)
	return Lattice{Bound: bound, Spacing: math.Ldexp(1, exponent-1-latticeBits-digits), Digits: digits}
}

// digitsFor returns the largest Digits, up to mostDigits, with which so many contributions of the
// bound's length, all in one coordinate, have a sum below 2^62; 0 if there is none.
func digitsFor(examples int) int {
	return max(0, min(mostDigits, 62-latticeBits-1-bits.Len(uint(examples))))
}

// longest returns the largest squared norm that is allowed, in units of g²: ⌊C/g⌋², less what a sum
// of 2^32 rounded squares can be too small by (proofs/sensitivity.v: accepted_is_short).
func (l Lattice) longest() float64 {
	longest := math.Floor(l.Bound / l.Spacing)
	return longest * longest * (1 - 0x1p-20)
}
