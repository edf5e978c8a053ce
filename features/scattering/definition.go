package scattering

import "math"

// Definition is everything that the transform of a channel of a picture follows from, for programs
// that compute it in another way; see the package comment for what is done with it.
type Definition struct {
	Angles                 int
	Fine, Coarse           Wavelets
	Full, Half             Average // of the picture and the moduli of its size, and of the moduli of half its size
	Smallest               float64 // added to squared moduli
	GroupEpsilon           float64 // added to the variances of [GroupNorm]
	CoarseStride           int
	FineMargin             int // by which edges are continued by reflection
	CoarseMargin           int
	Coefficients, Channels int
}

// Wavelets holds the wavelets of one scale: (angle, row, column).
type Wavelets struct {
	Size            int
	Real, Imaginary []float32
}

// Average is a window over planes, with the reflection at their edges: Vertical·plane·Horizontalᵀ.
type Average struct {
	Height, Width, OutHeight, OutWidth int
	Vertical                           []float32 // (OutHeight, Height)
	Horizontal                         []float32 // (OutWidth, Width)
}

// Definition returns the definition of s.
func (s *Scattering) Definition() Definition {
	t := newTransform(s)
	return Definition{
		Angles: angles, Fine: fine.wavelets(), Coarse: coarse.wavelets(), Full: t.fullPass.definition(), Half: t.halfPass.definition(),
		Smallest: smallest, GroupEpsilon: groupNormEpsilon, CoarseStride: t.second.stride, FineMargin: t.first.margin(), CoarseMargin: t.second.margin(),
		Coefficients: Coefficients, Channels: s.shape.Channels,
	}
}

func (s scale) wavelets() Wavelets {
	w := Wavelets{Size: s.size}
	for t := range angles {
		re, im := s.morlet(float64(t) * math.Pi / angles)
		w.Real, w.Imaginary = append(w.Real, rounded(re)...), append(w.Imaginary, rounded(im)...)
	}
	return w
}

func (p *lowPass) definition() Average {
	return Average{p.height, p.width, p.outHeight, p.outWidth, p.vertical, p.horizontal}
}
