package clip

import "math"

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

func (Flat) Name() string { return "flat" }

func (f Flat) String() string { return "flat: " + whatIsBounded(f.ClipNorm) }

func (f Flat) WithBound(clipNorm float64) Policy {
	f.ClipNorm = clipNorm
	return f
}
