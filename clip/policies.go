package clip

import (
	"fmt"
	"math"

	"dpsgd/internal/setting"
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

// Flat scales a gradient of norm n down to the clip norm C and leaves shorter ones alone (Abadi et
// al., arXiv:1607.00133, Algorithm 1): the factor is min(1, C·(1-2^-12)/n).
//
//	n                                    factor
//	0                                    1
//	up to C·(1-2^-12)                    1
//	above                                C·(1-2^-12)/n, less than 1
//	above 2^80·C                         0
//	NaN, +Inf, root of a negative        0
//
// A Flat whose clip norm [New] would refuse gives the factor 0 to every example.
type Flat struct {
	ClipNorm float64 // C > 0
}

var flat = schemeKind(func() Scheme { return &Flat{} })

func (f Flat) Factors(dst []float32, squaredNorms []float64) {
	factors(dst, squaredNorms, f.ClipNorm, func(target, norm float64) float64 { return math.Min(1, target/norm) })
}

func (f Flat) Bound() float64 { return f.ClipNorm }
func (Flat) Name() string     { return "flat" }
func (f Flat) String() string { return "flat: " + whatIsBounded(f.ClipNorm) }

func (Flat) WithBound(clipNorm float64) Policy { return Flat{clipNorm} }

// PerLayer clips each layer's part of a gradient by itself, as [Flat] clips the whole: the part of
// each of L layers, weight and bias together, is scaled down to the norm C/√L, so that the gradient
// has norm C at most (McMahan, Ramage, Talwar, Zhang, arXiv:1710.06963; He et al.,
// arXiv:2212.01539). A layer with long gradients does not make those of the others shorter.
type PerLayer struct {
	ClipNorm float64 // C > 0
}

// Layered is a policy that scales each layer's part of a gradient by itself before Factors scales
// the whole.
type Layered interface {
	Policy
	// LayerFactors sets dst[i] to the factor for the part of a gradient that belongs to one of so
	// many layers and has the squared L2 norm squaredNorms[i], under the conditions of Factors.
	// Factors is then called with the norms of the scaled gradients. An example of which any layer
	// has the factor 0 gets the norm NaN there, and so adds zero.
	LayerFactors(dst []float32, squaredNorms []float64, layers int)
}

var (
	_        Layered = PerLayer{}
	perLayer         = schemeKind(func() Scheme { return &PerLayer{} })
)

func (p PerLayer) LayerFactors(dst []float32, squaredNorms []float64, layers int) {
	share := 1 / math.Sqrt(float64(layers))
	factors(dst, squaredNorms, p.ClipNorm, func(target, norm float64) float64 { return math.Min(1, share*target/norm) })
}

// Factors implements [Policy]. A gradient that [PerLayer.LayerFactors] has scaled has the factor 1.
func (p PerLayer) Factors(dst []float32, squaredNorms []float64) { Flat(p).Factors(dst, squaredNorms) }
func (p PerLayer) Bound() float64                                { return p.ClipNorm }
func (PerLayer) Name() string                                    { return "per_layer" }

func (p PerLayer) String() string {
	return fmt.Sprintf("per_layer: each of L layers, weight and bias together, is clipped to C/√L; %s", whatIsBounded(p.ClipNorm))
}

func (PerLayer) WithBound(clipNorm float64) Policy { return PerLayer{clipNorm} }

// Automatic scales a gradient of norm n, long or short, to a norm just below the clip norm C: the
// factor is C·(1-2^-12)/(n+γ). It is AUTO-S of Bu et al. (arXiv:2206.07136). The clip
// norm then acts as a factor of the learning rate alone. The stability constant γ matters for short
// gradients: those much shorter than γ stay shorter than the others.
type Automatic struct {
	ClipNorm          float64 // C > 0
	StabilityConstant float64 // γ > 0, in units of the norm of a gradient
}

var automatic = schemeKind(func() Scheme { return &Automatic{StabilityConstant: 0.01} })

func (a *Automatic) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "stability_constant", Also: []string{"gamma"},
		Doc:    "Added to the norm of a gradient before the clip norm is divided by it.",
		Format: setting.Number{Min: 1e-9, Max: 1e6}, Value: &a.StabilityConstant}}
}

func (a Automatic) Factors(dst []float32, squaredNorms []float64) {
	factors(dst, squaredNorms, a.ClipNorm, func(target, norm float64) float64 { return target / (norm + a.StabilityConstant) })
}

func (a Automatic) Bound() float64 { return a.ClipNorm }
func (Automatic) Name() string     { return "automatic" }

func (a Automatic) String() string {
	return fmt.Sprintf("automatic, with stability constant %v: %s", a.StabilityConstant, whatIsBounded(a.ClipNorm))
}

func (a Automatic) WithBound(clipNorm float64) Policy { a.ClipNorm = clipNorm; return a }

// Normalised scales every gradient to the clip norm C, or just below it: the factor is
// C·(1-2^-12)/n for a gradient of norm n. It is AUTO-V of Bu et al. (arXiv:2206.07136).
// Only directions count: an example that is learned already weighs as much as one that is not. A
// gradient of norm 0, which has no direction, has the factor 0, and so has one so short that its
// factor is no float32.
type Normalised struct {
	ClipNorm float64 // C > 0
}

var normalised = schemeKind(func() Scheme { return &Normalised{} })

func (n Normalised) Factors(dst []float32, squaredNorms []float64) {
	factors(dst, squaredNorms, n.ClipNorm, func(target, norm float64) float64 { return target / norm })
}

func (n Normalised) Bound() float64 { return n.ClipNorm }
func (Normalised) Name() string     { return "normalised" }
func (n Normalised) String() string { return "normalised: " + whatIsBounded(n.ClipNorm) }

func (Normalised) WithBound(clipNorm float64) Policy { return Normalised{clipNorm} }
