package kernel

// The kernel sets of amd64: what calls the generated functions with the slices of a
// kernelSet and leaves to the portable twins what is no whole block.

// avx2Kernel needs AVX2, FMA and F16C.
var avx2Kernel = withAVX2(kernelSet{
	name: "avx2", tileRows: 6, tileCols: 16,
	panel: func(a blockA, b blockB, c blockC, alpha, beta float32) {
		avx2Tiles.panel(a, b, c, alpha, beta)
	},
})

// avx512Kernel has products, squares, integers and noise on AVX-512, with AVX512F and
// AVX512DQ; the rest is bound by memory sooner than by arithmetic.
var avx512Kernel = withAVX512(withAVX2(kernelSet{
	name: "avx512", tileRows: 12, tileCols: 32,
	panel: func(a blockA, b blockB, c blockC, alpha, beta float32) {
		avx512Tiles.panel(a, b, c, alpha, beta)
	},
}))

func withAVX512(k kernelSet) kernelSet {
	k.addRounded = addRoundedBlocksAVX512
	k.round = roundBlocksAVX512
	k.sumSquares = sumSquaresBlocksAVX512
	k.addRoundedNormals = addRoundedNormalsBlocksAVX512
	return k
}

// withAVX2 adds to k everything but the products.
func withAVX2(k kernelSet) kernelSet {
	k.transpose = transposeAVX2
	k.copyRuns = copyRunsVectorsAVX2
	k.exp = map1(expAVX2)
	k.relu = map1(reluAVX2)
	k.reluGrad = map2(reluGradAVX2)
	k.tanh = map1(tanhAVX2)
	k.tanhGrad = map2(tanhGradAVX2)
	k.sigmoid = map1(sigmoidAVX2)
	k.sigmoidGrad = map2(sigmoidGradAVX2)
	k.silu = map1(siluAVX2)
	k.siluGrad = map2(siluGradAVX2)
	k.gelu = map1(geluAVX2)
	k.geluGrad = map2(geluGradAVX2)
	k.add = map2(addAVX2)
	k.axpy = func(y []float32, alpha float32, x []float32) {
		if len(x) > 0 {
			axpyAVX2(len(x), &y[0], &y[0], &x[0], alpha)
		}
	}
	k.addBias = rows1(addBiasAVX2)
	k.scaleChannels = rows1(scaleChannelsAVX2)
	k.scaleShift = func(z, x, gain, shift []float32) {
		if len(z) > 0 {
			scaleShiftAVX2(len(z), len(gain), &z[0], &x[0], &gain[0], &shift[0])
		}
	}
	k.groupNorm = groupNormColumnsAVX2
	k.groupNormGrad = groupNormGradColumnsAVX2
	k.sumRows = sumRowsColumnsAVX2
	k.sumSquares = sumSquaresBlocksAVX2
	k.accumulateFloat64 = accumulateBlocksAVX2
	k.addExcess = addExcessBlocksAVX2
	k.addRounded = addRoundedBlocksAVX2
	k.round = roundBlocksAVX2
	k.accumulateInt32 = accumulateInt32BlocksAVX2
	k.fromHalves = fromHalvesBlocksAVX2
	k.toHalves = toHalvesBlocksAVX2
	k.maxWindows = maxWindowsBlocksAVX2
	k.maxWindowsGrad = maxWindowsGradBlocksAVX2
	k.sumWindows = sumWindowsBlocksAVX2
	k.sumWindowsGrad = sumWindowsGradBlocksAVX2
	k.winograd = &avx2Winograd
	k.gramRow = gramRowBlocksAVX2
	k.addRoundedNormals = addRoundedNormalsBlocksAVX2
	k.momentum = momentumBlocksAVX2
	k.descend = descendBlocksAVX2
	return k
}

// map1 and map2 call a generated function on slices of equal length.
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

// rows1 calls a generated function on rows as long as the last slice.
func rows1(f func(n, channels int, y, x, perChannel *float32)) func(y, x, perChannel []float32) {
	return func(y, x, perChannel []float32) {
		if len(y) > 0 {
			f(len(y), len(perChannel), &y[0], &x[0], &perChannel[0])
		}
	}
}

// reduceBlock is how many elements the generated reductions take at a time.
const reduceBlock = 16

func sumSquaresBlocksAVX2(x []float32) float64 {
	var sum float64
	whole := len(x) / reduceBlock * reduceBlock
	if whole > 0 {
		sum = sumSquaresAVX2(whole/reduceBlock, &x[0])
	}
	return sum + portableSumSquares(x[whole:])
}

func sumSquaresBlocksAVX512(x []float32) float64 {
	var sum float64
	whole := len(x) / wideBlock * wideBlock
	if whole > 0 {
		sum = sumSquaresAVX512(whole/wideBlock, &x[0])
	}
	return sum + sumSquaresBlocksAVX2(x[whole:])
}

func accumulateBlocksAVX2(dst []float64, x []float32) {
	whole := len(x) / reduceBlock * reduceBlock
	if whole > 0 {
		accumulateFloat64AVX2(whole/reduceBlock, &dst[0], &x[0])
	}
	portableAccumulateFloat64(dst[whole:], x[whole:])
}

func addExcessBlocksAVX2(sums, differences Excess, x, y, scale, low, high []float32) {
	columns := len(low)
	if columns >= 8 {
		addExcessAVX2(columns/8, len(scale), 4*columns, &sums.Above[0], &sums.Below[0],
			&differences.Above[0], &differences.Below[0], &x[0], &y[0], &scale[0], &low[0], &high[0])
	}
	addExcessFrom(columns/8*8, sums, differences, x, y, scale, low, high)
}

func addRoundedBlocksAVX2(sum []int32, row []float32, scale float32) (squares float64) {
	whole := len(row) / reduceBlock * reduceBlock
	if whole > 0 {
		squares = addRoundedAVX2(whole/reduceBlock, &sum[0], &row[0], scale)
	}
	return squares + portableAddRounded(sum[whole:], row[whole:], scale)
}

// wideBlock is how many elements those on AVX-512 take at a time.
const wideBlock = 2 * reduceBlock

func addRoundedBlocksAVX512(sum []int32, row []float32, scale float32) (squares float64) {
	whole := len(row) / wideBlock * wideBlock
	if whole > 0 {
		squares = addRoundedAVX512(whole/wideBlock, &sum[0], &row[0], scale)
	}
	return squares + addRoundedBlocksAVX2(sum[whole:], row[whole:], scale)
}

func roundBlocksAVX2(dst, src []float32, scale float32) (squares float64, largest float32) {
	whole := len(src) / reduceBlock * reduceBlock
	if whole > 0 {
		squares, largest = roundAVX2(whole/reduceBlock, &dst[0], &src[0], scale)
	}
	if whole == len(src) {
		return squares, largest
	}
	var from, to [reduceBlock]float32 // what is left, and zeros
	copy(from[:], src[whole:])
	more, larger := roundAVX2(1, &to[0], &from[0], scale)
	copy(dst[whole:], to[:])
	return squares + more, max(largest, larger)
}

func roundBlocksAVX512(dst, src []float32, scale float32) (squares float64, largest float32) {
	whole := len(src) / wideBlock * wideBlock
	if whole > 0 {
		squares, largest = roundAVX512(whole/wideBlock, &dst[0], &src[0], scale)
	}
	more, larger := roundBlocksAVX2(dst[whole:], src[whole:], scale)
	return squares + more, max(largest, larger)
}

func accumulateInt32BlocksAVX2(dst []float64, x []int32) {
	whole := len(x) / reduceBlock * reduceBlock
	if whole > 0 {
		accumulateInt32AVX2(whole/reduceBlock, &dst[0], &x[0])
	}
	portableAccumulateInt32(dst[whole:], x[whole:])
}

func fromHalvesBlocksAVX2(dst []float32, src []uint16) {
	whole := len(src) / reduceBlock * reduceBlock
	if whole > 0 {
		fromHalvesAVX2(whole/reduceBlock, &dst[0], &src[0])
	}
	portableFromHalves(dst[whole:], src[whole:])
}

func toHalvesBlocksAVX2(dst []uint16, src []float32) {
	whole := len(src) / reduceBlock * reduceBlock
	if whole > 0 {
		toHalvesAVX2(whole/reduceBlock, &dst[0], &src[0])
	}
	portableToHalves(dst[whole:], src[whole:])
}

// transposeAVX2 is kernelSet.transpose: bands of 8, 6 or 4 rows, 8 columns at a
// time, and what is left one value at a time.
func transposeAVX2(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	blocks := cols / 8
	done := 0
	for blocks > 0 && rows-done >= 4 {
		from, to := &src[done*srcStride], &dst[done]
		switch left := rows - done; {
		case left >= 8:
			transpose8AVX2(blocks, to, dstStride, from, srcStride)
			done += 8
		case left >= 6:
			transpose6AVX2(blocks, to, dstStride, from, srcStride)
			done += 6
		default:
			transpose4AVX2(blocks, to, dstStride, from, srcStride)
			done += 4
		}
	}
	if right := blocks * 8; right < cols && done > 0 {
		portableTranspose(dst[right*dstStride:], dstStride, src[right:], srcStride, done, cols-right)
	}
	if done < rows {
		portableTranspose(dst[done:], dstStride, src[done*srcStride:], srcStride, rows-done, cols)
	}
}

// copyRunsVectorsAVX2 is kernelSet.copyRuns; runs too short for a vector are left
// to the portable one.
func copyRunsVectorsAVX2(positions, rows, run int, dst, src []float32, step, pitch int) {
	_ = dst[positions*rows*run-1]
	_ = src[(positions-1)*step+(rows-1)*pitch+run-1]
	switch {
	case run >= 8:
		copyRuns8AVX2(positions, rows, run, &dst[0], &src[0], step, pitch)
	case run >= 4:
		copyRuns4AVX2(positions, rows, run, &dst[0], &src[0], step, pitch)
	default:
		portableCopyRuns(positions, rows, run, dst, src, step, pitch)
	}
}
