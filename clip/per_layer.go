package clip

import (
	"fmt"
	"math"
)

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

func (p PerLayer) Bound() float64 { return p.ClipNorm }

func (PerLayer) Name() string { return "per_layer" }

func (p PerLayer) String() string {
	return fmt.Sprintf("per_layer: each of L layers, weight and bias together, is clipped to C/√L; %s", whatIsBounded(p.ClipNorm))
}

func (p PerLayer) WithBound(clipNorm float64) Policy {
	p.ClipNorm = clipNorm
	return p
}
