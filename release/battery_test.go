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

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
