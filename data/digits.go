package data

import (
	"dpsgd/data/digits"
	"dpsgd/internal/parallel"
)

// The set "digits" needs no files: the program draws it.
var drawnDigits = Dataset{
	Name: "digits", Doc: "drawn by the program itself", Drawn: true,
	Shape: Shape{digits.Side, digits.Side, 1}, Classes: digitClasses,
	Train: 20000, Test: 2000,
	Load: func(set *Dataset, _ string, seed uint64) (*Split, error) {
		return drawDigits(seed, set.Train, set.Test)
	},
}

var digitClasses = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// drawDigits makes both parts of the set.
func drawDigits(seed uint64, train, test int) (*Split, error) {
	return splitOf("", func(part int) (*Images, error) {
		return drawSet(seed, [2]digits.Part{digits.Train, digits.Test}[part], [2]int{train, test}[part])
	})
}

// drawSet draws n pictures, in chunks so that the buffers of a drawer are used many times.
func drawSet(seed uint64, part digits.Part, n int) (*Images, error) {
	const chunk, size = 256, digits.Side * digits.Side
	labels, pixels := make([]uint8, n), make([]uint8, n*size)
	err := parallel.Each((n+chunk-1)/chunk, func(c int) error {
		var d digits.Drawer
		for i := c * chunk; i < min(n, (c+1)*chunk); i++ {
			labels[i] = d.Draw(pixels[i*size:(i+1)*size], seed, part, i)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return NewImages(Shape{digits.Side, digits.Side, 1}, digitClasses, labels, pixels)
}
