package flatten

import (
	"fmt"
	"math"

	"dpsgd/internal/kernel"
)

// batch is the number of rows that are flattened together: enough for a fast product of matrices,
// and few enough that they stay close to the processor.
const batch = 1024

// Apply replaces each of the rows, which lie one after the other, by its image under the map. The
// image of a row depends on that row alone, bit for bit: not on the others, their number or the
// threads. It has norm 1, except that the drawn mean has the image zero; a row with a value that is
// not finite has an image that is not finite. Apply panics if rows is no whole number of them.
func (f *Flattening) Apply(rows []float32, pool *kernel.Pool) {
	width := len(f.gain)
	if len(rows)%width != 0 {
		panic(fmt.Sprintf("flatten: %d values, expected rows of %d columns", len(rows), width))
	}
	k := len(f.damping)
	along := make([]float32, min(batch, len(rows)/width)*k)
	for ; len(rows) > 0; rows = rows[min(batch*width, len(rows)):] {
		z := rows[:min(batch*width, len(rows))]
		f.scaleRows(z, pool)
		if k == 0 {
			continue
		}
		n := len(z) / width
		c := along[:n*k]
		pool.Gemm(false, true, n, k, width, 1, z, width, f.directions, width, 0, c, k)
		kernel.ScaleChannels(c, c, f.damping)
		pool.Gemm(false, false, n, width, k, -1, c, k, f.directions, width, 1, z, width)
		eachRow(z, width, pool, ToUnit)
	}
}

// scaleRows standardises rows and gives every block of them, and then every row, the norm 1.
func (f *Flattening) scaleRows(rows []float32, pool *kernel.Pool) {
	eachRow(rows, len(f.gain), pool, func(z []float32) {
		kernel.Axpy(z, 1, f.shift)
		kernel.ScaleChannels(z, z, f.gain)
		rest := z
		for _, b := range f.blocks {
			ToUnit(rest[:b.columns()])
			rest = rest[b.columns():]
		}
		if len(f.blocks) > 1 {
			ToUnit(z)
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

// minNorm is the norm below which a row is taken for zero.
const minNorm = 1e-8

// ToUnit divides z by its norm, or by minNorm if that is larger.
func ToUnit(z []float32) {
	inverse := float32(1 / math.Max(math.Sqrt(kernel.SumSquares(z)), minNorm))
	for j, v := range z {
		z[j] = v * inverse
	}
}

// centre subtracts from each of n rows their mean.
func centre(rows []float32, n int) {
	sum := make([]float32, len(rows)/n)
	kernel.SumRows(sum, rows, len(sum))
	for at := 0; at < len(rows); at += len(sum) {
		kernel.Axpy(rows[at:], -1/float32(n), sum)
	}
}
