package clip

import "errors"

// Policy decides by how much each example's gradient is scaled. A factor depends on its example
// alone, so that no example changes the factor of another. A policy holds public values only.
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

	// Name returns the policy's name in configs and reports, String a sentence for the privacy
	// statement.
	Name() string
	String() string
}

// ErrClipNorm is wrapped by errors about a clip norm out of range.
var ErrClipNorm = errors.New("clip norm out of range")

// Clip norms below MinClipNorm or above MaxClipNorm are refused. Between them, scaled rows and the
// lattice stay in the normal range of float32.
const (
	MinClipNorm = 0x1p-40 // about 1e-12
	MaxClipNorm = 0x1p+40 // about 1e+12
)
