package data

import (
	"fmt"
	"math"
)

// Rows is an immutable set of labelled rows of numbers in memory, all with the
// same columns. It is safe for concurrent reading.
type Rows struct {
	labelled
	values []float32 // (rows, columns)
}

var _ Set = (*Rows)(nil)

// MaxColumns bounds the columns of a row: each of them is declared by name.
const MaxColumns = 4096

// NewRows makes a set from values of shape (len(labels), columns) and one label for each row, an
// index into classes. It takes ownership of the slices. It fails with [ErrInvalid] when the lengths
// do not agree, a label has no class or a value is not finite.
func NewRows(columns int, classes []string, labels []uint8, values []float32) (*Rows, error) {
	if columns < 1 || columns > MaxColumns {
		return nil, fmt.Errorf("data: %w: rows of %d columns, expected 1 to %d", ErrInvalid, columns, MaxColumns)
	}
	l, err := newLabelled(Row(columns), classes, labels, len(values))
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if !(math.Abs(float64(v)) <= math.MaxFloat32) {
			return nil, fmt.Errorf("data: %w: column %d of row %d is not finite, expected a finite number", ErrInvalid, i%columns, i/columns)
		}
	}
	return &Rows{l, values}, nil
}

// Values returns the numbers of row i. It is a view: the caller must not change it.
func (r *Rows) Values(i int) []float32 {
	n := r.shape.Channels
	return r.values[i*n : (i+1)*n : (i+1)*n]
}

func (r *Rows) normalised(n Normalisation) filler {
	return func(x []float32, i int) error {
		for c, v := range r.Values(i) {
			x[c] = float32((float64(v) - n.Mean[c]) / n.Std[c])
		}
		return nil
	}
}
