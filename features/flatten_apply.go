package features

import (
	"fmt"
	"math"

	"dpsgd/internal/kernel"
)

// flattenBatch is the number of rows that are flattened together: enough for a fast product of matrices,
// and few enough that they stay close to the processor.
const flattenBatch = 1024

// apply replaces each of the rows, which lie one after the other, by its image under the map. The
// image of a row depends on that row alone, bit for bit: not on the others, their number or the
// threads. It has norm 1, except that the drawn mean has the image zero; a row with a value that is
// not finite has an image that is not finite. apply panics if rows is no whole number of them.
func (f *Flattening) apply(rows []float32, pool *kernel.Pool) {
	width := len(f.Gain)
	if len(rows)%width != 0 {
		panic(fmt.Sprintf("flatten: %d values, expected rows of %d columns", len(rows), width))
	}
	k := len(f.Damping)
	along := make([]float32, min(flattenBatch, len(rows)/width)*k)
	for ; len(rows) > 0; rows = rows[min(flattenBatch*width, len(rows)):] {
		z := rows[:min(flattenBatch*width, len(rows))]
		f.scaleRows(z, pool)
		if k == 0 {
			continue
		}
		n := len(z) / width
		c := along[:n*k]
		pool.Gemm(false, true, n, k, width, 1, z, width, f.Directions, width, 0, c, k)
		kernel.ScaleChannels(c, c, f.Damping)
		pool.Gemm(false, false, n, width, k, -1, c, k, f.Directions, width, 1, z, width)
		eachRow(z, width, pool, toUnit)
	}
}

// scaleRows standardises rows and gives every block of them, and then every row, the norm 1.
func (f *Flattening) scaleRows(rows []float32, pool *kernel.Pool) {
	eachRow(rows, len(f.Gain), pool, func(z []float32) {
		kernel.Axpy(z, 1, f.Shift)
		kernel.ScaleChannels(z, z, f.Gain)
		rest := z
		for _, b := range f.Blocks {
			toUnit(rest[:b.Columns()])
			rest = rest[b.Columns():]
		}
		if len(f.Blocks) > 1 {
			toUnit(z)
		}
	})
}

func eachRow(rows []float32, width int, pool *kernel.Pool, change func(row []float32)) {
	pool.Run(len(rows)/width, 1, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			change(rows[i*width : (i+1)*width])
		}
	})
}

// minNorm is the norm below which a row is taken for zero: it is divided by this instead.
const minNorm = 1e-8

// toUnit divides z by its norm, or by minNorm if that is larger.
func toUnit(z []float32) {
	inverse := float32(1 / math.Max(math.Sqrt(kernel.SumSquares(z)), minNorm))
	for j, v := range z {
		z[j] = v * inverse
	}
}

// centreRows subtracts from each of n rows their mean.
func centreRows(rows []float32, n int) {
	sum := make([]float32, len(rows)/n)
	kernel.SumRows(sum, rows, len(sum))
	for at := 0; at < len(rows); at += len(sum) {
		kernel.Axpy(rows[at:], -1/float32(n), sum)
	}
}
