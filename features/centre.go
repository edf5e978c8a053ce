package features

import (
	"fmt"
	"math"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// Centre subtracts a mean from the rows, in their place, and makes them unit norm again. The caller
// owns the set, and nobody reads it meanwhile. Row i depends on row i and the mean alone.
//
// In place, because rows are the largest thing that a run holds, and memory that is touched for the
// first time costs more than the arithmetic.
func Centre(rows *data.Features, mean []float32, pool *kernel.Pool) error {
	if norm := math.Sqrt(kernel.SumSquares(mean)); math.IsNaN(norm) || math.IsInf(norm, 0) {
		return fmt.Errorf("features: the mean of the rows has the norm %v, expected finite numbers", norm)
	}
	scratch := make([][]float32, pool.Threads())
	pool.Run(rows.Len(), 1+1<<15/len(mean), func(worker, lo, hi int) {
		if scratch[worker] == nil {
			scratch[worker] = make([]float32, len(mean))
		}
		x := scratch[worker]
		for i := lo; i < hi; i++ {
			kernel.FromHalves(x, rows.Halves(i))
			kernel.Axpy(x, -1, mean)
			toUnit(x)
			kernel.ToHalves(rows.Halves(i), x)
		}
	})
	return nil
}
