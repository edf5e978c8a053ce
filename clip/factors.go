package clip

import (
	"fmt"
	"math"
)

// What the policies have in common. No bound rests on it: a [Sum] measures what it adds.

const (
	margin     = 0x1p-12 // relative distance kept from the clip norm
	brokenFrom = 0x1p+80 // multiple of the clip norm from which a gradient counts as broken
)

// factors sets dst[i] to formula of a target and of the root of squaredNorms[i]. The target is a
// little below the clip norm: C·(1-2^-12), which leaves room for float32 norms and for rounding to
// the lattice, so that a [Sum] has no reason to refuse what was computed with care. The factor is
// rounded toward zero to float32. It is 0
//
//   - for every example if the clip norm is out of range,
//   - for a norm above 2^80·C, with which the entries of the scaled row would be denormal numbers,
//     and for NaN,
//   - where the formula gives no finite float32 that is not negative.
func factors(dst []float32, squaredNorms []float64, clipNorm float64, formula func(target, norm float64) float64) {
	if len(dst) != len(squaredNorms) {
		panic(fmt.Sprintf("clip: %d factors for %d norms", len(dst), len(squaredNorms)))
	}
	valid, target := validClipNorm(clipNorm), clipNorm*(1-margin)
	for i, square := range squaredNorms {
		dst[i] = 0
		// Written so that NaN, for which every comparison is false, leaves the 0. The root of -0 is
		// -0.
		if norm := math.Abs(math.Sqrt(square)); valid && norm <= brokenFrom*clipNorm {
			if factor := formula(target, norm); factor >= 0 && factor <= math.MaxFloat32 {
				dst[i] = towardZero(factor)
			}
		}
	}
}

func validClipNorm(c float64) bool { return c >= MinClipNorm && c <= MaxClipNorm }

// towardZero rounds x >= 0 to the largest float32 that is not above it.
func towardZero(x float64) float32 {
	y := float32(x)
	if float64(y) > x {
		y = math.Nextafter32(y, 0)
	}
	return y
}

// whatIsBounded returns the end of a policy's sentence in the privacy statement.
func whatIsBounded(clipNorm float64) string {
	return fmt.Sprintf("what one example adds to the sum, over all coordinates, has L2 norm at most C = %v", clipNorm)
}
