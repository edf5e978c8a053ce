package kernel

import "math"

// Float32 values to integers. The sums that leave the trainer are sums of integers: these are the
// kernels that make integers of gradients. Rounding is to nearest, ties to even.

// AddRounded rounds scale·row[i], a float32, to an integer, adds it to sum[i], and returns the sum
// of the squares of these integers in float64: exact below 2^53, and at most 2^-20 of itself less
// than it should be above, for up to 2^32 values. squares is not finite if a value of row is not.
// It panics when sum is shorter than row.
func AddRounded(sum []float64, row []float32, scale float32) (squares float64) {
	return active.addRounded(sum[:len(row)], row, scale)
}

// Round writes the integers nearest to the float32 numbers scale·src[i] to dst and returns the sum
// of their squares, exact below 2^53, and the largest of their magnitudes. If that is above
// [MostOfPair], dst cannot hold the integer, and neither dst nor squares means anything. squares is
// not finite if a number scale·src[i] is not, and then nothing else means anything. It panics when
// dst is shorter than src.
func Round(dst []int16, src []float32, scale float32) (squares float64, largest float32) {
	return active.round(dst[:len(src)], src, scale)
}

func portableAddRounded(sum []float64, row []float32, scale float32) (squares float64) {
	for i, v := range row {
		c := math.RoundToEven(float64(float32(scale * v)))
		sum[i] += c
		squares += float64(c * c)
	}
	return squares
}

func portableRound(dst []int16, src []float32, scale float32) (squares float64, largest float32) {
	for i, v := range src {
		c := float32(math.RoundToEven(float64(float32(scale * v))))
		dst[i] = int16(c)
		squares += float64(c) * float64(c)
		largest = max(largest, c, -c)
	}
	return squares, largest
}
