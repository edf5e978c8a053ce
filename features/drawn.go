package features

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"
	"slices"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// DrawnVersion names the drawing rules. It changes whenever any picture does.
const DrawnVersion = 1

// The kinds of pictures that the program draws.
//
//   - Leaves are dead leaves: discs, rectangles and triangles of all sizes that cover one another,
//     some with gratings, on a ground of coloured noise. They have edges, textures and correlations
//     at many scales, as photographs do (Lee, Mumford, Huang, "Occlusion Models for Natural
//     Images", IJCV 41, 2001; that features learnt from them carry over to photographs: Baradad et
//     al., "Learning to See by Looking at Noise", NeurIPS 2021).
//   - Silhouettes are grey leaves inside a smooth blob, on black, as things on an empty ground.
//   - Strokes are up to three thick curves, as handwriting.
const (
	leaves      = "leaves"
	silhouettes = "silhouettes"
	strokes     = "strokes"
)

// DrawnKinds lists what can be drawn.
func DrawnKinds() []string { return []string{leaves, silhouettes, strokes} }

// minSide and maxSide are the smallest and the largest side of a picture, in pixels.
const (
	minSide = 8
	maxSide = 256
)

// Drawings are pictures of one shape. Values holds one after the other, each as (channel, row,
// column), from 0 (black) to 1.
type Drawings struct {
	data.Shape
	Count  int
	Values []float32
}

// At returns the values of picture i, which are shared with p.
func (p *Drawings) At(i int) []float32 {
	n := p.Shape.Values()
	return p.Values[i*n : (i+1)*n : (i+1)*n]
}

// Draw draws the first n pictures that the recipe learns from, on the threads of pool: dictionaries
// of patches and principal directions are learnt from them without anybody's data, and so are
// public. Silhouettes and strokes are grey: with three channels, these are the same.
//
// What is drawn is a function of kind, shape, seed and [DrawnVersion] alone, and for picture i also
// of i: the first pictures of a large set are those of a small one. It does not depend on the
// number of threads. Processors that fuse multiplications with additions may differ from others in
// the last bits of some pixels.
func (r Recipe) Draw(shape data.Shape, n int, pool *kernel.Pool) (*Drawings, error) {
	if !slices.Contains(DrawnKinds(), r.Drawn) {
		return nil, fmt.Errorf("drawn: kind %q, expected one of %q", r.Drawn, DrawnKinds())
	}
	for _, side := range []int{shape.Height, shape.Width} {
		if side < minSide || side > maxSide {
			return nil, fmt.Errorf("drawn: pictures of %d×%d pixels, expected sides from %d to %d",
				shape.Height, shape.Width, minSide, maxSide)
		}
	}
	p := &Drawings{Shape: shape, Count: n, Values: make([]float32, n*shape.Values())}
	painters := make([]*painter, pool.Threads())
	pool.Run(n, 1, func(worker, lo, hi int) {
		if painters[worker] == nil {
			painters[worker] = newPainter(shape)
		}
		for i := lo; i < hi; i++ {
			painters[worker].paint(p.At(i), r.Drawn, rand.New(rand.NewPCG(r.Seed, uint64(i))))
		}
	})
	return p, nil
}

// canvasMargin is the number of pixels by which the canvas of leaves is larger than the picture on
// each side. The light blur reads the nearest of these pixels. They also keep noise, which is
// periodic on the canvas, from joining up at the edges of the picture.
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

// A painter paints pictures of one shape, one after another. It keeps nothing but working memory.
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

// paint overwrites dst with a picture of the kind, drawn by dice.
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

func clamp(v float64) float32 { return float32(math.Min(math.Max(v, 0), 1)) }

// sheetGap is the width of the lines between the pictures of a sheet, in pixels.
const sheetGap = 2

// sheetBackground is the colour between the pictures of a sheet.
var sheetBackground = color.RGBA{128, 128, 128, 255}

// Sheet returns one image that shows the first n pictures, or all if there are fewer, row by row,
// with as many columns as rows or one more.
func (p *Drawings) Sheet(n int) image.Image {
	n = min(n, p.Count)
	columns := int(math.Ceil(math.Sqrt(float64(n))))
	rows := (n + columns - 1) / columns
	sheet := image.NewRGBA(image.Rect(0, 0, columns*(p.Width+sheetGap)-sheetGap, rows*(p.Height+sheetGap)-sheetGap))
	draw.Draw(sheet, sheet.Bounds(), image.NewUniform(sheetBackground), image.Point{}, draw.Src)
	area := p.Height * p.Width
	for i := range n {
		left, top := i%columns*(p.Width+sheetGap), i/columns*(p.Height+sheetGap)
		for at := range area {
			level := func(channel int) uint8 {
				return uint8(math.Round(255 * float64(p.At(i)[min(channel, p.Channels-1)*area+at])))
			}
			sheet.SetRGBA(left+at%p.Width, top+at/p.Width, color.RGBA{level(0), level(1), level(2), 255})
		}
	}
	return sheet
}
