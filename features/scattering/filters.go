package scattering

import "math"

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

// slant is the deviation of the envelope along the wave by that across it.
const slant = 4.0 / angles

// morlet returns the real and the imaginary part of the wavelet of an angle, size×size:
//
//	ψ(u, v) = slant/(2πσ²) · exp(-(u² + slant²·v²)/(2σ²)) · (exp(iξu) - κ)
//
// where u runs along the wave, v across it, and κ makes the sum of ψ zero (Andén and Mallat,
// "Deep Scattering Spectrum", arXiv:1304.6763, section 2.2, in two dimensions).
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

// gaussian returns the samples of a Gaussian of deviation sigma that sum to one.
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

// centred is the place of sample i of size, from their middle.
func centred(i, size int) float64 { return float64(i) - float64(size-1)/2 }

// reflected is the index below n that continues 0…n-1 to i by reflection about the first and the
// last one, for i within n-1 of them: PyTorch's padding mode "reflect".
func reflected(i, n int) int {
	if i < 0 {
		return -i
	}
	return min(i, 2*(n-1)-i)
}
