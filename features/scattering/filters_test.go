package scattering

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"
)

// A constant has no response, whatever the angle.
func TestWaveletsHaveMeanZero(t *testing.T) {
	for _, s := range []scale{fine, coarse} {
		for angle := range angles {
			re, im := s.morlet(float64(angle) * math.Pi / angles)
			if a, b := sum(re), sum(im); !(math.Abs(a) <= 1e-15) || !(math.Abs(b) <= 1e-15) {
				t.Errorf("size %d, angle %d: sum %g + %gi, expected 0", s.size, angle, a, b)
			}
		}
	}
}

// The identities by which wavelets are folded: 8-t is the mirror image of t, and those that are
// their own mirror image, 0 and 4, have no other parts than the three that are kept of them.
// (Angle 8 is angle 0 with the wave running backwards, which has the same modulus.)
func TestWaveletsAreMirrorImages(t *testing.T) {
	const tolerance = 1e-15
	for _, s := range []scale{fine, coarse} {
		for angle := 0; angle <= angles/2; angle++ {
			re, im := s.morlet(float64(angle) * math.Pi / angles)
			imageRe, imageIm := s.morlet(float64(angles-angle) * math.Pi / angles)
			expectClose(t, mirror(s, imageRe), re, tolerance)
			expectClose(t, mirror(s, imageIm), im, tolerance)
		}
		re0, im0 := s.morlet(0)
		re4, im4 := s.morlet(math.Pi / 2)
		expectClose(t, mirror(s, re0), re0, tolerance)
		expectClose(t, mirror(s, re4), re4, tolerance)
		expectClose(t, mirror(s, im4), im4, tolerance)
		odd := mirror(s, im0)
		scaleBy(odd, -1)
		expectClose(t, odd, im0, tolerance)
	}
}

// mirror returns a filter mirrored in x.
func mirror(s scale, filter []float64) []float64 {
	image := slices.Clone(filter)
	for line := range slices.Chunk(image, s.size) {
		slices.Reverse(line)
	}
	return image
}

func TestWindowsSumToOne(t *testing.T) {
	for _, window := range [][]float64{fullWindow, halfWindow} {
		if s := sum(window); !(math.Abs(s-1) <= 1e-14) {
			t.Errorf("sum %g, expected 1", s)
		}
	}
}

// The Littlewood-Paley sum of the doc comment, on a grid of 32×32 frequencies. At most 1 says that
// the filters, not subsampled and on the whole plane, do not gain energy; the least says how much
// of it they keep at the worst frequency, (π, π). It was computed with numpy's FFT, too.
func TestLittlewoodPaleySum(t *testing.T) {
	filters := [][]complex128{complexFilter(fullWindow, make([]float64, len(fullWindow)))}
	for _, s := range []scale{fine, coarse} {
		for angle := range angles {
			filters = append(filters, complexFilter(s.morlet(float64(angle)*math.Pi/angles)))
		}
	}
	const n = 32
	least, most, leastBelowHalf := math.Inf(1), 0.0, math.Inf(1)
	for i := range n * n {
		wy, wx := 2*math.Pi*float64(i/n-n/2)/n, 2*math.Pi*float64(i%n-n/2)/n
		var total float64
		for _, filter := range filters {
			total += (power(filter, wy, wx) + power(filter, -wy, -wx)) / 2
		}
		least, most = min(least, total), max(most, total)
		if math.Hypot(wy, wx) < math.Pi/2 {
			leastBelowHalf = min(leastBelowHalf, total)
		}
	}
	if !(math.Abs(most-1) <= 1e-9) || !(math.Abs(least-0.12298) <= 1e-5) || leastBelowHalf < 0.75 {
		t.Errorf("between %.6f (%.6f below half the highest frequency) and %.12f, "+
			"expected 0.12298, at least 0.75, and 1", least, leastBelowHalf, most)
	}
}

func complexFilter(re, im []float64) []complex128 {
	filter := make([]complex128, len(re))
	for i := range re {
		filter[i] = complex(re[i], im[i])
	}
	return filter
}

// power is |Σ filter(y, x) e^{-i(ωy·y + ωx·x)}|² of a square filter.
func power(filter []complex128, wy, wx float64) float64 {
	size := int(math.Sqrt(float64(len(filter))))
	var sum complex128
	for i, v := range filter {
		sum += v * cmplx.Rect(1, -wy*float64(i/size)-wx*float64(i%size))
	}
	return real(sum)*real(sum) + imag(sum)*imag(sum)
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}
