package scattering

import (
	"math"
	"slices"
)

// The wavelets of angles t and 8-t are mirror images of each other in x, the direction of a row of
// pixels. So the parts of one that are even and odd in x serve both: where E and O are the
// convolutions with these, one wavelet gives E + O and the other E - O. The parts need half of the
// taps each, applied to the sums and the differences of pixels that mirror each other in the
// window. The two wavelets that are their own mirror image have a real part that is even; the
// imaginary part is odd for t = 0, where the wave runs along x, and even for t = 4.

// The rows of the two matrices of filters: real and imaginary part of t = 1, 2, 3 in both, and then
// what there is of t = 0 and t = 4.
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

// evenTaps and oddTaps are the columns of a window that the two parts see.
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

// evenPart and oddPart return half of the sum and of the difference of a filter and its mirror
// image: the left columns, (size, evenTaps) and (size, oddTaps).
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
