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

// blob paints 1 where a random smooth landscape is above water that is deeper far from the middle,
// and else 0: most often one lump, of a random outline.
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

// newAxis returns the axis of a pixel on a canvas with a margin, whose side is given.
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

// cubic is the weight of a value at distance t in cubic convolution (Keys 1981, "Cubic Convolution
// Interpolation for Digital Image Processing"), with a slope of -3/4 at t = 1 where he has -1/2.
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
