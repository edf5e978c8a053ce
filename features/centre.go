package features

import (
	"dpsgd/data"
	"dpsgd/features/flatten"
	"dpsgd/internal/kernel"
)

// Centred returns the rows less a mean, made unit norm again. Row i depends on row i and the mean
// alone.
func Centred(rows *data.Features, mean []float32, pool *kernel.Pool) (*data.Features, error) {
	width := len(mean)
	halves := make([]uint16, rows.Len()*width)
	labels := make([]uint8, rows.Len())
	scratch := make([][]float32, pool.Threads())
	pool.Run(rows.Len(), 1+1<<15/width, func(worker, lo, hi int) {
		if scratch[worker] == nil {
			scratch[worker] = make([]float32, width)
		}
		x := scratch[worker]
		for i := lo; i < hi; i++ {
			kernel.FromHalves(x, rows.Halves(i))
			kernel.Axpy(x, -1, mean)
			flatten.ToUnit(x)
			kernel.ToHalves(halves[i*width:(i+1)*width], x)
			labels[i] = uint8(rows.Label(i))
		}
	})
	return data.NewFeatures(width, rows.Classes(), labels, halves)
}
