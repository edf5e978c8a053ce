package kernel

import (
	"math"
	"slices"
	"testing"
)

// roundable are values around every border that rounding to integers has, and some that no integer
// holds.
func roundable() []float32 {
	values := []float32{
		0, float32(math.Copysign(0, -1)), 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 0.50000006, 1 << 23, 1<<24 - 1, 1 << 24, 1 << 30,
		math.MaxInt32, math.MinInt32, 1 << 31, -(1 << 31), 1 << 33, -(1 << 33), 1e30, -1e30, math.MaxFloat32, 1e-42,
		float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)),
	}
	for i := range 500 {
		values = append(values, float32(math.Sin(float64(i)))*float32(math.Exp2(float64(i%30))))
	}
	return values
}

// Integers are those nearest to scale·value, ties to even, on every kernel and at every length and
// offset.
func TestAddRounded(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		all := roundable()
		for _, n := range []int{0, 1, 7, 15, 16, 17, 31, 33, 100, len(all)} {
			for _, scale := range []float32{1, 0.25, 3} {
				row := all[len(all)-n:]
				sum, want := make([]int32, n), make([]int32, n)
				var squares float64
				exact := true
				for i, v := range row {
					c := int64(math.MinInt32)
					if r := math.RoundToEven(float64(scale * v)); r >= math.MinInt32 && r <= math.MaxInt32 {
						c = int64(r)
					}
					sum[i] = int32(i)
					want[i] = int32(i) + int32(c) // wraps around
					squares += float64(c) * float64(c)
					exact = exact && squares < 1<<53
				}
				found := AddRounded(sum, row, scale)
				if !slices.Equal(sum, want) {
					t.Fatalf("%d values times %v: sums are %v, expected %v", n, scale, sum, want)
				}
				if exact && found != squares || math.Abs(found-squares) > 1e-12*squares {
					t.Errorf("%d values times %v: squares sum to %v, expected %v", n, scale, found, squares)
				}
			}
		}
	})
}

// Rounded values are integers as float32; a value that is not finite shows in the sum of squares.
func TestRound(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		all := roundable()
		for _, n := range []int{0, 1, 7, 16, 17, 33, 100, 500} {
			src := slices.Clone(all[len(all)-n:])
			dst := make([]float32, n)
			squares, largest := Round(dst, src, 3)
			var wantSquares, wantLargest float64
			for i, v := range src {
				want := math.RoundToEven(float64(3 * v))
				if float64(dst[i]) != want {
					t.Fatalf("%v times 3 becomes %v, expected %v", v, dst[i], want)
				}
				wantSquares += want * want
				wantLargest = max(wantLargest, math.Abs(want))
			}
			if math.Abs(squares-wantSquares) > 1e-12*wantSquares || float64(largest) != wantLargest {
				t.Errorf("%d values: squares %v and largest %v, expected %v and %v", n, squares, largest, wantSquares, wantLargest)
			}
		}
		for at := range 40 {
			for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				src := make([]float32, 40)
				src[at] = float32(odd)
				if squares, _ := Round(make([]float32, 40), src, 1); squares-squares == 0 {
					t.Errorf("%v at %d: squares sum to %v, expected no finite number", odd, at, squares)
				}
			}
		}
	})
}

func TestAccumulateInt32(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 15, 16, 17, 100} {
			dst, x := make([]float64, n), make([]int32, n)
			for i := range x {
				dst[i], x[i] = float64(i)*0x1p40, int32(math.MinInt32+i*12345)
			}
			AccumulateInt32(dst, x)
			for i, v := range dst {
				if want := float64(i)*0x1p40 + float64(x[i]); v != want {
					t.Fatalf("%d values: value %d is %v, expected %v", n, i, v, want)
				}
			}
		}
	})
}

func BenchmarkAddRounded(b *testing.B) {
	sum, row := make([]int32, 2048), make([]float32, 2048)
	for i := range row {
		row[i] = float32(i)
	}
	b.SetBytes(int64(4 * len(row)))
	for b.Loop() {
		AddRounded(sum, row, 0.37)
	}
}
