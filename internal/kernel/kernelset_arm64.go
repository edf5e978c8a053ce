package kernel

import "math"

// The kernel set of arm64: what calls the generated functions with the slices of a kernelSet.

// neonKernel is portableKernel with vectors of 128 bits where they save most.
var neonKernel = func() kernelSet {
	k := portableKernel
	k.name, k.tileRows, k.tileCols = "neon", 8, 12
	k.panel = neonTiles.panel
	k.ofPairs = &kernelSet{tileRows: k.tileRows, tileCols: k.tileCols, panel: neonPairs.panel, transpose: transposeNEON}
	k.dots = nil // tiles are narrow enough for few columns
	k.multiplyAdds = multiplyAdder{multiplyAddsNEON, 4 * 24}
	k.transpose = transposeNEON
	k.sumSquares = sumInBlocks(reduceBlock, sumSquaresNEON, portableSumSquares)
	k.addRounded = addRoundedInBlocks(reduceBlock, addRoundedNEON, portableAddRounded)
	k.round, k.pair = roundBlocksNEON, pairInBlocks(pairNEON)
	k.addShifted = shiftedInBlocks(reduceBlock, addShiftedNEON, shiftedNEON)
	k.split, k.addRoundedNormals = splitBlocksNEON, addRoundedNormalsBlocksNEON
	return k
}()

func roundBlocksNEON(dst []int16, src []float32, scale float32) (squares float64, largest float32) {
	whole := len(src) / reduceBlock * reduceBlock
	if whole > 0 {
		var exact int64
		exact, largest = roundNEON(whole/reduceBlock, &dst[0], &src[0], scale)
		squares = float64(exact)
	}
	more, larger := portableRound(dst[whole:], src[whole:], scale)
	if largest-largest != 0 {
		return math.NaN(), largest
	}
	return squares + more, max(largest, larger)
}

func splitBlocksNEON(whole, rest []float64, x []int64, digits int) {
	n := len(x) / reduceBlock * reduceBlock
	if n > 0 {
		splitNEON(n/reduceBlock, &whole[0], &rest[0], &x[0], digits, 1<<digits>>1, math.Ldexp(1, -digits))
	}
	portableSplit(whole[n:], rest[n:], x[n:], digits)
}

func addRoundedNormalsBlocksNEON(dst, sum, rest []float64, words []uint64, doubts []uint8, deviation, spacing float64) {
	if len(dst) > 0 {
		addRoundedNormalsNEON(len(doubts), &dst[0], &sum[0], &rest[0], &words[0], &doubts[0], deviation, certainty(deviation), spacing)
	}
}
