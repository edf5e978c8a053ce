package clip

import (
	"errors"
	"fmt"
	"math"
)

// Policy decides by how much each example's gradient is scaled. It depends on that example alone,
// so that no example changes the factor of another, and holds public values only.
type Policy interface {
	// Factors sets dst[i] to the factor for a gradient whose squared L2 norm over all trainable
	// parameters is squaredNorms[i]: finite, not negative, and such that the gradient times its
	// factor stays a little below Bound, with room for rounding. A squared norm that is no finite
	// number >= 0 gives exactly 0. The slices must have the same length.
	//
	// Privacy does not rest on the factors: a [Sum] measures what it adds.
	Factors(dst []float32, squaredNorms []float64)

	// Bound returns the L2 norm that no scaled gradient exceeds.
	Bound() float64

	// Name is the policy's name in configs and reports, String a sentence for the privacy
	// statement.
	Name() string
	String() string
}

// ErrClipNorm is wrapped by errors about a clip norm out of range.
var ErrClipNorm = errors.New("clip norm out of range")

// Clip norms outside are refused: inside, scaled rows and the lattice stay in the normal range of
// float32.
const (
	MinClipNorm = 0x1p-40 // about 1e-12
	MaxClipNorm = 0x1p+40 // about 1e+12
)

// Flat scales a gradient of norm n down to the clip norm C and leaves shorter ones alone (Abadi et
// al., arXiv:1607.00133, Algorithm 1): the factor is min(1, C·(1-2^-12)/n), rounded toward zero to
// float32. The margin 2^-12 has room for float32 norms and for rounding to the lattice, so that a
// [Sum] has no reason to refuse what was computed with care.
//
//	n                                    factor
//	0                                    1
//	up to C·(1-2^-12)                    1
//	above                                C·(1-2^-12)/n, less than 1
//	above 2^80·C                         0, before the scaled row drowns in denormal numbers
//	NaN, +Inf, root of a negative        0
//
// A Flat whose clip norm [NewFlat] would refuse gives the factor 0 to every example.
type Flat struct {
	ClipNorm float64 // C > 0
}

var _ Policy = Flat{}

// NewFlat returns the policy with the given clip norm, or an error that wraps [ErrClipNorm] if it
// is not a number from [MinClipNorm] to [MaxClipNorm].
func NewFlat(clipNorm float64) (Flat, error) {
	f := Flat{ClipNorm: clipNorm}
	if !f.valid() {
		return Flat{}, fmt.Errorf("clip: clip norm is %g, expected a number from %g to %g: %w",
			clipNorm, MinClipNorm, MaxClipNorm, ErrClipNorm)
	}
	return f, nil
}

const (
	margin     = 0x1p-12 // relative distance kept from the clip norm
	brokenFrom = 0x1p+80 // multiple of the clip norm from which a gradient counts as broken
)

// Factors implements [Policy].
func (f Flat) Factors(dst []float32, squaredNorms []float64) {
	if len(dst) != len(squaredNorms) {
		panic(fmt.Sprintf("clip: %d factors for %d norms", len(dst), len(squaredNorms)))
	}
	for i, square := range squaredNorms {
		dst[i] = f.factor(math.Sqrt(square)) // NaN for a negative square
	}
}

func (f Flat) factor(norm float64) float32 {
	target := f.ClipNorm * (1 - margin)
	switch {
	// Written so that NaN, for which every comparison is false, takes this way out.
	case !f.valid() || !(norm <= brokenFrom*f.ClipNorm):
		return 0
	case norm <= target:
		return 1
	default:
		return towardZero(target / norm)
	}
}

func (f Flat) valid() bool { return f.ClipNorm >= MinClipNorm && f.ClipNorm <= MaxClipNorm }

// towardZero rounds x >= 0 to the largest float32 that is not above it.
func towardZero(x float64) float32 {
	y := float32(x)
	if float64(y) > x {
		y = math.Nextafter32(y, 0)
	}
	return y
}

// Bound returns the clip norm.
func (f Flat) Bound() float64 { return f.ClipNorm }

// Name returns "flat".
func (Flat) Name() string { return "flat" }

// String says what is bounded.
func (f Flat) String() string {
	return fmt.Sprintf("flat: what one example adds to the sum, over all coordinates, has L2 norm at most C = %v", f.ClipNorm)
}
