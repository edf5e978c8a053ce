package features

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/dsp/fourier"
)

const (
	// minRadius is the radius of the smallest leaves, in pixels.
	minRadius = 1.5
	// pixelsPerLeaf is the area of the canvas for each leaf. Leaves cover most of the canvas, and
	// the same share of it at every size.
	pixelsPerLeaf = 32
)

// leaves paints dead leaves on p.colour: three planes of values from 0 to 1.
func (p *painter) leaves(dice *rand.Rand) {
	c := p.colour
	p.ground(dice)
	for range c.height * c.width / pixelsPerLeaf {
		newLeaf(c, dice).paint(c)
	}
	for i, v := range c.values {
		c.values[i] = clamp(float64(v) + 0.02*dice.NormFloat64())
	}
}

// ground fills p.colour with a random colour and noise around it. How coarse the noise is, its
// slope, is drawn once for each picture.
func (p *painter) ground(dice *rand.Rand) {
	slope := 0.8 + 0.8*dice.Float64()
	for i := range p.colour.planes {
		base := dice.Float64()
		p.noise.fill(slope, dice)
		plane := p.colour.plane(i)
		for j, z := range p.noise.values {
			plane[j] = clamp(base + 0.15*z)
		}
	}
}

// greyLeaves makes the first plane the mean of all planes, for grey leaves.
func (p *painter) greyLeaves() {
	red, green, blue := p.colour.plane(0), p.colour.plane(1), p.colour.plane(2)
	for i, v := range red {
		red[i] = (v + green[i] + blue[i]) / 3
	}
}

// The outlines of leaves.
const (
	disc = iota
	rectangle
	triangle
	outlines
)

// A leaf is one shape and the pattern on it. Its own coordinates (u, v) have their origin in its
// middle and are turned against those of the canvas.
type leaf struct {
	outline        int
	radius, aspect float64 // half its length, in pixels; width/length
	x, y           float64 // of its middle
	cosine, sine   float64 // of the angle by which it is turned
	colour         [3]float64
	contrast       [3]float64 // of its grating, in each channel
	frequency      float64    // of the grating along u, in radians for each pixel
	phase          float64
	shade          float64 // by how much it becomes lighter for each pixel along u
	hasGrating     bool
}

// newLeaf returns a random leaf for a canvas. It paints nothing.
func newLeaf(c canvas, dice *rand.Rand) leaf {
	side := math.Sqrt(float64(c.height * c.width))
	angle := 2 * math.Pi * dice.Float64()
	l := leaf{
		outline:   dice.IntN(outlines),
		radius:    leafRadius(dice.Float64(), side/1.6),
		aspect:    0.3 + 0.7*dice.Float64(),
		x:         dice.Float64() * float64(c.width),
		y:         dice.Float64() * float64(c.height),
		cosine:    math.Cos(angle),
		sine:      math.Sin(angle),
		frequency: 0.15 + 1.2*dice.Float64(),
		phase:     2 * math.Pi * dice.Float64(),
		shade:     0.5 * dice.NormFloat64() / side,
	}
	// Colours of things are mostly greyish: what the channels share varies more than what they
	// do not.
	grey := dice.Float64()
	amplitude := 0.35 * dice.Float64()
	l.hasGrating = dice.Float64() < 0.5
	for i := range l.colour {
		l.colour[i] = float64(clamp(grey + 0.25*dice.NormFloat64()))
		l.contrast[i] = amplitude * (1 + 0.3*dice.NormFloat64())
	}
	return l
}

// leafRadius returns the radius at quantile q of the density that is proportional to r^-3 from
// minRadius to largest. With it, and only with it, dead leaves look the same at every scale (Lee,
// Mumford, Huang 2001).
func leafRadius(q, largest float64) float64 {
	small, large := 1/(minRadius*minRadius), 1/(largest*largest)
	return 1 / math.Sqrt(small-q*(small-large))
}

// paint sets the pixels that the leaf covers. Grating and shade may take them out of [0, 1].
func (l leaf) paint(c canvas) {
	reach := l.radius * math.Sqrt2 // of the corners of a square, the longest of all
	left, right := span(l.x, reach, c.width)
	top, bottom := span(l.y, reach, c.height)
	for y := top; y < bottom; y++ {
		for x := left; x < right; x++ {
			dx, dy := float64(x)-l.x, float64(y)-l.y
			u, v := dx*l.cosine+dy*l.sine, dy*l.cosine-dx*l.sine
			if l.covers(u, v) {
				l.pixel(c, y*c.width+x, u)
			}
		}
	}
}

// span returns the range [from, to) of the integers from 0 to n-1 that are within reach of middle.
func span(middle, reach float64, n int) (from, to int) {
	return max(int(math.Ceil(middle-reach)), 0), min(int(middle+reach)+1, n)
}

func (l leaf) covers(u, v float64) bool {
	switch l.outline {
	case disc:
		across := v / l.aspect
		return u*u+across*across < l.radius*l.radius
	case rectangle:
		return math.Abs(u) < l.radius && math.Abs(v) < l.radius*l.aspect
	default:
		return v > -0.6*l.radius && v+1.7*math.Abs(u) < l.radius
	}
}

// pixel paints pixel at of the canvas, which lies u from the leaf's middle along the leaf.
func (l leaf) pixel(c canvas, at int, u float64) {
	var wave float64
	if l.hasGrating {
		wave = math.Sin(l.frequency*u + l.phase)
	}
	for i, colour := range l.colour {
		c.plane(i)[at] = float32(colour + l.contrast[i]*wave + l.shade*u)
	}
}

// pinkNoise makes Gaussian noise whose amplitude falls with a power of the frequency, as it does in
// photographs (Field 1987, "Relations between the statistics of natural images and the response
// properties of cortical cells", finds about 1/f).
type pinkNoise struct {
	height, width int
	values        []float64 // the noise, row by row
	rows          *fourier.FFT
	columns       *fourier.CmplxFFT
	spectrum      []complex128 // of the frequencies 0 to width/2 along rows, row by row
	column        []complex128
}

func newPinkNoise(height, width int) *pinkNoise {
	return &pinkNoise{
		height:   height,
		width:    width,
		values:   make([]float64, height*width),
		rows:     fourier.NewFFT(width),
		columns:  fourier.NewCmplxFFT(height),
		spectrum: make([]complex128, height*(width/2+1)),
		column:   make([]complex128, height),
	}
}

// fill sets values to noise of mean 0 and variance 1 whose amplitude at frequency f, in cycles for
// each pixel, is proportional to f^-slope: white noise, filtered.
func (n *pinkNoise) fill(slope float64, dice *rand.Rand) {
	for i := range n.values {
		n.values[i] = dice.NormFloat64()
	}
	half := n.width/2 + 1
	for y := range n.height {
		n.rows.Coefficients(n.spectrum[y*half:(y+1)*half], n.values[y*n.width:(y+1)*n.width])
	}
	for x := range half {
		n.filterColumn(x, half, slope)
	}
	for y := range n.height {
		n.rows.Sequence(n.values[y*n.width:(y+1)*n.width], n.spectrum[y*half:(y+1)*half])
	}
	standardise(n.values, float64(len(n.values)), 0)
}

// filterColumn multiplies column x of the spectrum, frequency x along the rows, by f^-slope.
func (n *pinkNoise) filterColumn(x, half int, slope float64) {
	for y := range n.column {
		n.column[y] = n.spectrum[y*half+x]
	}
	n.columns.Coefficients(n.column, n.column)
	// Frequency 0 has the gain of the lowest one.
	lowest := 1 / float64(max(n.height, n.width))
	for y := range n.column {
		f := math.Hypot(n.columns.Freq(y), n.rows.Freq(x))
		n.column[y] *= complex(math.Pow(math.Max(f, lowest), -slope), 0)
	}
	n.columns.Sequence(n.column, n.column)
	for y, z := range n.column {
		n.spectrum[y*half+x] = z
	}
}

// standardise subtracts the mean of x from x and divides by √(variance + floor), in place. The
// variance is the sum of squared differences from the mean, divided by freedom.
func standardise(x []float64, freedom, floor float64) {
	var sum, squares float64
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	scale := 1 / math.Sqrt(squares/freedom+floor)
	for i, v := range x {
		x[i] = (v - mean) * scale
	}
}
