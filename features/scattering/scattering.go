package scattering

import (
	"fmt"
	"math"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

const (
	// Coefficients is the number of values that each channel of a picture has at each place.
	Coefficients = 1 + 2*angles + angles*angles
	// Step is the distance between places in pixels, in both directions.
	Step = 4

	smallestSide = 12 // windows reach 9 pixels beyond the edges, and 12 can reflect 11
)

// Scattering is the transform of pictures of one size. Goroutines may share it.
type Scattering struct {
	shape        data.Shape
	fine, coarse mirrored
}

// New returns the transform of pictures of a shape; each channel is transformed on its own. It is
// an error if height or width is not a multiple of 4 and at least 12.
func New(shape data.Shape) (*Scattering, error) {
	if shape.Channels < 1 || !fits(shape.Height) || !fits(shape.Width) {
		return nil, fmt.Errorf("scattering: pictures of %d×%d in %d channels, "+
			"expected height and width to be multiples of %d from %d up and at least one channel",
			shape.Height, shape.Width, shape.Channels, Step, smallestSide)
	}
	return &Scattering{shape, newMirrored(fine), newMirrored(coarse)}, nil
}

func fits(side int) bool { return side >= smallestSide && side%Step == 0 }

// Width returns the number of values of one picture's transform:
// channels · Coefficients · (height/4) · (width/4).
func (s *Scattering) Width() int { return s.shape.Channels * s.channelWidth() }

func (s *Scattering) channelWidth() int {
	return Coefficients * (s.shape.Height / Step) * (s.shape.Width / Step)
}

// Extractor returns a function that writes the transform of one picture to dst. picture is planar,
// (channel, row, column), with values from 0 to 1; dst is (channel, coefficient, row, column) and
// has Width values. The function has working memory of its own, so that every goroutine needs its
// own; it allocates nothing.
func (s *Scattering) Extractor() func(dst, picture []float32) {
	t := newTransform(s)
	pixels, width := s.shape.Height*s.shape.Width, s.channelWidth()
	return func(dst, picture []float32) {
		for c := range s.shape.Channels {
			t.channel(dst[c*width:(c+1)*width], picture[c*pixels:(c+1)*pixels])
		}
	}
}

// transform computes the transform of one channel. It holds the working memory.
type transform struct {
	first    *layer // picture -> |x∗ψ₀|
	second   *layer // picture and |x∗ψ₀| -> |x∗ψ₁| and ||x∗ψ₀|∗ψ₁|
	fullPass *lowPass
	halfPass *lowPass
	full     []float32 // picture and |x∗ψ₀|: (1 + angles, height, width)
	half     []float32 // |x∗ψ₁| and ||x∗ψ₀|∗ψ₁|: ((1 + angles)·angles, height/2, width/2)
}

func newTransform(s *Scattering) *transform {
	const planes = 1 + angles
	height, width := s.shape.Height, s.shape.Width
	return &transform{
		first:    newLayer(fine, s.fine, 1, height, width, 1),
		second:   newLayer(coarse, s.coarse, planes, height, width, 2),
		fullPass: newLowPass(planes, height, width, Step),
		halfPass: newLowPass(planes*angles, height/2, width/2, Step/2),
		full:     make([]float32, planes*height*width),
		half:     make([]float32, planes*angles*height/2*width/2),
	}
}

func (t *transform) channel(dst, pixels []float32) {
	copy(t.full, pixels)
	t.first.forward(t.full[len(pixels):], pixels)
	t.second.forward(t.half, t.full)
	t.halfPass.forward(t.fullPass.forward(dst, t.full), t.half)
}

// groupNormEpsilon is added to variances; PyTorch's default.
const groupNormEpsilon = 1e-5

// GroupNorm normalises the features of one picture in place, as PyTorch's GroupNorm without gain
// and shift does. values is (channels, places). The channels, a multiple of groups, are cut into
// groups of channels/groups neighbours, and each value of a group becomes
//
//	(x - mean) / √(variance + 1e-5)
//
// with the mean and the biased variance of the whole group.
//
// In the mirror image of a picture, coefficients belong to other groups. So the normalised features
// of a mirrored picture are no exact mirror image: mirror the picture, not the features.
func GroupNorm(values []float32, groups int) {
	var inverse [1]float32
	for n := len(values) / groups; len(values) > 0; values = values[n:] {
		group := values[:n]
		kernel.GroupNormForward(group, inverse[:], group, n, 1, 1, groupNormEpsilon)
	}
}

// Definition is everything that the transform of a channel of a picture follows from, for programs
// that compute it in another way; see the package comment for what is done with it.
type Definition struct {
	Angles                 int
	Fine, Coarse           Wavelets
	Full, Half             Average // of the picture and the moduli of its size, and of the moduli of half its size
	Smallest               float64 // added to squared moduli
	GroupEpsilon           float64 // added to the variances of [GroupNorm]
	CoarseStride           int     // by which the windows of the coarse wavelets move, in pixels
	FineMargin             int     // pixels by which edges are continued, by reflection, for the fine wavelets
	CoarseMargin           int     // the same for the coarse wavelets
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

// Definition returns everything that the transform s follows from.
func (s *Scattering) Definition() Definition {
	t := newTransform(s)
	return Definition{
		Angles: angles, Fine: fine.wavelets(), Coarse: coarse.wavelets(), Full: t.fullPass.Average, Half: t.halfPass.Average,
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
