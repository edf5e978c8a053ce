package vectors

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"dpsgd/internal/kernel"
)

// numbersAtOnce is about how many numbers are read in one piece.
const numbersAtOnce = 1 << 16

// rowsAtOnce returns the number of vectors of a width that are read at once.
func rowsAtOnce(width int) int { return max(1, numbersAtOnce/width) }

// Count returns the number of vectors. To count, it reads a file of comma-separated values whole.
func (p *Part) Count() (int, error) {
	if lines, ok := p.rows.(*csvRows); ok {
		return lines.Each(func([]string) error { return nil })
	}
	return p.known, nil
}

// Read reads the vectors, scales each to length 1 and returns them in half precision, shape (n,
// width), with the class of each.
//
// Lengths are dropped because public models tell about a picture or a text by directions, because a
// clipped gradient gains nothing from the length of its row, and because a row of length 1 loses
// nothing that matters in half precision. A vector of zeros stays as it is. A number that is not
// finite is an error.
func (p *Part) Read() (labels []uint8, halves []uint16, err error) {
	width := p.declared.Width
	labels, halves = make([]uint8, 0, p.known), make([]uint16, 0, p.known*width)
	err = p.rows.read(func(x []float32, of []uint8) error {
		before := len(halves)
		for i := 0; i < len(x); i += width {
			if !toUnitNorm(x[i : i+width]) {
				return fmt.Errorf("%s: vector %d is not finite as 32-bit numbers, expected finite numbers", p.name, (before+i)/width)
			}
		}
		halves = slices.Grow(halves, len(x))[:before+len(x)]
		kernel.ToHalves(halves[before:], x)
		labels = append(labels, of...)
		return nil
	})
	if err == nil {
		err = p.checkNumbers(len(halves) / width)
	}
	if err == nil && p.labels != nil {
		labels, err = p.readLabels()
	}
	return labels, halves, err
}

// toUnitNorm scales x to norm 1, or leaves it if all its numbers are 0. It returns false, and
// scales nothing, if a number is not finite.
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

// readLabels returns the labels in the array of labels. It refuses one that has no class.
func (p *Part) readLabels() ([]uint8, error) {
	found, err := p.labels.integers()
	if err != nil {
		return nil, err
	}
	labels := make([]uint8, len(found))
	for i, label := range found {
		if label < 0 || label >= int64(len(p.declared.Classes)) {
			return nil, fmt.Errorf("%s: found a label that has no class in place %d (from 0), expected %s", p.labels.name, i, p.declared.indices())
		}
		labels[i] = uint8(label)
	}
	return labels, nil
}

// indices returns which numbers are labels, for messages.
func (d Declared) indices() string {
	return fmt.Sprintf("0 to %d for the %d declared classes", len(d.Classes)-1, len(d.Classes))
}

// Names returns which texts are labels, for messages.
func (d Declared) Names() string {
	expected := fmt.Sprintf("one of the declared classes %q", d.Classes)
	if !d.numbered() {
		expected += " or its number, from 0"
	}
	return expected
}

// Class returns the number of the class whose name is text, or false if there is none. If no class
// has a number for a name, text may also be the number of a class. So no text has two meanings.
func (d Declared) Class(text string) (label uint8, known bool) {
	if i := slices.Index(d.Classes, text); i >= 0 {
		return uint8(i), true
	}
	i, err := strconv.Atoi(text)
	return uint8(i), err == nil && i >= 0 && i < len(d.Classes) && !d.numbered()
}

// numbered reports whether a class has a number for a name.
func (d Declared) numbered() bool {
	return slices.ContainsFunc(d.Classes, func(name string) bool {
		_, err := strconv.Atoi(name)
		return err == nil
	})
}
