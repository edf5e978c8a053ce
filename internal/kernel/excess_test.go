package kernel

import (
	"fmt"
	"math"
	"testing"
)

// TestAddExcess compares with the definition, on slices that hold something before.
func TestAddExcess(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, columns := range []int{0, 1, 7, 8, 9, 24, 37} {
			for _, rows := range []int{0, 1, 2, 9} {
				x, y, scale := randoms(1, rows*columns), randoms(2, rows*columns), randoms(3, rows)
				low, high := randoms(4, columns), randoms(5, columns)
				var got [4][]float32
				var want [4][]float64
				for k := range got {
					got[k] = randoms(uint64(6+k), columns)
					want[k] = toFloat64(got[k])
				}
				for i := range x {
					row, j := i/columns, i%columns
					for k, v := range []float32{x[i] + y[i], x[i] - y[i]} {
						v := float64(scale[row]) * float64(v)
						want[2*k][j] += math.Max(v-float64(high[j]), 0)
						want[2*k+1][j] += math.Max(float64(low[j])-v, 0)
					}
				}
				AddExcess(Excess{got[0], got[1]}, Excess{got[2], got[3]}, x, y, scale, low, high)
				for k := range got {
					checkClose(t, fmt.Sprintf("sum %d of %d rows of %d", k, rows, columns), got[k], want[k], 2e-6)
				}
			}
		}
	})
}

// TestAddExcessToOneSum: sums and differences may go to the same slices.
func TestAddExcessToOneSum(t *testing.T) {
	const rows, columns = 5, 19
	x, y, scale := randoms(1, rows*columns), randoms(2, rows*columns), randoms(3, rows)
	low, high := randoms(4, columns), randoms(5, columns)
	fresh := func() Excess { return Excess{make([]float32, columns), make([]float32, columns)} }
	onEachKernelSet(t, func(t *testing.T) {
		both, sums, differences := fresh(), fresh(), fresh()
		AddExcess(both, both, x, y, scale, low, high)
		AddExcess(sums, differences, x, y, scale, low, high)
		Add(sums.Above, sums.Above, differences.Above)
		Add(sums.Below, sums.Below, differences.Below)
		checkClose(t, "above", both.Above, toFloat64(sums.Above), 1e-6)
		checkClose(t, "below", both.Below, toFloat64(sums.Below), 1e-6)
	})
}

// TestAddExcessNaN: a NaN reaches the sums of its column and no other.
func TestAddExcessNaN(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		const rows, columns = 3, 13
		for at := range rows * columns {
			x, ones := randoms(1, rows*columns), []float32{1, 1, 1}
			x[at] = nan32
			e, zeros := Excess{make([]float32, columns), make([]float32, columns)}, make([]float32, columns)
			AddExcess(e, e, x, x, ones, zeros, zeros)
			checkOnlyNaN(t, "above", e.Above, at%columns)
			checkOnlyNaN(t, "below", e.Below, at%columns)
		}
	})
}
