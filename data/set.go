package data

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/data/pictures"
)

var (
	// ErrMissing marks files or folders that are not there.
	ErrMissing = pictures.ErrMissing

	// ErrInvalid marks data that is there but is not what was declared:
	// truncated, of another format or size, with a wrong label or checksum.
	ErrInvalid = pictures.ErrInvalid
)

// Set is an immutable set of labelled examples of one shape: pictures ([Images] in memory, [Stored]
// in files), rows of numbers ([Rows]), computed ones ([Features]) or texts ([Texts]). It is safe for concurrent
// reading.
type Set interface {
	// Len returns the number of examples.
	Len() int
	// Shape returns the size that all examples share.
	Shape() Shape
	// Classes returns the class names in the order of the labels. The caller must not change them.
	Classes() []string
	// Label returns the class index of example i; 0 where what is learnt is no class.
	Label(i int) int
	// Targets returns the numbers of example i that are learnt in place of a class: one, or 0 or 1
	// for each label. It is nil where a class is learnt. The caller must not change it.
	Targets(i int) []float32

	// normalised returns a filler that normalises by n, which [NewBatcher] has checked.
	normalised(n Normalisation) filler
}

// filler writes example i, normalised, to x, which has exactly its size. It fails where the example
// cannot be read.
type filler func(x []float32, i int) error

// Shape is the size of one example: a picture of Height by Width pixels in
// Channels channels; without height and width, a row of Channels numbers; without height alone, a
// text of at most Width tokens, of Channels different ones.
type Shape struct{ Height, Width, Channels int }

// Sequence returns the shape of texts of at most length tokens, of so many different ones.
func Sequence(length, vocabulary int) Shape { return Shape{Width: length, Channels: vocabulary} }

// IsText reports whether examples are texts.
func (s Shape) IsText() bool { return s.Height == 0 && s.Width > 0 }

// IsPicture reports whether examples are pictures.
func (s Shape) IsPicture() bool { return s.Height > 0 }

// Length returns the greatest number of tokens of a text; 0 for other examples.
func (s Shape) Length() int {
	if !s.IsText() {
		return 0
	}
	return s.Width
}

// Vocabulary returns how many different tokens texts have; 0 for other examples.
func (s Shape) Vocabulary() int {
	if !s.IsText() {
		return 0
	}
	return s.Channels
}

// Row returns the shape of a row of n numbers, one for each column.
func Row(n int) Shape { return Shape{Channels: n} }

// IsRow reports whether examples are rows of numbers and not pictures.
func (s Shape) IsRow() bool { return s.Height == 0 && s.Width == 0 }

// Values returns the number of values of one example: Height·Width·Channels of a
// picture, one for each column of a row.
func (s Shape) Values() int {
	switch {
	case s.IsText():
		return s.Width
	case s.IsRow():
		return s.Channels
	}
	return s.Height * s.Width * s.Channels
}

// Bytes returns the memory that one example takes, without its label: a byte for each value of a
// picture, four for each of a row or a text. That is twice what a row of [Features] takes.
func (s Shape) Bytes() int {
	if !s.IsPicture() {
		return 4 * s.Values()
	}
	return s.Values()
}

// Dims returns the sizes of one example: height, width, channels, or the number of columns.
func (s Shape) Dims() []int {
	if !s.IsPicture() {
		return []int{s.Values()}
	}
	return []int{s.Height, s.Width, s.Channels}
}

// String returns the shape as "28x28x1", height, width, channels, or as "4 columns".
func (s Shape) String() string {
	switch {
	case s.IsText():
		return fmt.Sprintf("%d tokens of %d", s.Width, s.Channels)
	case !s.IsRow():
		return fmt.Sprintf("%dx%dx%d", s.Height, s.Width, s.Channels)
	case s.Channels == 1:
		return "1 column"
	}
	return fmt.Sprintf("%d columns", s.Channels)
}

// Noun returns the word for examples of this shape: "pictures" or "rows".
func (s Shape) Noun() string {
	if s.IsText() {
		return "texts"
	}
	if s.IsRow() {
		return "rows"
	}
	return "pictures"
}

// labelled holds what sets of pictures and of rows have in common.
type labelled struct {
	shape   Shape
	classes []string
	labels  []uint8
	targets []float32 // (examples, numbers of each); nil where a class is learnt
}

// maxClasses is the number of classes that a label of one byte can tell apart.
const maxClasses = 256

// newLabelled returns its arguments as labelled. It refuses a wrong number of classes, a label that
// has no class, and another number of values than the examples of that shape have together.
func newLabelled(shape Shape, classes []string, labels []uint8, values int) (labelled, error) {
	if len(classes) < 1 || len(classes) > maxClasses {
		return labelled{}, fmt.Errorf("data: %w: %d classes, expected 1 to %d", ErrInvalid, len(classes), maxClasses)
	}
	if want := len(labels) * shape.Values(); values != want {
		kind := "pixel values"
		if !shape.IsPicture() {
			kind = "values"
		}
		return labelled{}, fmt.Errorf("data: %w: %d %s, expected %d for %d %s of %v",
			ErrInvalid, values, kind, want, len(labels), shape.Noun(), shape)
	}
	for i, l := range labels { // the place is enough to find it in the file
		if int(l) >= len(classes) {
			return labelled{}, fmt.Errorf("data: %w: record %d has no label from 0 to %d, expected one", ErrInvalid, i, len(classes)-1)
		}
	}
	return labelled{shape: shape, classes: classes, labels: labels}, nil
}

// withTargets sets the numbers that are learnt in place of classes, as many for each example, or
// none. It refuses another number of them, and such that are not finite.
func (l *labelled) withTargets(targets []float32) error {
	if targets == nil {
		return nil
	}
	if want := len(l.classes) * len(l.labels); len(targets) != want {
		return fmt.Errorf("data: %w: %d numbers to learn, expected %d for %d examples", ErrInvalid, len(targets), want, len(l.labels))
	}
	if i := slices.IndexFunc(targets, notFinite); i >= 0 {
		return fmt.Errorf("data: %w: number %d to learn is not finite, expected finite numbers", ErrInvalid, i)
	}
	l.targets = targets
	return nil
}

func notFinite(v float32) bool { return !(math.Abs(float64(v)) <= math.MaxFloat32) }

func (l *labelled) Len() int          { return len(l.labels) }
func (l *labelled) Shape() Shape      { return l.shape }
func (l *labelled) Classes() []string { return l.classes }
func (l *labelled) Label(i int) int   { return int(l.labels[i]) }

func (l *labelled) Targets(i int) []float32 {
	if l.targets == nil {
		return nil
	}
	n := len(l.classes)
	return l.targets[i*n : (i+1)*n : (i+1)*n]
}

// Task is the sort of thing that is learnt about an example.
type Task string

// The tasks.
const (
	Class  Task = "class"  // the one class of each example
	Labels Task = "labels" // which of several labels an example has
	Number Task = "number" // a number between public bounds
)

// Task returns what is learnt about the declared examples.
func (s Spec) Task() Task {
	switch {
	case len(s.Labels) > 0:
		return Labels
	case len(s.Bounds) > 0:
		return Number
	}
	return Class
}
