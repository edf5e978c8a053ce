package clip

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
