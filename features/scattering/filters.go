package scattering

import (
	"math"
	"slices"
)

// The filters, computed in float64 from their formulas: Morlet wavelets and Gaussians, all centred
// on the middle of their square so that each is its own mirror image or that of another.

const angles = 8

// scale is one of the two scales of wavelets.
type scale struct {
	size      int     // of the square that holds a wavelet
	sigma     float64 // deviation of the envelope along the wave, in pixels
	frequency float64 // of the wave, in radians per pixel
}

var (
	fine   = scale{size: 11, sigma: 0.8, frequency: 3 * math.Pi / 4}
	coarse = scale{size: 20, sigma: 1.6, frequency: 3 * math.Pi / 8}
)

// slant is the deviation of the envelope along the wave divided by that across it.
const slant = 4.0 / angles

// morlet returns the real and the imaginary part of the wavelet of an angle, size×size:
//
//	ψ(u, v) = slant/(2πσ²) · exp(-(u² + slant²·v²)/(2σ²)) · (exp(iξu) - κ)
//
// where u runs along the wave and v across it, from the middle of the square; σ is s.sigma, ξ is
// s.frequency, and κ makes the sum of ψ zero (Andén and Mallat, "Deep Scattering Spectrum",
// arXiv:1304.6763, section 2.2, in two dimensions).
func (s scale) morlet(angle float64) (re, im []float64) {
	re, im = make([]float64, s.size*s.size), make([]float64, s.size*s.size)
	envelope := make([]float64, s.size*s.size)
	var wave, mass float64 // the imaginary parts of the wave cancel
	for i := range envelope {
		y, x := centred(i/s.size, s.size), centred(i%s.size, s.size)
		u, v := x*math.Cos(angle)+y*math.Sin(angle), y*math.Cos(angle)-x*math.Sin(angle)
		envelope[i] = math.Exp(-(u*u + slant*slant*v*v) / (2 * s.sigma * s.sigma))
		re[i], im[i] = envelope[i]*math.Cos(s.frequency*u), envelope[i]*math.Sin(s.frequency*u)
		wave += re[i]
		mass += envelope[i]
	}
	gain := slant / (2 * math.Pi * s.sigma * s.sigma)
	for i := range envelope {
		re[i] = gain * (re[i] - wave/mass*envelope[i])
		im[i] *= gain
	}
	return re, im
}

// gaussian returns size samples of a centred Gaussian of deviation sigma, divided by their sum.
func gaussian(size int, sigma float64) []float64 {
	g := make([]float64, size)
	var sum float64
	for i := range g {
		x := centred(i, size)
		g[i] = math.Exp(-x * x / (2 * sigma * sigma))
		sum += g[i]
	}
	for i := range g {
		g[i] /= sum
	}
	return g
}

// centred returns the place of sample i of size samples, counted from their middle.
func centred(i, size int) float64 { return float64(i) - float64(size-1)/2 }

// The wavelets of angles t and 8-t are mirror images of each other in x, the direction of a row of
// pixels. So the parts of one that are even and odd in x serve both: where E and O are the
// convolutions with these, one wavelet gives E + O and the other E - O. The parts need half of the
// taps each, applied to the sums and the differences of pixels that mirror each other in the
// window. The two wavelets that are their own mirror image have a real part that is even; the
// imaginary part is odd for t = 0, where the wave runs along x, and even for t = 4.

// The rows of the even and the odd matrix of filters: real and imaginary part of t = 1, 2, 3 in
// both, and then the parts of t = 0 and t = 4 that are even or odd.
const (
	pairs = angles/2 - 1 // of wavelets that mirror each other: t = 1, 2, 3 and 7, 6, 5

	realZero, realFour, imaginaryFour = 2 * pairs, 2*pairs + 1, 2*pairs + 2 // even
	evenFilters                       = 2*pairs + 3

	imaginaryZero = 2 * pairs // odd
	oddFilters    = 2*pairs + 1
)

// mirrored holds the parts of the wavelets of one scale, a row for each, of which the left half is
// enough. The column in the middle, where there is one, belongs to the even part.
type mirrored struct {
	even []float32 // (evenFilters, size, evenTaps)
	odd  []float32 // (oddFilters, size, oddTaps)
}

// evenTaps and oddTaps return the number of columns that the two parts have.
func (s scale) evenTaps() int { return (s.size + 1) / 2 }
func (s scale) oddTaps() int  { return s.size / 2 }

func newMirrored(s scale) mirrored {
	var m mirrored
	for t := 1; t <= pairs; t++ {
		re, im := s.morlet(float64(t) * math.Pi / angles)
		m.even = append(m.even, slices.Concat(s.evenPart(re), s.evenPart(im))...)
		m.odd = append(m.odd, slices.Concat(s.oddPart(re), s.oddPart(im))...)
	}
	re0, im0 := s.morlet(0)
	re4, im4 := s.morlet(math.Pi / 2)
	m.even = append(m.even, slices.Concat(s.evenPart(re0), s.evenPart(re4), s.evenPart(im4))...)
	m.odd = append(m.odd, s.oddPart(im0)...)
	return m
}

// evenPart and oddPart return half of the sum, or of the difference, of a filter and its mirror
// image. They return the left columns alone: (size, evenTaps) and (size, oddTaps).
func (s scale) evenPart(filter []float64) []float32 { return s.part(filter, 1, s.evenTaps()) }
func (s scale) oddPart(filter []float64) []float32  { return s.part(filter, -1, s.oddTaps()) }

func (s scale) part(filter []float64, sign float64, taps int) (part []float32) {
	for line := range slices.Chunk(filter, s.size) {
		for k := range taps {
			part = append(part, float32((line[k]+sign*line[s.size-1-k])/2))
		}
	}
	return part
}
