package data

import (
	"fmt"

	"dpsgd/internal/kernel"
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
		if notFinite(v) {
			return nil, fmt.Errorf("data: %w: column %d of row %d is not finite, expected a finite number", ErrInvalid, i%columns, i/columns)
		}
	}
	return &Rows{l, values}, nil
}

// NewTargetRows makes a set as [NewRows] does, of rows about which numbers are learnt: targets has
// shape (rows, len(names)), with names for what stands in its columns.
func NewTargetRows(columns int, names []string, targets, values []float32) (*Rows, error) {
	r, err := NewRows(columns, names, make([]uint8, len(targets)/max(1, len(names))), values)
	if err == nil {
		err = r.withTargets(targets)
	}
	return r, err
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

// Features is an immutable set of labelled rows of numbers in memory that a program computed, in
// half precision: binary16, two bytes a number. It is safe for concurrent reading.
//
// Rows of unit norm lose nothing that matters. Rounding moves a value by at most 2^-11 of itself,
// or 2^-25 where it is below 2^-14, so the whole row by at most 2^-11 + √columns·2^-25 < 2^-10.9 of
// its length; 2.1·10^-4 is what directions drawn at random lose (TestRowsOfHalvesAreClose).
// Rounding to bfloat16, which has as many bits but eight significant ones, moves them eight times
// as far.
type Features struct {
	labelled
	halves []uint16 // (rows, columns)
}

var _ Set = (*Features)(nil)

// MaxFeatures bounds the columns of computed rows.
const MaxFeatures = 1 << 16

// NewFeatures makes a set as [NewRows] does, from halves of shape (len(labels), columns): numbers
// in binary16, as [dpsgd/internal/kernel.ToHalves] writes them.
func NewFeatures(columns int, classes []string, labels []uint8, halves []uint16) (*Features, error) {
	if columns < 1 || columns > MaxFeatures {
		return nil, fmt.Errorf("data: %w: computed rows of %d columns, expected 1 to %d", ErrInvalid, columns, MaxFeatures)
	}
	l, err := newLabelled(Row(columns), classes, labels, len(halves))
	if err != nil {
		return nil, err
	}
	f := &Features{l, halves}
	return f, kernel.Each(f.Len(), func(i int) error {
		for _, h := range f.Halves(i) {
			if h&0x7c00 == 0x7c00 { // infinities and NaN have an exponent of ones
				return fmt.Errorf("data: %w: a value of computed row %d is not finite, expected finite numbers", ErrInvalid, i)
			}
		}
		return nil
	})
}

// Halves returns the numbers of row i in binary16. It is a view: the caller must not change it.
func (f *Features) Halves(i int) []uint16 {
	n := f.shape.Channels
	return f.halves[i*n : (i+1)*n : (i+1)*n]
}

// normalised returns a filler of the rows as they are: what computed them has normalised them.
func (f *Features) normalised(Normalisation) filler { return f.fill }

func (f *Features) fill(x []float32, i int) error {
	kernel.FromHalves(x, f.Halves(i))
	return nil
}
