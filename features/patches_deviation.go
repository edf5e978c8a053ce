package features

import (
	"math"

	"dpsgd/data"
)

// A deviation finds the standard deviations of all patches of a picture.
type deviation struct {
	shape         data.Shape
	size          int
	sums, squares []float64 // of a row of pixels over channels and the columns of a patch
	inverse       []float32 // of the standard deviation, with the floor of contrast, by position
}

func newDeviation(shape data.Shape, size int) deviation {
	columns := shape.Width - size + 1
	return deviation{
		shape: shape, size: size,
		sums: make([]float64, shape.Height*columns), squares: make([]float64, shape.Height*columns),
		inverse: make([]float32, (shape.Height-size+1)*columns),
	}
}

// invert sets inverse for a picture.
func (d deviation) invert(pixels []float32) {
	d.sumRows(pixels)
	columns := d.shape.Width - d.size + 1
	n := float64(d.shape.Channels * d.size * d.size)
	for i := range d.inverse {
		var sum, squares float64
		for at := i; at < i+d.size*columns; at += columns {
			sum += d.sums[at]
			squares += d.squares[at]
		}
		variance := max(squares-sum*sum/n, 0) / (n - 1)
		d.inverse[i] = float32(1 / math.Sqrt(variance+contrastFloor))
	}
}

// sumRows sums, for each position along each row of pixels, what a patch there has in that row.
func (d deviation) sumRows(pixels []float32) {
	columns, area := d.shape.Width-d.size+1, d.shape.Height*d.shape.Width
	clear(d.sums)
	clear(d.squares)
	for c := range d.shape.Channels {
		for y := range d.shape.Height {
			row := pixels[c*area+y*d.shape.Width:][:d.shape.Width]
			sums, squares := d.sums[y*columns:][:columns], d.squares[y*columns:][:columns]
			for x := range columns {
				for _, v := range row[x : x+d.size] {
					sums[x] += float64(v)
					squares[x] += float64(v) * float64(v)
				}
			}
		}
	}
}
