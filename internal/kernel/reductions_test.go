package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// lengths lists lengths around which the vector kernels change from blocks to rests.
var lengths = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 100, 1000, 4099}

// TestSumRows wants float64 sums, rounded: 1e8, 1 and -1e8 are 1.
func TestSumRows(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, cols := range []int{1, 2, 3, 8, 10, 16, 24, 32, 63, 64, 65, 100, 200, 300} {
			for _, rows := range []int{0, 1, 2, 3, 17, 64, 1000} {
				x, y := randoms(1, rows*cols), randoms(2, rows*cols)
				for j := range min(cols, len(x)) {
					x[j] += 1e8
					x[len(x)-1-j] -= 1e8
				}
				sums, products, dst := make([]float64, cols), make([]float64, cols), make([]float32, cols)
				for i, v := range x {
					sums[i%cols] += float64(v)
					products[i%cols] += float64(v) * float64(y[i])
				}
				fill(dst, nan32)
				SumRows(dst, x, cols)
				checkClose(t, fmt.Sprintf("%d×%d, sums", rows, cols), dst, sums, 1e-7)
				fill(dst, 3)
				AddScaledSumRows(dst, -0.5, x, cols)
				checkClose(t, fmt.Sprintf("%d×%d, scaled sums", rows, cols), dst, affine(3, -0.5, sums), 3e-7)
				fill(dst, nan32)
				SumRowProducts(dst, x, y, cols)
				checkClose(t, fmt.Sprintf("%d×%d, products", rows, cols), dst, products, 1e-7)
				fill(dst, 3)
				AddScaledSumRowProducts(dst, -0.5, x, y, cols)
				checkClose(t, fmt.Sprintf("%d×%d, scaled products", rows, cols), dst, affine(3, -0.5, products), 3e-7)
			}
		}
	})
}

func affine(a, b float64, x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = a + b*v
	}
	return y
}

// TestSumRowsNaN keeps to its column.
func TestSumRowsNaN(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, cols := range []int{3, 10, 16, 40} {
			for _, rows := range []int{1, 7, 40} {
				for at := range rows * cols {
					x, dst := randoms(1, rows*cols), make([]float32, cols)
					x[at] = nan32
					SumRows(dst, x, cols)
					checkOnlyNaN(t, "SumRows", dst, at%cols)
					SumRowProducts(dst, x, x, cols)
					checkOnlyNaN(t, "SumRowProducts", dst, at%cols)
				}
			}
		}
	})
}

// TestSumSquares wants float64 accuracy: a float32 sum of 2^26, 1 and 2^26 loses the 1.
func TestSumSquares(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, n := range lengths {
			x := randoms(1, n)
			var squares float64
			for _, v := range x {
				squares += float64(v) * float64(v)
			}
			if got := SumSquares(x); !(math.Abs(got-squares) <= 1e-13*squares) {
				t.Errorf("%d elements: SumSquares = %v, want %v", n, got, squares)
			}
		}
		x := make([]float32, 40)
		x[0], x[17], x[39] = 1<<13, 1, -1<<13
		if got := SumSquares(x); got != 1<<27+1 {
			t.Errorf("2^26 + 1 + 2^26 = %v", got)
		}
		// Squares beyond float32 are finite.
		fill(x, math.MaxFloat32)
		if got := SumSquares(x); math.IsInf(got, 0) || got < 40*math.MaxFloat32 {
			t.Errorf("squares of the largest values sum to %v", got)
		}
	})
}

// TestNotFiniteIsNotLost wants sums that show it when any one element is NaN or
// infinite: norms decide by that which examples to drop.
func TestNotFiniteIsNotLost(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, bad := range []float32{nan32, inf32, -inf32} {
			for i := range 53 {
				x := randoms(1, 53)
				x[i] = bad
				if sum := SumSquares(x); !math.IsNaN(sum) && !math.IsInf(sum, 1) {
					t.Errorf("x[%d] = %v: SumSquares = %v", i, bad, sum)
				}
			}
		}
	})
}

func TestAxpy(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, n := range lengths {
			x, y := randoms(1, n), randoms(2, n+1)
			wantY := toFloat64(y)
			for i, v := range x {
				wantY[i] -= 1.5 * float64(v)
			}
			Axpy(y, -1.5, x)
			checkClose(t, "Axpy", y, wantY, 2e-7) // and what is behind x stays
		}
	})
}

// TestAddExcess compares with the definition, on slices that hold something before.
func TestAddExcess(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, columns := range []int{0, 1, 7, 8, 9, 24, 37} {
			for _, rows := range []int{0, 1, 2, 9} {
				x, y, scale := randomIntegers(1, rows*columns), randomIntegers(2, rows*columns), randoms(3, rows)
				low, high := randoms(4, columns), randoms(5, columns)
				var got [4][]float32
				var want [4][]float64
				for k := range got {
					got[k] = randoms(uint64(6+k), columns)
					want[k] = toFloat64(got[k])
				}
				for i := range x {
					row, j := i/columns, i%columns
					for k, v := range []int32{x[i] + y[i], x[i] - y[i]} {
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
	x, y, scale := randomIntegers(1, rows*columns), randomIntegers(2, rows*columns), randoms(3, rows)
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
		const rows, columns = 3, 37
		x, ones := randomIntegers(1, rows*columns), []float32{1, 1, 1}
		for at := range columns {
			e, thresholds := Excess{make([]float32, columns), make([]float32, columns)}, make([]float32, columns)
			thresholds[at] = nan32
			AddExcess(e, e, x, x, ones, thresholds, thresholds)
			checkOnlyNaN(t, "above", e.Above, at)
			checkOnlyNaN(t, "below", e.Below, at)
		}
	})
}

// randomIntegers returns integers from -4 to 4.
func randomIntegers(seed uint64, n int) []int32 {
	x := make([]int32, n)
	for i, v := range randoms(seed, n) {
		x[i] = int32(min(max(4*v, -4), 4))
	}
	return x
}

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

// Every kernel makes the same step, to the last bit, for any number of parameters, and touches no
// more of them.
func TestUpdatesAgreeBitForBit(t *testing.T) {
	const spare = 5
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		p, v, sum := make([]float32, n+spare), make([]float32, n+spare), make([]float64, n+spare)
		for i := range p {
			p[i], v[i], sum[i] = float32(r.NormFloat64()), float32(r.NormFloat64()), 100*r.NormFloat64()
		}
		for _, m := range []Momentum{
			{PerBatch: 1.0 / 3, Decay: 0.01, Mu: 0.9, Rate: 0.1},
			{PerBatch: 1.0 / 3, Decay: 0.01, Mu: 0.9, Rate: 0.1, Nesterov: true},
		} {
			wantP, wantV := slices.Clone(p), slices.Clone(v)
			portableMomentum(wantP[:n], wantV[:n], sum[:n], m)
			plain := slices.Clone(p)
			portableDescend(plain[:n], sum[:n], m.PerBatch, m.Decay, m.Rate)
			for _, k := range supportedKernels() {
				gotP, gotV := slices.Clone(p), slices.Clone(v)
				k.momentum(gotP[:n], gotV[:n], sum[:n], m)
				if !slices.Equal(gotP, wantP) || !slices.Equal(gotV, wantV) {
					t.Errorf("%s: %+v of %d parameters is not that of the portable kernel", k.name, m, n)
				}
				gotP = slices.Clone(p)
				k.descend(gotP[:n], sum[:n], m.PerBatch, m.Decay, m.Rate)
				if !slices.Equal(gotP, plain) {
					t.Errorf("%s: plain step of %d parameters is not that of the portable kernel", k.name, n)
				}
			}
		}
	}
}
