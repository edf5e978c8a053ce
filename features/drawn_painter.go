package features

import (
	"math"
	"math/rand/v2"

	"dpsgd/data"
)

// canvasMargin is the number of pixels by which the canvas of leaves is larger than the picture on each
// side: the light blur reads the nearest of them, and noise that is periodic on the canvas does not
// join up at the edges of the picture.
const canvasMargin = 2

// A canvas has planes of the same size, one after the other.
type canvas struct {
	planes, height, width int
	values                []float32
}

func newCanvas(planes, height, width int) canvas {
	return canvas{planes, height, width, make([]float32, planes*height*width)}
}

func (c canvas) plane(i int) []float32 {
	n := c.height * c.width
	return c.values[i*n : (i+1)*n]
}

// A painter paints pictures of one shape, one after another. It only keeps its working memory.
type painter struct {
	shape  data.Shape
	colour canvas // leaves, with a margin
	mask   canvas // a blob, with a margin
	noise  *pinkNoise
}

func newPainter(s data.Shape) *painter {
	height, width := s.Height+2*canvasMargin, s.Width+2*canvasMargin
	return &painter{
		shape:  s,
		colour: newCanvas(3, height, width),
		mask:   newCanvas(1, height, width),
		noise:  newPinkNoise(height, width),
	}
}

// paint overwrites the picture dst with one of the kind, by draws from dice.
func (p *painter) paint(dst []float32, kind string, dice *rand.Rand) {
	to := canvas{p.shape.Channels, p.shape.Height, p.shape.Width, dst}
	switch kind {
	case leaves:
		p.leaves(dice)
		if to.planes == 1 {
			p.greyLeaves()
		}
		for i := range to.planes {
			blurInside(to.plane(i), p.colour.plane(i), to.height, to.width)
		}
		return
	case silhouettes:
		p.silhouette(to, dice)
	case strokes:
		paintStrokes(to, dice)
	}
	for i := 1; i < to.planes; i++ {
		copy(to.plane(i), to.plane(0))
	}
}

// blurInside blurs a plane of height×width with a margin around it lightly: each pixel becomes a
// mean of itself and its neighbours with the weights (1, 2, 1)/4 along both axes. It softens the
// steps of shapes that cover a pixel or do not.
func blurInside(dst, src []float32, height, width int) {
	pitch := width + 2*canvasMargin
	for y := range height {
		above := src[(y+canvasMargin-1)*pitch+canvasMargin-1:][:width+2]
		row := src[(y+canvasMargin)*pitch+canvasMargin-1:][:width+2]
		below := src[(y+canvasMargin+1)*pitch+canvasMargin-1:][:width+2]
		to := dst[y*width:][:width]
		for x := range to {
			sides := above[x] + above[x+2] + below[x] + below[x+2]
			middle := above[x+1] + row[x] + row[x+2] + below[x+1]
			to[x] = (sides + 2*middle + 4*row[x+1]) / 16
		}
	}
}

// clamp returns the number from 0 to 1 that is nearest to v.
func clamp(v float64) float32 { return float32(math.Min(math.Max(v, 0), 1)) }
