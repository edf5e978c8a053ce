package clip

import (
	"fmt"

	"dpsgd/internal/setting"
)

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

func (Automatic) Name() string { return "automatic" }

func (a Automatic) String() string {
	return fmt.Sprintf("automatic, with stability constant %v: %s", a.StabilityConstant, whatIsBounded(a.ClipNorm))
}

func (a Automatic) WithBound(clipNorm float64) Policy {
	a.ClipNorm = clipNorm
	return a
}

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

func (Normalised) Name() string { return "normalised" }

func (n Normalised) String() string { return "normalised: " + whatIsBounded(n.ClipNorm) }

func (n Normalised) WithBound(clipNorm float64) Policy {
	n.ClipNorm = clipNorm
	return n
}
