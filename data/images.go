package data

import (
	"fmt"

	"dpsgd/data/pictures"
	"dpsgd/internal/kernel"
)

// Images is an immutable set of labelled pictures in memory. Pixels are bytes in the order picture,
// row, column, channel (NHWC). It is safe for concurrent reading.
type Images struct {
	labelled
	pixels []uint8
}

var _ Set = (*Images)(nil)

// NewImages makes a set from pixels of shape (len(labels), Height, Width, Channels) and one label
// for each picture, an index into classes. It takes ownership of the slices. It fails with
// [ErrInvalid] when the lengths do not agree or a label has no class.
func NewImages(shape Shape, classes []string, labels, pixels []uint8) (*Images, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	l, err := newLabelled(shape, classes, labels, len(pixels))
	if err != nil {
		return nil, err
	}
	return &Images{l, pixels}, nil
}

// Pixels returns the bytes of picture i in the order row, column, channel. It is
// a view: the caller must not change it.
func (m *Images) Pixels(i int) []uint8 {
	p := m.shape.Values()
	return m.pixels[i*p : (i+1)*p : (i+1)*p]
}

// checkShape refuses sizes of pictures out of range, and channels other than 1 and 3.
func checkShape(s Shape) error {
	const limit = 1 << 14 // pixels along one side
	if s.Height < 1 || s.Height > limit || s.Width < 1 || s.Width > limit {
		return fmt.Errorf("data: %w: pictures of %d by %d pixels, expected 1 to %d along each side", ErrInvalid, s.Height, s.Width, limit)
	}
	if s.Channels != 1 && s.Channels != 3 {
		return fmt.Errorf("data: %w: %d channels, expected 1 (grey) or 3 (red, green, blue)", ErrInvalid, s.Channels)
	}
	return nil
}

// pixelTable looks pixels up: table[c][p] is the normalised value of byte p
// in channel c, which replaces a conversion, a subtraction and a division.
type pixelTable [][256]float32

func newPixelTable(n Normalisation) pixelTable {
	table := make(pixelTable, len(n.Mean))
	for c := range table {
		for p := range table[c] {
			table[c][p] = float32((float64(p)/255 - n.Mean[c]) / n.Std[c])
		}
	}
	return table
}

func (m *Images) normalised(n Normalisation) filler {
	table := newPixelTable(n)
	return func(x []float32, i int) error {
		table.fill(x, m.Pixels(i))
		return nil
	}
}

// fill writes the normalised pixels to x. It has one loop for each number of channels, so that no
// loop contains a division or a bounds check for the table.
func (t pixelTable) fill(x []float32, pixels []uint8) {
	if len(t) == 1 {
		fillGrey(x[:len(pixels)], pixels, &t[0])
		return
	}
	red, green, blue := &t[0], &t[1], &t[2]
	for len(pixels) >= 3 && len(x) >= 3 {
		x[0], x[1], x[2] = red[pixels[0]], green[pixels[1]], blue[pixels[2]]
		x, pixels = x[3:], pixels[3:]
	}
}

// fillGrey writes the normalised value of each grey pixel to x. It takes eight pixels at a time: a
// loop over single pixels is up to 1.7 times as slow, by the address at which the compiler puts it.
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

// Stored is an immutable set of labelled pictures in files. Each is decoded whenever it is needed,
// unless a cache keeps it. Its bytes are those that [Images] of the same files holds. It is safe
// for concurrent reading.
type Stored struct {
	labelled
	cache *pictures.Cache
}

// Pictures is a set of pictures, in memory or not.
type Pictures interface {
	Set
	// View calls use with the bytes of picture i in the order row, column, channel, which are valid
	// until use returns and must not be changed. View fails if the picture cannot be read.
	View(i int, use func(pixels []uint8)) error
}

var _, _ Pictures = (*Images)(nil), (*Stored)(nil)

func (s *Stored) View(i int, use func(pixels []uint8)) error { return s.cache.View(i, use) }

// View implements [Pictures]. It does not fail.
func (m *Images) View(i int, use func(pixels []uint8)) error {
	use(m.Pixels(i))
	return nil
}

func (s *Stored) normalised(n Normalisation) filler {
	table := newPixelTable(n)
	return func(x []float32, i int) error {
		return s.View(i, func(pixels []uint8) { table.fill(x, pixels) })
	}
}

// Stored reports whether pictures of the split are decoded when they are needed.
func (s *Split) Stored() bool {
	_, train := s.Train.(*Stored)
	_, test := s.Test.(*Stored)
	return train || test
}

// Check decodes every picture of sets that are [Stored], so that one that cannot be read is found
// before training begins and not in the middle of it. That fills the cache. done must not be nil:
// the calling goroutine calls it now and then with how many of all pictures have been decoded.
func (s *Split) Check(done func(n, total int)) error {
	const block = 1000
	read, total := 0, s.Train.Len()+s.Test.Len()
	for _, set := range []Set{s.Train, s.Test} {
		set, ok := set.(*Stored)
		if !ok {
			continue
		}
		for from := 0; from < set.Len(); from += block {
			n := min(block, set.Len()-from)
			if err := kernel.Each(n, func(i int) error { return set.View(from+i, func([]uint8) {}) }); err != nil {
				return err
			}
			read += n
			done(read, total)
		}
	}
	return nil
}
