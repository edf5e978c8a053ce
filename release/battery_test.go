package release

import "dpsgd/internal/battery"

// What tests of mechanisms take from the battery.
const (
	batteryDim = battery.Dim
	limit      = battery.Limit
)

type publisher = battery.Publisher

var (
	known       = battery.Known
	noiseFaults = battery.Noise
)

// dot is the inner product of x and y, or the sum of x if y is nil.
func dot(x, y []float64) (s float64) {
	for i, v := range x {
		if y != nil {
			v *= y[i]
		}
		s += v
	}
	return s
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
