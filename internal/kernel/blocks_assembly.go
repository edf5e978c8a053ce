//go:build amd64 || arm64

package kernel

import "math"

// What calls generated functions for the whole blocks of slices, and others for what is left.

// reduceBlock counts the elements that many generated functions take at a time.
const reduceBlock = 16

// sumInBlocks returns a function that calls f for the whole blocks of x and rest for what is left.
func sumInBlocks(block int, f func(blocks int, x *float32) float64, rest func([]float32) float64) func([]float32) float64 {
	return func(x []float32) (sum float64) {
		whole := len(x) / block * block
		if whole > 0 {
			sum = f(whole/block, &x[0])
		}
		return sum + rest(x[whole:])
	}
}

// addRounder is the type of kernelSet.addRounded.
type addRounder func(sum []float64, row []float32, scale float32) (squares float64)

// addRoundedInBlocks returns an addRounder that calls f for the whole blocks of row and rest for
// what is left.
func addRoundedInBlocks(block int, f func(blocks int, sum *float64, row *float32, scale float32) float64, rest addRounder) addRounder {
	return func(sum []float64, row []float32, scale float32) (squares float64) {
		whole := len(row) / block * block
		if whole > 0 {
			squares = f(whole/block, &sum[0], &row[0], scale)
		}
		return squares + rest(sum[whole:], row[whole:], scale)
	}
}

// shiftedInBlocks returns a kernelSet.addShifted that calls add or put for the whole blocks of x.
func shiftedInBlocks(block int, add, put func(blocks int, dst *int64, x *int32, shift int)) func(dst []int64, x []int32, shift int, first bool) {
	return func(dst []int64, x []int32, shift int, first bool) {
		whole := len(x) / block * block
		if whole > 0 && first {
			put(whole/block, &dst[0], &x[0], shift)
		} else if whole > 0 {
			add(whole/block, &dst[0], &x[0], shift)
		}
		portableAddShifted(dst[whole:], x[whole:], shift, first)
	}
}

// pairInBlocks returns a kernelSet.pair that calls f for the whole blocks.
func pairInBlocks(f func(blocks int, dst *int32, first, second *int16)) func(dst []int32, first, second []int16) {
	return func(dst []int32, first, second []int16) {
		whole := len(dst) / reduceBlock * reduceBlock
		if whole > 0 {
			f(whole/reduceBlock, &dst[0], &first[0], &second[0])
		}
		portablePair(dst[whole:], first[whole:], second[whole:])
	}
}

// intRounder is the type of kernelSet.round.
type intRounder func(dst []int16, src []float32, scale float32) (squares float64, largest float32)

// roundInBlocks returns a kernelSet.round that calls f for the whole blocks of src and rest for what
// is left.
func roundInBlocks(block int, f func(blocks int, dst *int16, src *float32, scale float32) (squares int64, largest float32), rest intRounder) intRounder {
	return func(dst []int16, src []float32, scale float32) (squares float64, largest float32) {
		whole := len(src) / block * block
		if whole > 0 {
			var exact int64
			exact, largest = f(whole/block, &dst[0], &src[0], scale)
			squares = float64(exact)
		}
		more, larger := rest(dst[whole:], src[whole:], scale)
		if largest-largest != 0 {
			return math.NaN(), largest
		}
		return squares + more, max(largest, larger)
	}
}

// splitInBlocks returns a kernelSet.split that calls f for the whole blocks.
func splitInBlocks(block int, f func(blocks int, whole, rest *float64, x *int64, digits int, half int64, unit float64)) func(whole, rest []float64, x []int64, digits int) {
	return func(whole, rest []float64, x []int64, digits int) {
		n := len(x) / block * block
		if n > 0 {
			f(n/block, &whole[0], &rest[0], &x[0], digits, 1<<digits>>1, math.Ldexp(1, -digits))
		}
		portableSplit(whole[n:], rest[n:], x[n:], digits)
	}
}

// normalsInBlocks returns a kernelSet.addRoundedNormals that calls f unless there are none.
func normalsInBlocks(f func(blocks int, dst, sum, rest *float64, words *uint64, doubts *uint8, deviation, certainty, spacing float64)) func(dst, sum, rest []float64, words []uint64, doubts []uint8, deviation, spacing float64) {
	return func(dst, sum, rest []float64, words []uint64, doubts []uint8, deviation, spacing float64) {
		if len(dst) > 0 {
			f(len(doubts), &dst[0], &sum[0], &rest[0], &words[0], &doubts[0], deviation, certainty(deviation), spacing)
		}
	}
}
