package scattering

import (
	"math"

	"dpsgd/data"
)

// The slow reference: the definition, in float64, one tap after another.

// convolution is the geometry of the convolution of one plane with one square filter.
type convolution struct {
	height, width, size, stride int
}

func (c convolution) outputs() int { return c.height / c.stride * (c.width / c.stride) }

// each calls f for every output, input and weight of the linear map.
func (c convolution) each(filter []float64, f func(out, in int, weight float64)) {
	margin := (c.size - c.stride) / 2
	for out := range c.outputs() {
		top, left := out/(c.width/c.stride)*c.stride-margin, out%(c.width/c.stride)*c.stride-margin
		for tap, weight := range filter {
			y, x := data.Reflected(top+tap/c.size, c.height), data.Reflected(left+tap%c.size, c.width)
			f(out, y*c.width+x, weight)
		}
	}
}

func (c convolution) apply(filter, x []float64) []float64 {
	y := make([]float64, c.outputs())
	c.each(filter, func(out, in int, weight float64) { y[out] += weight * x[in] })
	return y
}

func (c convolution) modulus(s scale, t int, x []float64) []float64 {
	re, im := s.morlet(float64(t) * math.Pi / angles)
	y, imaginary := c.apply(re, x), c.apply(im, x)
	for i := range y {
		y[i] = math.Sqrt(y[i]*y[i] + imaginary[i]*imaginary[i] + smallest)
	}
	return y
}

// gaussianSquare is the window of an average, size×size.
func gaussianSquare(size int, sigma float64) []float64 {
	g, square := gaussian(size, sigma), make([]float64, size*size)
	for i := range square {
		square[i] = g[i/size] * g[i%size]
	}
	return square
}

var (
	fullWindow = gaussianSquare(16, 1.6)
	halfWindow = gaussianSquare(8, 0.8)
)

// The convolutions of a picture of height by width: with fine wavelets, with coarse ones, with the
// window, and with the window at half the size.
func convolutions(height, width int) (first, second, full, half convolution) {
	return convolution{height, width, 11, 1}, convolution{height, width, 20, 2},
		convolution{height, width, 16, 4}, convolution{height / 2, width / 2, 8, 2}
}

func referenceTransform(shape data.Shape, picture []float32) []float64 {
	var s []float64
	n := shape.Height * shape.Width
	for c := range shape.Channels {
		x := make([]float64, n)
		for i, v := range picture[c*n : (c+1)*n] {
			x[i] = float64(v)
		}
		s = append(s, referenceChannel(shape.Height, shape.Width, x)...)
	}
	return s
}

func referenceChannel(height, width int, x []float64) []float64 {
	first, second, full, half := convolutions(height, width)
	planes := [][]float64{x}
	for t := range angles {
		planes = append(planes, first.modulus(fine, t, x))
	}
	var s []float64
	for _, u := range planes {
		s = append(s, full.apply(fullWindow, u)...)
	}
	for _, u := range planes {
		for t := range angles {
			s = append(s, half.apply(halfWindow, second.modulus(coarse, t, u))...)
		}
	}
	return s
}
