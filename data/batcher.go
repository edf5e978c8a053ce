package data

import (
	"fmt"
	"math"
)

// Normalisation shifts and scales pixels: a pixel p in [0, 1] of channel c
// becomes (p − Mean[c]) / Std[c]. Both have one value for each channel. They are
// public constants from the configuration; this package never computes them.
type Normalisation struct{ Mean, Std []float64 }

// Batcher turns pictures, chosen by index, into the float32 input of a network.
// It is safe for concurrent use.
type Batcher struct {
	images *Images
	// table[c][p] is the normalised value of byte p in channel c: one look-up
	// replaces a conversion, a subtraction and a division.
	table [][256]float32
}

// NewBatcher prepares the pictures of m for normalisation n. It fails with
// [ErrInvalid] when n does not have one finite mean and one finite, positive
// standard deviation for each channel.
func NewBatcher(m *Images, n Normalisation) (*Batcher, error) {
	channels := m.shape.Channels
	if len(n.Mean) != channels || len(n.Std) != channels {
		return nil, fmt.Errorf("data: %w: normalisation has %d means and %d standard deviations, expected %d of each (one for each channel)",
			ErrInvalid, len(n.Mean), len(n.Std), channels)
	}
	b := &Batcher{images: m, table: make([][256]float32, channels)}
	for c := range b.table {
		mean, std := n.Mean[c], n.Std[c]
		if !(math.Abs(mean) <= maxNormalisation) {
			return nil, fmt.Errorf("data: %w: mean of channel %d is %v, expected a finite number", ErrInvalid, c, mean)
		}
		if !(std >= 1/maxNormalisation && std <= maxNormalisation) {
			return nil, fmt.Errorf("data: %w: standard deviation of channel %d is %v, expected a positive, finite number", ErrInvalid, c, std)
		}
		for p := range b.table[c] {
			b.table[c][p] = float32((float64(p)/255 - mean) / std)
		}
	}
	return b, nil
}

// maxNormalisation keeps every table entry a finite float32, with room to square it.
const maxNormalisation = 1e6

// Shape returns the size of one picture.
func (b *Batcher) Shape() Shape { return b.images.shape }

// Len returns the number of pictures that indices may choose from.
func (b *Batcher) Len() int { return len(b.images.labels) }

// Fill writes picture indices[i], normalised, to row i of x, which has shape
// (rows, Height, Width, Channels), and its label to labels[i]. Rows and labels
// past len(indices) are left as they are: padding is the caller's. Fill
// allocates nothing. It panics when x or labels is too short or an index is out
// of range.
func (b *Batcher) Fill(x []float32, labels []int32, indices []int) {
	size := b.images.shape.Pixels()
	if len(labels) < len(indices) || len(x) < len(indices)*size {
		panic(fmt.Sprintf("data: a batch of %d pictures of %v does not fit %d values and %d labels",
			len(indices), b.images.shape, len(x), len(labels)))
	}
	for row, i := range indices {
		labels[row] = int32(b.images.labels[i])
		b.fillRow(x[row*size:(row+1)*size], b.images.pixels[i*size:(i+1)*size])
	}
}

// fillRow has one loop for each number of channels, so that no loop contains a
// division or a bounds check for the table.
func (b *Batcher) fillRow(x []float32, pixels []uint8) {
	if len(b.table) == 1 {
		fillGrey(x[:len(pixels)], pixels, &b.table[0])
		return
	}
	red, green, blue := &b.table[0], &b.table[1], &b.table[2]
	for len(pixels) >= 3 && len(x) >= 3 {
		x[0], x[1], x[2] = red[pixels[0]], green[pixels[1]], blue[pixels[2]]
		x, pixels = x[3:], pixels[3:]
	}
}

// fillGrey takes eight pixels at a time: a loop of one moves by a factor of 1.7 with the address at
// which the compiler puts it.
func fillGrey(x []float32, pixels []uint8, grey *[256]float32) {
	for len(pixels) >= 8 && len(x) >= 8 {
		p, y := (*[8]uint8)(pixels), (*[8]float32)(x)
		y[0], y[1], y[2], y[3] = grey[p[0]], grey[p[1]], grey[p[2]], grey[p[3]]
		y[4], y[5], y[6], y[7] = grey[p[4]], grey[p[5]], grey[p[6]], grey[p[7]]
		x, pixels = x[8:], pixels[8:]
	}
	for j, p := range pixels {
		x[j] = grey[p]
	}
}
