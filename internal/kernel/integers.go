package kernel

import "math"

// Float32 values to integers. The sums that leave the trainer are sums of integers: these are the
// kernels that make integers of gradients. Rounding is to nearest, ties to even.

// AddRounded rounds scale·row[i], a float32, to an integer, adds it to sum[i], and returns the sum
// of the squares of these integers, which is exact below 2^53. What no int32 holds, NaN included,
// becomes -2^31: a sum of squares below 2^62 says that every value was rounded. Sums wrap around.
// It panics when sum is shorter than row.
func AddRounded(sum []int32, row []float32, scale float32) (squares float64) {
	return active.addRounded(sum[:len(row)], row, scale)
}

// Round writes the integers nearest to the float32 numbers scale·src[i] to dst, as float32, and
// returns the sum of their squares in float64 and the largest of their magnitudes. The sum of
// squares is exact below 2^53; it is not finite if a value of src is not, and then the largest
// magnitude means nothing. It panics when dst is shorter than src.
func Round(dst, src []float32, scale float32) (squares float64, largest float32) {
	return active.round(dst[:len(src)], src, scale)
}

// AccumulateInt32 adds x to dst. It panics when dst is shorter than x.
func AccumulateInt32(dst []float64, x []int32) { active.accumulateInt32(dst[:len(x)], x) }

func portableAddRounded(sum []int32, row []float32, scale float32) (squares float64) {
	for i, v := range row {
		c := toInt32(float32(scale * v))
		sum[i] += c
		squares += float64(c) * float64(c)
	}
	return squares
}

// toInt32 is the conversion of x86: to nearest, and -2^31 for what does not fit.
func toInt32(v float32) int32 {
	r := math.RoundToEven(float64(v))
	if !(r >= math.MinInt32 && r <= math.MaxInt32) {
		return math.MinInt32
	}
	return int32(r)
}

func portableRound(dst, src []float32, scale float32) (squares float64, largest float32) {
	for i, v := range src {
		c := float32(math.RoundToEven(float64(float32(scale * v))))
		dst[i] = c
		squares += float64(c) * float64(c)
		largest = max(largest, c, -c)
	}
	return squares, largest
}

func portableAccumulateInt32(dst []float64, x []int32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] += float64(v)
	}
}
