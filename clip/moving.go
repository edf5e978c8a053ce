package clip

import "math"

// Moving is a policy whose clip norm c changes from release to release, while the bound C on what
// one example adds stays, and with it lattice, noise and event of every release: a gradient is
// clipped to c, and what comes out multiplied to the length that it has in the sum, C or a fixed
// share of it. The noisy sum is multiplied back, which is post-processing. So noise of deviation
// σ·C on the sum is noise of σ·C·Unit, near σ·c, on gradients.
type Moving interface {
	Policy
	// ClipNorm is c for the next release: public, from MinClipNorm to MaxClipNorm.
	ClipNorm() float64
	// Unit is the factor for the noisy sum of the next release.
	Unit() float64
}

// flatThenStretched sets the factors of gradients that are clipped to clipNorm as [Flat] does, and
// then multiplied so that the clip norm becomes length.
func flatThenStretched(dst []float32, squaredNorms []float64, clipNorm, length float64) {
	stretch := length / clipNorm
	factors(dst, squaredNorms, clipNorm, func(target, norm float64) float64 { return stretch * math.Min(1, target/norm) })
}

// withinLimits is the clip norm that is allowed and nearest to c.
func withinLimits(c float64) float64 { return min(max(c, MinClipNorm), MaxClipNorm) }
