package vectors

import (
	"fmt"
	"io"
	"slices"

	"dpsgd/checkpoints/safetensors"
)

// array is a dense array of numbers in a file.
type array struct {
	name  string // of the file and, where it holds several, the tensor: for messages
	shape []int

	element   safetensors.Element
	backwards bool        // the highest byte of each number comes first
	byColumns bool        // in column-major order, which is Fortran's; otherwise in row-major order
	content   io.ReaderAt // the numbers alone
}

// floats reads len(dst) numbers, in the order of the file from number from on, rounded to float32.
// A number that is too large for float32 becomes infinite.
func (a *array) floats(dst []float32, from int) error {
	b, err := a.bytes(len(dst), from)
	if err == nil {
		a.element.Floats(dst, b)
	}
	return err
}

// checkVectors refuses an array that does not consist of one vector or more of the given width.
func (a *array) checkVectors(width int) error {
	switch {
	case len(a.shape) != 2:
		return fmt.Errorf("%s has the shape %v, expected two sizes: vectors and their width", a.name, a.shape)
	case a.shape[1] != width:
		return fmt.Errorf("%s has vectors of width %d, expected the declared %d", a.name, a.shape[1], width)
	case a.shape[0] == 0:
		return fmt.Errorf("%s holds no vector, expected at least one", a.name)
	}
	return nil
}

// checkLabels refuses an array that is not one-dimensional or does not hold integers.
func (a *array) checkLabels() error {
	switch {
	case !a.element.Whole:
		return fmt.Errorf("%s holds floating-point numbers, expected integers", a.name)
	case len(a.shape) != 1:
		return fmt.Errorf("%s has the shape %v, expected one size: a label for each vector", a.name, a.shape)
	}
	return nil
}

// read implements rows. It passes no labels, because these are in an array of their own.
func (a *array) read(take func(vectors []float32, labels []uint8) error) error {
	n, width := a.shape[0], a.shape[1]
	atOnce := rowsAtOnce(width)
	if a.byColumns {
		atOnce = max(atOnce, 1<<10) // each piece of a column is read on its own
	}
	x := make([]float32, min(atOnce, n)*width)
	for first := 0; first < n; first += atOnce {
		x := x[:min(atOnce, n-first)*width]
		if err := a.rows(x, first); err != nil {
			return err
		}
		if err := take(x, nil); err != nil {
			return err
		}
	}
	return nil
}

// rows reads vectors into dst until it is full, from vector first on.
func (a *array) rows(dst []float32, first int) error {
	n, width := a.shape[0], a.shape[1]
	if !a.byColumns {
		return a.floats(dst, first*width)
	}
	column := make([]float32, len(dst)/width)
	for j := range width {
		if err := a.floats(column, j*n+first); err != nil {
			return err
		}
		for i, v := range column {
			dst[i*width+j] = v
		}
	}
	return nil
}

// integers returns all numbers of an array that checkLabels has passed.
func (a *array) integers() ([]int64, error) {
	values := make([]int64, a.shape[0])
	b, err := a.bytes(len(values), 0)
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i] = a.element.Integer(b[i*a.element.Size:])
	}
	return values, nil
}

// bytes returns the bytes of n numbers, from number from on, the lowest byte of each first.
func (a *array) bytes(n, from int) ([]byte, error) {
	size := a.element.Size
	b := make([]byte, n*size)
	if _, err := a.content.ReadAt(b, int64(from)*int64(size)); err != nil {
		return nil, fmt.Errorf("%s: %w", a.name, err)
	}
	for i := 0; a.backwards && i < len(b); i += size {
		slices.Reverse(b[i : i+size])
	}
	return b, nil
}
