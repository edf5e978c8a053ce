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

// map1 and map2 return a function of slices of equal length, which calls f unless they are empty.
func map1(f func(n int, y, x *float32)) func(y, x []float32) {
	return func(y, x []float32) {
		if len(y) > 0 {
			f(len(y), &y[0], &x[0])
		}
	}
}

func map2(f func(n int, dx, y, dy *float32)) func(dx, y, dy []float32) {
	return func(dx, y, dy []float32) {
		if len(dx) > 0 {
			f(len(dx), &dx[0], &y[0], &dy[0])
		}
	}
}

// scaled returns a kernelSet.axpy that calls f unless x is empty.
func scaled(f func(n int, dst, y, x *float32, alpha float32)) func(y []float32, alpha float32, x []float32) {
	return func(y []float32, alpha float32, x []float32) {
		if len(x) > 0 {
			f(len(x), &y[0], &y[0], &x[0], alpha)
		}
	}
}

// rows1 and rows2 return a function of rows as long as its last slice, which calls f unless there
// are none.
func rows1(f func(n, channels int, y, x, perChannel *float32)) func(y, x, perChannel []float32) {
	return func(y, x, perChannel []float32) {
		if len(y) > 0 {
			f(len(y), len(perChannel), &y[0], &x[0], &perChannel[0])
		}
	}
}

func rows2(f func(n, channels int, y, x, gain, shift *float32)) func(y, x, gain, shift []float32) {
	return func(y, x, gain, shift []float32) {
		if len(y) > 0 {
			f(len(y), len(gain), &y[0], &x[0], &gain[0], &shift[0])
		}
	}
}

// onTiles returns a transform that checks its slices and calls f, of so many inputs and outputs.
func onTiles(inputs, outputs int, f func(tiles, n int, dst *float32, dstStride, dstStep int, src *[6]*float32, srcStep int)) tileTransform {
	return func(tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
		from := checkTiles(tiles, n, outputs, dst, dstStride, dstStep, src[:inputs], srcStep)
		f(tiles, n, &dst[0], dstStride, dstStep, &from, srcStep)
	}
}

// checkTiles panics where a generated function would leave its slices, and returns where its inputs
// begin.
func checkTiles(tiles, n, outputs int, dst []float32, dstStride, dstStep int, src [][]float32, srcStep int) (from [6]*float32) {
	if tiles < 1 || n < 1 || n%transformLanes != 0 {
		panic("kernel: transform of no tiles or of channels that are no multiple of a vector")
	}
	_ = dst[(tiles-1)*dstStep+(outputs-1)*dstStride+n-1]
	last := (tiles-1)*srcStep + n - 1
	for i, x := range src {
		from[i] = &x[:last+1][0]
	}
	return from
}

// The innermost loops of a product on vectors: which generated function computes which
// part of a panel.

// tileFunc is a generated function that computes C = alpha·A·B + beta·C for a number of tiles, one
// below the other; its name ends with the rows of a tile. Sums have k terms. In values, rs, cs and
// as lead from row to row, column to column and tile to tile of A, ldb and ldc from row to row of B
// and C. cols is the columns of C.
type tileFunc func(tiles, k int, a *float32, rs, cs, as int, b *float32, ldb int, c *float32, ldc, cols int, alpha, beta float32)

// tileSet holds the tileFuncs of one instruction set: for each width functions for 1, 2, … rows.
// widths are the most columns that each takes, the widest first.
type tileSet struct {
	widths []int
	funcs  []tileFunc
}

// panel implements kernelSet.panel. The callers have checked the bounds.
func (s *tileSet) panel(a blockA, b blockB, c blockC, alpha, beta float32) {
	height, width := len(s.funcs)/len(s.widths), len(s.widths)-1
	for s.widths[width] < c.cols {
		width--
	}
	funcs := s.funcs[width*height:]
	tiles, rest := c.rows/height, c.rows%height
	if tiles > 0 {
		funcs[height-1](tiles, c.depth, &a.data[0], a.rowStride, a.colStride, a.tileStride,
			&b.data[0], b.stride, &c.data[0], c.stride, c.cols, alpha, beta)
	}
	if rest > 0 {
		funcs[rest-1](1, c.depth, &a.data[tiles*a.tileStride], a.rowStride, a.colStride, a.tileStride,
			&b.data[0], b.stride, &c.data[tiles*height*c.stride], c.stride, c.cols, alpha, beta)
	}
}
