package data

import (
	"errors"
	"fmt"
	"math/bits"
)

var (
	// ErrMissing marks files or folders that are not there.
	ErrMissing = errors.New("missing data")

	// ErrInvalid marks data that is there but is not what was declared:
	// truncated, of another format or size, with a wrong label or checksum.
	ErrInvalid = errors.New("invalid data")
)

// Shape is the size of one picture.
type Shape struct{ Height, Width, Channels int }

// Pixels returns Height·Width·Channels, the number of values of one picture.
func (s Shape) Pixels() int { return s.Height * s.Width * s.Channels }

// String returns the shape as "28x28x1": height, width, channels.
func (s Shape) String() string { return fmt.Sprintf("%dx%dx%d", s.Height, s.Width, s.Channels) }

// Images is an immutable set of labelled pictures in memory. Pixels are bytes
// in the order picture, row, column, channel (NHWC). It is safe for concurrent
// reading.
type Images struct {
	shape   Shape
	classes []string
	labels  []uint8
	pixels  []uint8
}

// maxClasses is what a label of one byte can tell apart.
const maxClasses = 256

// NewImages makes a set from pixels of shape (len(labels), Height, Width,
// Channels) and one label for each picture, an index into classes. It takes
// ownership of the slices. It fails with [ErrInvalid] when the lengths do not
// agree or a label has no class.
func NewImages(shape Shape, classes []string, labels, pixels []uint8) (*Images, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if len(classes) < 1 || len(classes) > maxClasses {
		return nil, fmt.Errorf("data: %w: %d classes, expected 1 to %d", ErrInvalid, len(classes), maxClasses)
	}
	want, err := product(len(labels), shape.Height, shape.Width, shape.Channels)
	if err != nil {
		return nil, fmt.Errorf("data: %d pictures of %v: %w", len(labels), shape, err)
	}
	if len(pixels) != want {
		return nil, fmt.Errorf("data: %w: %d pixel values, expected %d for %d pictures of %v",
			ErrInvalid, len(pixels), want, len(labels), shape)
	}
	if err := checkLabels(labels, len(classes)); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return &Images{shape: shape, classes: classes, labels: labels, pixels: pixels}, nil
}

// Len returns the number of pictures. For a training set it is private.
func (m *Images) Len() int { return len(m.labels) }

// Shape returns the size that all pictures share.
func (m *Images) Shape() Shape { return m.shape }

// Classes returns the class names in the order of the labels. The caller must
// not change them.
func (m *Images) Classes() []string { return m.classes }

// Label returns the class index of picture i.
func (m *Images) Label(i int) int { return int(m.labels[i]) }

// Pixels returns the bytes of picture i in the order row, column, channel. It is
// a view: the caller must not change it.
func (m *Images) Pixels(i int) []uint8 {
	p := m.shape.Pixels()
	return m.pixels[i*p : (i+1)*p : (i+1)*p]
}

// checkShape refuses sizes that are not positive or absurd.
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

// checkLabels names the first record whose label has no class. It tells the
// position of the record, which is enough to find it in the file.
func checkLabels(labels []uint8, classes int) error {
	for i, l := range labels {
		if int(l) >= classes {
			return fmt.Errorf("%w: label %d of record %d, expected 0 to %d", ErrInvalid, l, i, classes-1)
		}
	}
	return nil
}

// product multiplies sizes that came from outside, before anything is allocated
// from them, and fails where the result does not fit an int.
func product(factors ...int) (int, error) {
	p := uint64(1)
	for _, f := range factors {
		if f < 0 {
			return 0, fmt.Errorf("%w: size %d is negative", ErrInvalid, f)
		}
		hi, lo := bits.Mul64(p, uint64(f))
		if hi != 0 || lo > uint64(maxInt) {
			return 0, fmt.Errorf("%w: sizes %v multiply to more than memory can hold", ErrInvalid, factors)
		}
		p = lo
	}
	return int(p), nil
}

const maxInt = int(^uint(0) >> 1)
