package clip

import "math"

// Lattice is the multiples of a spacing: what contributions are rounded to, and noise too. It
// depends on the clip norm alone, which is public.
type Lattice struct {
	// Bound is C, the L2 norm that no example's contribution exceeds.
	Bound float64
	// Spacing is g, the power of two for which C/g is from 2^20 to 2^21: dividing by it is exact. A
	// gradient of norm C in a million dimensions has entries of a thousand spacings.
	Spacing float64
}

// latticeBits is how much finer than the bound the lattice is, between C·2^-20 and C·2^-21. Finer
// would cost exact arithmetic its room (see the package), coarser would cost short gradients their
// direction.
const latticeBits = 20

func latticeOf(bound float64) Lattice {
	_, exponent := math.Frexp(bound) // bound = f·2^exponent, f in [1/2, 1)
	return Lattice{Bound: bound, Spacing: math.Ldexp(1, exponent-1-latticeBits)}
}

// longest is the largest integer norm that is allowed, squared: ⌊C/g⌋² ≤ 2^42.
func (l Lattice) longest() float64 {
	longest := math.Floor(l.Bound / l.Spacing)
	return longest * longest
}
