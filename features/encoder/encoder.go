package encoder

import (
	"fmt"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// Batch is the number of pictures that [Encoder.Extract] computes together at best.
const Batch = 8

// views of a picture are averaged: itself and its mirror image.
const views = 2

// Cells is the number of cells along each side over which maps are averaged.
const Cells = 2

// smallestSide is the least side of a picture, and largestSide the greatest of what the network
// sees: larger pictures are halved first, so that the memory for a picture is bounded.
const (
	smallestSide = 8
	largestSide  = 63
)

// Encoder computes the averaged maps of pictures of one shape. One goroutine at a time uses it.
type Encoder struct {
	shape, seen data.Shape // of a picture, and of what the network sees of it
	halvings    int        // of the picture ahead of the network
	stem        layer
	blocks      []block
	x, y, z, s  []float32 // maps of Batch·views pictures
	small       []float32 // a picture, halved
}

// Maps returns the channels of the maps that are averaged, each over Cells·Cells cells.
func Maps() []int { return []int{widths[1], widths[2]} }

// Width returns the number of values of one picture.
func Width() int { return (widths[1] + widths[2]) * Cells * Cells }

// Check returns an error if pictures of a shape are too small, or have neither one channel nor three.
func Check(shape data.Shape) error {
	if min(shape.Height, shape.Width) < smallestSide || shape.Channels != 1 && shape.Channels != 3 {
		return fmt.Errorf("encoder: pictures of %d×%d in %d channels, expected sides of %d or more and 1 or 3 channels",
			shape.Height, shape.Width, shape.Channels, smallestSide)
	}
	return nil
}

// New returns an encoder of pictures of a shape that has passed [Check].
func New(shape data.Shape) *Encoder {
	e := &Encoder{shape: shape}
	e.seen, e.halvings = seen(shape)
	w := weights()
	e.stem = w.layer(kernel.Conv{Height: e.seen.Height, Width: e.seen.Width, In: 3, Out: widths[0], KernelH: 5, KernelW: 5, StrideH: 2, StrideW: 2, PadH: 2, PadW: 2})
	at, in := e.stem.shape(), widths[0]
	for i, out := range widths {
		b := w.block(at, in, out, min(i+1, 2))
		e.blocks, at, in = append(e.blocks, b), b.b.shape(), out
	}
	n := mapValues(e.seen)
	e.x, e.y, e.z, e.s = make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	e.small = make([]float32, shape.Values())
	return e
}

// seen returns the shape of what the network sees of pictures of a shape, and how often these are
// halved.
func seen(shape data.Shape) (s data.Shape, halvings int) {
	for max(shape.Height, shape.Width) > largestSide && min(shape.Height, shape.Width) >= 2*smallestSide {
		shape.Height, shape.Width = shape.Height/2, shape.Width/2
		halvings++
	}
	return data.Shape{Height: framed(shape.Height), Width: framed(shape.Width), Channels: 3}, halvings
}

// mapValues returns how many values the largest maps of a batch have: those of the stem.
func mapValues(seen data.Shape) int {
	return Batch * views * seen.Height / 2 * seen.Width / 2 * widths[0]
}

// Bytes returns about how much memory an [Encoder] of pictures of a shape takes.
func Bytes(shape data.Shape) float64 {
	const laidOut = 5 // weights beside the file's, as floats and transformed, for each of its bytes
	s, _ := seen(shape)
	return float64(4*4*mapValues(s) + laidOut*len(encoderWeights))
}

// framed returns the side of what the network sees of so many pixels.
func framed(side int) int { return max(Cells*stride, (side+stride-1)/stride*stride) }

// Extract writes the values of pictures, at most Batch of them, to dst: those of picture i begin at
// dst[i*pitch]. Pictures are (channel, row, column), one after the other, with values from 0 to 1.
// The values of a picture depend on that picture alone, bit for bit.
func (e *Encoder) Extract(dst []float32, pitch int, pictures []float32) {
	n := len(pictures) / e.shape.Values()
	for i := range n {
		e.see(i, pictures[i*e.shape.Values():][:e.shape.Values()])
		clear(dst[i*pitch:][:Width()])
	}
	e.stem.forward(e.y, e.x, n*views)
	x, y := e.y, e.x
	at := 0
	for i, b := range e.blocks {
		b.forward(y, x, e.z, e.s, n*views)
		if i > 0 {
			e.average(dst[at:], pitch, y, b.b.shape(), n)
			at += b.b.Out * Cells * Cells
		}
		x, y = y, x
	}
}

// see writes picture i and its mirror image to x, as the network takes them: (row, column,
// channel), the values 0 to 1 becoming -2 to 2, with black around up to the next multiple of the
// network's stride.
func (e *Encoder) see(i int, picture []float32) {
	copy(e.small, picture)
	height, width := e.shape.Height, e.shape.Width
	for range e.halvings {
		for c := range e.shape.Channels {
			data.Halve(e.small[c*(height/2)*(width/2):], width/2, e.small[c*height*width:], height, width)
		}
		height, width = height/2, width/2
	}
	top, left := (e.seen.Height-height)/2, (e.seen.Width-width)/2
	own := e.x[i*views*e.seen.Values():][:e.seen.Values()]
	mirror := e.x[(i*views+1)*e.seen.Values():][:e.seen.Values()]
	for j := range own {
		own[j] = black
	}
	for c := range e.seen.Channels {
		plane := e.small[min(c, e.shape.Channels-1)*height*width:]
		for y := range height {
			for x, v := range plane[y*width:][:width] {
				own[((top+y)*e.seen.Width+left+x)*3+c] = gain*v + black
			}
		}
	}
	for y := range e.seen.Height {
		for x := range e.seen.Width {
			copy(mirror[(y*e.seen.Width+x)*3:][:3], own[(y*e.seen.Width+e.seen.Width-1-x)*3:])
		}
	}
}

// The network sees gain·v + black where a picture has the value v.
const (
	gain  = 4
	black = -2
)

// average adds the means of the maps over each cell, of both views, to dst: (channel, row of cells,
// column).
func (e *Encoder) average(dst []float32, pitch int, maps []float32, s data.Shape, n int) {
	for i := range n * views {
		values := dst[i/views*pitch:]
		for at := range s.Height * s.Width {
			y, high := cell(at/s.Width, s.Height)
			x, wide := cell(at%s.Width, s.Width)
			scale := 1 / float32(views*high*wide)
			for c, v := range maps[(i*s.Height*s.Width+at)*s.Channels:][:s.Channels] {
				values[(c*Cells+y)*Cells+x] += scale * v
			}
		}
	}
}
