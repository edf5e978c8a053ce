package data

import (
	"fmt"
	"math"
)

// Normalisation shifts and scales values: a pixel p in [0, 1] of channel c, or the number p in
// column c of a row, becomes (p − Mean[c]) / Std[c]. Both have one value for each channel or
// column. They are public constants from the configuration; this package never computes them.
type Normalisation struct{ Mean, Std []float64 }

// Identity reports whether n changes nothing.
func (n Normalisation) Identity() bool {
	for c, mean := range n.Mean {
		if mean != 0 || n.Std[c] != 1 {
			return false
		}
	}
	return true
}

// Batcher turns examples, chosen by index, into the float32 input of a network.
// It is safe for concurrent use.
type Batcher struct {
	set     Set
	fill    filler
	targets int // numbers of each example, at least the one that is its class
}

// NewBatcher prepares the examples of s for normalisation n. It fails with [ErrInvalid] when n does
// not have one finite mean and one finite, positive standard deviation for each channel or column.
// For [Features] and [Texts], n must be empty.
func NewBatcher(s Set, n Normalisation) (*Batcher, error) {
	channels, kind := s.Shape().Channels, "channel"
	if s.Shape().IsRow() {
		kind = "column"
	}
	if _, computed := beneath(s).(*Features); computed {
		channels, kind = 0, "column that is not computed"
	}
	if s.Shape().IsText() {
		channels = 0
	}
	if len(n.Mean) != channels || len(n.Std) != channels {
		return nil, fmt.Errorf("data: %w: normalisation has %d means and %d standard deviations, expected %d of each (one for each %s)",
			ErrInvalid, len(n.Mean), len(n.Std), channels, kind)
	}
	for c, mean := range n.Mean {
		if !(math.Abs(mean) <= MaxNormalisation) {
			return nil, fmt.Errorf("data: %w: mean of %s %d is %v, expected a finite number", ErrInvalid, kind, c, mean)
		}
		if std := n.Std[c]; !(std >= 1/MaxNormalisation && std <= MaxNormalisation) {
			return nil, fmt.Errorf("data: %w: standard deviation of %s %d is %v, expected a positive, finite number", ErrInvalid, kind, c, std)
		}
	}
	b := &Batcher{set: s, fill: s.normalised(n), targets: 1}
	if s.Len() > 0 {
		b.targets = max(1, len(s.Targets(0)))
	}
	return b, nil
}

// Targets returns how many numbers there are to learn about an example: 1 where it is a class.
func (b *Batcher) Targets() int { return b.targets }

// MaxNormalisation bounds the constants of a [Normalisation]: a mean lies between
// plus and minus this, a standard deviation between its inverse and this. It keeps
// every pixel a finite float32, with room to square it.
const MaxNormalisation = 1e6

// Shape returns the size of one example.
func (b *Batcher) Shape() Shape { return b.set.Shape() }

// Len returns the number of examples that indices may choose from.
func (b *Batcher) Len() int { return b.set.Len() }

// Decodes reports whether an example may have to be read from a file, which takes far longer than
// copying it.
func (b *Batcher) Decodes() bool {
	_, stored := beneath(b.set).(*Stored)
	return stored
}

// Fill writes example indices[i], normalised, to row i of x, which has shape (rows, Height, Width,
// Channels) or (rows, columns), and what is to be learnt about it to row i of targets: the index of
// its class, or its numbers. Rows past len(indices) are left as they are: padding is the caller's. It allocates nothing for examples in memory. It fails
// with [ErrInvalid] when an example cannot be read: then x must not be used. The error is the same
// for all examples and all causes, because it may not tell which example was drawn; [Split.Check]
// names the example. It panics when x or targets is too short or an index is out of range.
func (b *Batcher) Fill(x []float32, targets []float32, indices []int) error {
	size := b.set.Shape().Values()
	if len(targets) < len(indices)*b.targets || len(x) < len(indices)*size {
		panic(fmt.Sprintf("data: a batch of %d examples of %v does not fit %d values and %d targets",
			len(indices), b.set.Shape(), len(x), len(targets)))
	}
	for row, i := range indices {
		if numbers := b.set.Targets(i); numbers != nil {
			copy(targets[row*b.targets:], numbers)
		} else {
			targets[row] = float32(b.set.Label(i))
		}
		if b.fill(x[row*size:(row+1)*size], i) != nil {
			return errUnread
		}
	}
	return nil
}

var errUnread = fmt.Errorf("data: %w: an example has changed since the run began or went on, or cannot be read any more; which one is not told, because that would tell who was drawn: `train data check RUN` counts all and names one that cannot be read, `find FOLDER -newer RUN/config.yaml` one that changed", ErrInvalid)
