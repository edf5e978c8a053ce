package kernel

import (
	"fmt"
	"testing"
)

// rowwise are the kernels with values per channel and their definitions in float64.
var rowwise = []struct {
	name       string
	run        func(y, x, a, b []float32)
	definition func(x, a, b float64) float64
}{
	{"AddBias", func(y, x, a, _ []float32) { copy(y, x); AddBias(y, a) }, func(x, a, _ float64) float64 { return x + a }},
	{"ScaleChannels", func(y, x, a, _ []float32) { ScaleChannels(y, x, a) }, func(x, a, _ float64) float64 { return x * a }},
	{"ScaleShift", ScaleShift, func(x, a, b float64) float64 { return x*a + b }},
}

// TestRowwise compares with the definitions, for whole rows and a last one that is
// cut, and wants the same bits in place.
func TestRowwise(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, f := range rowwise {
			for _, channels := range lengths {
				for _, n := range []int{0, channels, 3 * channels, 5*channels + channels/2} {
					x, a, b := randoms(1, n), randoms(2, channels), randoms(3, channels)
					y, want := make([]float32, n), make([]float64, n)
					for i, v := range x {
						want[i] = f.definition(float64(v), float64(a[i%channels]), float64(b[i%channels]))
					}
					what := fmt.Sprintf("%s, %d values in rows of %d", f.name, n, channels)
					f.run(y, x, a, b)
					checkClose(t, what, y, want, 4e-7)
					f.run(x, x, a, b)
					checkClose(t, what+", in place", x, toFloat64(y), 0)
				}
			}
		}
	})
}

// TestRowwiseNaN: a NaN stays where it is, and in its channel if it is a value of one.
func TestRowwiseNaN(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		const channels, rows = 13, 3
		for _, f := range rowwise {
			for at := range channels * rows {
				x, a, b, y := randoms(1, channels*rows), randoms(2, channels), randoms(3, channels), make([]float32, channels*rows)
				x[at] = nan32
				f.run(y, x, a, b)
				checkOnlyNaN(t, f.name, y, at)
				x[at], a[at%channels] = 1, nan32
				f.run(y, x, a, b)
				for i, v := range y {
					if isNaN := v != v; isNaN != (i%channels == at%channels) {
						t.Errorf("%s: element %d is %v, NaN in channel %d", f.name, i, v, at%channels)
					}
				}
			}
		}
	})
}
