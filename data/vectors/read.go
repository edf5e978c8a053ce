package vectors

import (
	"fmt"
	"math"

	"dpsgd/internal/kernel"
)

// numbersAtOnce is about how many numbers are read in one piece.
const numbersAtOnce = 1 << 16

// ReadDirections reads the vectors, scales each to length 1 and returns them in half precision, shape
// (n, width).
//
// Directions are what public models tell about a picture or a text, a gradient whose length is
// bounded gains nothing from the length of what it is computed from, and a row of length 1 loses
// nothing that matters in half precision. A vector of zeros stays one. One that holds a number that
// is not finite is an error.
func (p *Part) ReadDirections() ([]uint16, error) {
	n, width := p.Len(), p.features.shape[1]
	halves := make([]uint16, n*width)
	x := make([]float32, max(1, numbersAtOnce/width)*width)
	for from := 0; from < len(halves); from += len(x) {
		x := x[:min(len(x), len(halves)-from)]
		if err := p.features.floats(x, from); err != nil {
			return nil, err
		}
		for i := 0; i < len(x); i += width {
			if !toUnitNorm(x[i : i+width]) {
				return nil, fmt.Errorf("%s: vector %d is not finite as 32-bit numbers, expected finite numbers", p.features.name, (from+i)/width)
			}
		}
		kernel.ToHalves(halves[from:], x)
	}
	return halves, nil
}

// toUnitNorm scales a row to norm 1, but for a row of zeros. It reports whether all numbers are
// finite.
func toUnitNorm(x []float32) bool {
	squares := 0.0
	for _, v := range x {
		squares += float64(v) * float64(v) // a float64 holds the squares of 2^16 numbers of any size
	}
	if math.IsInf(squares, 0) || math.IsNaN(squares) {
		return false
	}
	if squares == 0 {
		return true
	}
	scale := 1 / math.Sqrt(squares)
	for i, v := range x {
		x[i] = float32(float64(v) * scale)
	}
	return true
}

// ReadLabels reads the index of the class of each vector, one of so many, at most 256.
func (p *Part) ReadLabels(classes int) ([]uint8, error) {
	found, err := p.labels.integers()
	if err != nil {
		return nil, err
	}
	labels := make([]uint8, len(found))
	for i, label := range found {
		if label < 0 || label >= int64(classes) {
			return nil, fmt.Errorf("%s: label %d has no class, expected 0 to %d for the %d declared classes", p.labels.name, i, classes-1, classes)
		}
		labels[i] = uint8(label)
	}
	return labels, nil
}
