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

// TestRowwiseShortArguments wants panics, not reads beyond a slice.
func TestRowwiseShortArguments(t *testing.T) {
	long, short := make([]float32, 20), make([]float32, 19)
	short = short[:19:19]
	for name, f := range map[string]func(){
		"ScaleChannels, source": func() { ScaleChannels(long, short, long) },
		"ScaleShift, shift":     func() { ScaleShift(long, long, long, short) },
		"SumRows, dst":          func() { SumRows(short, long, 20) },
		"SumRowProducts, y":     func() { SumRowProducts(long, long, short, 20) },
		"Add":                   func() { Add(long, long, short) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a slice that is too short is taken", name)
				}
			}()
			f()
		}()
	}
}

// TestNothingIsAllocatedPerElement runs what TestNothingIsAllocated leaves out.
func TestNothingIsAllocatedPerElement(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	const positions, channels, groups = 36, 20, 4
	x, y, d, std := randoms(1, positions*channels), randoms(2, positions*channels), randoms(3, positions*channels), make([]float32, groups)
	a, b, sums := randoms(4, channels), randoms(5, channels), make([]float32, channels)
	pool := Pool2D{Height: 6, Width: 6, Channels: channels, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1}
	argmax := make([]int32, positions*channels)
	onEachKernelSet(t, func(t *testing.T) {
		allocs := testing.AllocsPerRun(20, func() {
			AddBias(y, a)
			ScaleShift(y, x, a, b)
			ScaleChannels(d, d, a)
			SumRowProducts(sums, x, d, channels)
			AddScaledSumRows(sums, 0.5, x, channels)
			GroupNormForward(y, std, x, positions, channels, groups, 1e-5)
			GroupNormGrad(d, y, d, std, positions, channels, groups)
			pool.MaxPool(y, argmax, x)
			pool.MaxPoolGrad(d, y, argmax)
			GELU(y, x)
			Add(y, y, x)
		})
		if allocs != 0 {
			t.Errorf("%v allocations, want 0", allocs)
		}
	})
}
