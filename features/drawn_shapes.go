package features

import (
	"math"
	"math/rand/v2"
)

// blobSide is the number of random heights along each side whose landscape makes a blob.
const blobSide = 5

// silhouette paints the first plane of a picture: grey leaves inside a blob.
func (p *painter) silhouette(to canvas, dice *rand.Rand) {
	p.leaves(dice)
	p.greyLeaves()
	blob(p.mask, dice)
	blurInside(to.plane(0), p.colour.plane(0), to.height, to.width)
	shown := p.colour.plane(1)[:to.height*to.width] // free, as the leaves are grey
	blurInside(shown, p.mask.plane(0), to.height, to.width)
	for i, v := range shown {
		to.values[i] *= v
	}
}

// blob paints 1 where a random smooth landscape is higher than a level that rises away from the
// middle, and else 0: most often one lump, of a random outline.
func blob(c canvas, dice *rand.Rand) {
	var heights [blobSide][blobSide]float64
	for i := range heights {
		for j := range heights[i] {
			heights[i][j] = dice.NormFloat64()
		}
	}
	columns := make([]axis, c.width)
	for x := range columns {
		columns[x] = newAxis(x, c.width)
	}
	for y := range c.height {
		row := newAxis(y, c.height)
		for x, column := range columns {
			land := 1.2
			for i, a := range row.weights {
				for j, b := range column.weights {
					land += a * b * heights[i][j]
				}
			}
			depth := 2 * (row.place*row.place + column.place*column.place)
			c.values[y*c.width+x] = 0
			if land > depth {
				c.values[y*c.width+x] = 1
			}
		}
	}
}

// An axis says where a pixel of the canvas is along one direction.
type axis struct {
	place   float64           // -1 at the first pixel of the picture, 1 at the last one
	weights [blobSide]float64 // of the heights there, by cubic interpolation
}

// newAxis returns the axis for pixel number pixel of a canvas with side pixels, margins included.
func newAxis(pixel, side int) axis {
	at, size := float64(pixel-canvasMargin), float64(side-2*canvasMargin)
	a := axis{place: 2*at/(size-1) - 1}
	// The heights belong to the middles of blobSide equal parts of the side; the outer ones hold on
	// beyond.
	at = (at+0.5)*blobSide/size - 0.5
	first := int(math.Floor(at)) - 1
	for i := first; i < first+4; i++ {
		a.weights[min(max(i, 0), blobSide-1)] += cubic(math.Abs(at - float64(i)))
	}
	return a
}

// cubic returns a value's weight at distance t in cubic convolution (Keys 1981, "Cubic Convolution
// Interpolation for Digital Image Processing"), with a slope of -3/4 at t = 1 where Keys has -1/2.
func cubic(t float64) float64 {
	const a = -0.75
	switch {
	case t <= 1:
		return ((a+2)*t-(a+3))*t*t + 1
	case t < 2:
		return a * (((t-5)*t+8)*t - 4)
	default:
		return 0
	}
}

const (
	maxStrokes = 3
	dots       = 24 // that a stroke is made of
	// strokeSide is the side of the pictures for which the measures of strokes, in pixels, are
	// given; they grow with the picture.
	strokeSide = 28
)

type point struct{ x, y float64 }

// paintStrokes paints the first plane of a picture: cubic Bézier curves of one width. Most curves
// begin where the one before ends.
func paintStrokes(to canvas, dice *rand.Rand) {
	scale := float64(min(to.height, to.width)) / strokeSide
	width := scale * (0.9 + 1.1*dice.Float64())
	count := 1 + dice.IntN(maxStrokes)
	plane := to.plane(0)
	clear(plane)
	var end point
	for i := range count {
		var control [4]point
		for j := range control {
			control[j] = point{spot(to.width, dice), spot(to.height, dice)}
		}
		if i > 0 && dice.Float64() < 0.7 {
			control[0] = end
		}
		end = control[3]
		stroke(plane, to.width, curve(control), width, 0.8*scale)
	}
}

// spot returns a random place along a side, in pixels, at most about 0.3 sides from its middle.
func spot(side int, dice *rand.Rand) float64 {
	away := math.Min(math.Max(dice.NormFloat64(), -1.3), 1.3)
	return float64(side) * (0.5 + 6.5/strokeSide*away)
}

// curve returns points along the cubic Bézier curve of four control points, from end to end.
func curve(control [4]point) (along [dots]point) {
	for i := range along {
		t := float64(i) / (dots - 1)
		s := 1 - t
		for j, weight := range [4]float64{s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t} {
			along[i].x += weight * control[j].x
			along[i].y += weight * control[j].y
		}
	}
	return along
}

// stroke lightens the pixels of a plane, pitch to a row, that are within width pixels of one of the
// points along a curve. The edge is soft pixels wide.
func stroke(plane []float32, pitch int, along [dots]point, width, soft float64) {
	for i, before := range plane {
		x, y := float64(i%pitch), float64(i/pitch)
		nearest := math.Inf(1)
		for _, p := range along {
			nearest = math.Min(nearest, (x-p.x)*(x-p.x)+(y-p.y)*(y-p.y))
		}
		plane[i] = max(before, clamp((width-math.Sqrt(nearest))/soft+0.5))
	}
}
