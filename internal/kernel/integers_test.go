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

// AddRounded adds the integers nearest to scale·value, ties to even, on every kernel and at every
// length and offset; a value that is not finite shows in the sum of squares.
func TestAddRounded(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		all := roundable()
		for _, n := range []int{0, 1, 7, 15, 16, 17, 31, 33, 100, 500} {
			for _, scale := range []float32{1, 0.25, 3} {
				row := all[len(all)-n:]
				sum, want := make([]float64, n), make([]float64, n)
				var squares float64
				for i, v := range row {
					c := math.RoundToEven(float64(scale * v))
					sum[i], want[i] = float64(i), float64(i)+c
					squares += c * c
				}
				found := AddRounded(sum, row, scale)
				if !slices.Equal(sum, want) {
					t.Fatalf("%d values times %v: sums are %v, expected %v", n, scale, sum, want)
				}
				if squares < 1<<53 && found != squares || !(math.Abs(found-squares) <= 0x1p-40*squares) {
					t.Errorf("%d values times %v: squares sum to %v, expected %v", n, scale, found, squares)
				}
			}
		}
		for at := range 40 {
			for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				row := make([]float32, 40)
				row[at] = float32(odd)
				if squares := AddRounded(make([]float64, 40), row, 1); squares-squares == 0 {
					t.Errorf("%v at %d: squares sum to %v, expected no finite number", odd, at, squares)
				}
			}
		}
	})
}

// Integers of 16 bits are written as they are and their squares summed exactly, a larger one shows in
// the largest magnitude; a value that is not finite shows in the sum of squares.
func TestRound(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		all := roundable()
		for _, n := range []int{0, 1, 7, 16, 17, 33, 100, 500} {
			for _, scale := range []float32{3, 0x1p-15} { // with larger integers, and without
				src := slices.Clone(all[len(all)-n:])
				dst := make([]int16, n)
				squares, largest := Round(dst, src, scale)
				var wantSquares, wantLargest float64
				for i, v := range src {
					want := math.RoundToEven(float64(scale * v))
					if math.Abs(want) <= MostOfPair && float64(dst[i]) != want {
						t.Fatalf("%v times %v becomes %v, expected %v", v, scale, dst[i], want)
					}
					wantSquares += want * want
					wantLargest = max(wantLargest, math.Abs(want))
				}
				if wantLargest <= MostOfPair && squares != wantSquares || float64(largest) != wantLargest {
					t.Errorf("%d values times %v: squares %v and largest %v, expected %v and %v", n, scale, squares, largest, wantSquares, wantLargest)
				}
			}
		}
		for at := range 40 {
			for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				src := make([]float32, 40)
				src[at] = float32(odd)
				if squares, _ := Round(make([]int16, 40), src, 1); squares-squares == 0 {
					t.Errorf("%v at %d: squares sum to %v, expected no finite number", odd, at, squares)
				}
			}
		}
	})
}

// Products of pairs are exact up to the largest that 32 bits hold, on every kernel, for shapes
// around the borders of tiles and blocks.
func TestGemmPairs(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		pool := NewPool(2)
		defer pool.Close()
		for k, s := range [][3]int{{1, 1, 1}, {1, 1, 2048}, {3, 5, 7}, {12, 32, 4}, {13, 33, 300}, {400, 530, 3}, {6, 16, 64}, {29, 47, 31}, {70, 100, 151}, {64, 250, 256}} {
			m, n, examples := s[0], s[1], s[2]
			z, x := make([]int16, m*examples), make([]int16, n*examples)
			fill := func(values []int16, seed, most int64) {
				for i := range values {
					values[i] = int16((int64(i)*7919+seed)%(2*most+1) - most)
				}
				values[0], values[len(values)-1] = int16(most), int16(-most)
			}
			// One factor has all digits in every other shape, else both have equally many.
			most := min(int64(math.Sqrt(math.MaxInt32/float64(examples))), MostOfPair)
			other := most
			if k%2 == 0 {
				most = MostOfPair
				other = min(math.MaxInt32/int64(examples)/most, MostOfPair)
			}
			fill(z, 1, most)
			fill(x, 5, other)
			pairs := (examples + 1) / 2
			a, b, c := make([]int32, m*pairs), make([]int32, n*pairs), make([]int32, m*n)
			for i := range pairs {
				var secondZ, secondX []int16
				if 2*i+1 < examples {
					secondZ, secondX = z[(2*i+1)*m:], x[(2*i+1)*n:]
				}
				Pair(a[i*m:(i+1)*m], z[2*i*m:], secondZ)
				Pair(b[i*n:(i+1)*n], x[2*i*n:], secondX)
			}
			pool.GemmPairs(m, n, pairs, a, b, c)
			for i := range m {
				for j := range n {
					want := int64(0)
					for e := range examples {
						want += int64(z[e*m+i]) * int64(x[e*n+j])
					}
					if int64(c[i*n+j]) != want {
						t.Fatalf("%v: element (%d, %d) is %d, expected %d", s, i, j, c[i*n+j], want)
					}
				}
			}
		}
	})
}

func TestAddShifted(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 15, 16, 17, 100} {
			for _, shift := range []int{0, 1, 31} {
				for _, first := range []bool{false, true} {
					dst, x := make([]int64, n), make([]int32, n)
					for i := range x {
						dst[i], x[i] = int64(i)<<40, int32(math.MinInt32+i*12345)
					}
					AddShifted(dst, x, shift, first)
					for i, v := range dst {
						want := int64(x[i]) << shift
						if !first {
							want += int64(i) << 40
						}
						if v != want {
							t.Fatalf("%d values, first %t: value %d is %v, expected %v", n, first, i, v, want)
						}
					}
				}
			}
		}
	})
}

func BenchmarkGemmPairs(b *testing.B) {
	const m, n, examples = 1000, 784, 256
	z, x, product := make([]float32, m*examples), make([]float32, n*examples), make([]float32, m*n)
	a, c, sum := make([]int32, m*examples/2), make([]int32, n*examples/2), make([]int32, m*n)
	var pool *Pool
	b.Run("float32", func(b *testing.B) {
		for b.Loop() {
			pool.Gemm(true, false, m, n, examples, 1, z, m, x, n, 0, product, n)
		}
	})
	b.Run("pairs", func(b *testing.B) {
		for b.Loop() {
			pool.GemmPairs(m, n, examples/2, a, c, sum)
		}
	})
}

func BenchmarkAddRounded(b *testing.B) {
	sum, row := make([]float64, 2048), make([]float32, 2048)
	for i := range row {
		row[i] = float32(i)
	}
	b.SetBytes(int64(4 * len(row)))
	for b.Loop() {
		AddRounded(sum, row, 0.37)
	}
}

// halfValue returns the number that a half stands for, by IEEE 754-2008, section 3.4.
func halfValue(h uint16) float64 {
	exponent, fraction := int(h>>10&31), float64(h&1023)/1024
	value := math.Ldexp(1+fraction, exponent-15)
	if exponent == 0 {
		value = math.Ldexp(fraction, -14)
	}
	return math.Copysign(value, 1-2*float64(h>>15))
}

// TestFromHalves converts every half there is, at every alignment of blocks and rests.
func TestFromHalves(t *testing.T) {
	all := make([]uint16, 1<<16)
	for h := range all {
		all[h] = uint16(h)
	}
	onEachKernelSet(t, func(t *testing.T) {
		for _, from := range []int{0, 1, 5, 15, len(all) - 3} {
			dst := make([]float32, len(all)-from+1)
			dst[len(all)-from] = 7
			FromHalves(dst, all[from:])
			for i, h := range all[from:] {
				want := float32(halfValue(h))
				switch {
				case h&0x7c00 != 0x7c00:
				case h&0x03ff == 0:
					want = float32(math.Inf(1 - 2*int(h>>15)))
				default: // a NaN keeps sign and payload, and is quiet
					want = math.Float32frombits(uint32(h&0x8000)<<16 | 0x7fc00000 | uint32(h&0x03ff)<<13)
				}
				if math.Float32bits(dst[i]) != math.Float32bits(want) {
					t.Fatalf("half %#04x becomes %#08x, expected %#08x", h, math.Float32bits(dst[i]), math.Float32bits(want))
				}
			}
			if dst[len(all)-from] != 7 {
				t.Fatal("a value beyond the last half is written")
			}
		}
	})
}

// TestToHalves rounds every half, what is halfway between two neighbours, and the float32 numbers
// next to both: the only places where the result can change.
func TestToHalves(t *testing.T) {
	var src []float32
	var want []uint16
	add := func(v float32, h uint16) {
		src, want = append(src, v, -v), append(want, h, h|0x8000)
	}
	for h := range uint16(0x7c00) {
		value, next := halfValue(h), 65536.0 // what would follow the largest
		if h < 0x7bff {
			next = halfValue(h + 1)
		}
		middle := float32((value + next) / 2) // exact
		above, below := math.Nextafter32(middle, math.MaxFloat32), math.Nextafter32(middle, 0)
		add(float32(value), h)
		add(math.Nextafter32(float32(value), math.MaxFloat32), h)
		add(below, h)
		add(middle, h+h&1)
		add(above, h+1)
		add(math.Nextafter32(float32(next), 0), h+1)
	}
	add(math.MaxFloat32, 0x7c00)
	add(inf32, 0x7c00)
	add(math.SmallestNonzeroFloat32, 0)
	for payload := uint32(1); payload < 1<<23; payload = payload*3 + 1 {
		add(math.Float32frombits(0x7f800000|payload), 0x7e00|uint16(payload>>13))
	}
	onEachKernelSet(t, func(t *testing.T) {
		for _, from := range []int{0, 1, 7, len(src) - 3} {
			dst := make([]uint16, len(src)-from+1)
			dst[len(src)-from] = 7
			ToHalves(dst, src[from:])
			for i, v := range src[from:] {
				if dst[i] != want[from+i] {
					t.Fatalf("%v (%#08x) becomes %#04x, expected %#04x", v, math.Float32bits(v), dst[i], want[from+i])
				}
			}
			if dst[len(src)-from] != 7 {
				t.Fatal("a value beyond the last is written")
			}
		}
	})
}
