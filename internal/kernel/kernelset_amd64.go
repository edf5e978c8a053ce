package kernel

import "golang.org/x/sys/cpu"

// The kernel sets of amd64: what calls the generated functions with the slices of a
// kernelSet and leaves to the portable twins what is no whole block.

// avx2Kernel is the kernel set for processors with AVX2, FMA and F16C.
var avx2Kernel = kernelSet{
	name:              "avx2",
	tileRows:          6,
	tileCols:          16,
	panel:             avx2Tiles.panel,
	ofPairs:           &kernelSet{tileRows: 6, tileCols: 16, panel: avx2Pairs.panel, transpose: transposeAVX2},
	dots:              avx2Dots.products,
	multiplyAdds:      multiplyAdder{multiplyAddsAVX2, 8 * vectorChains},
	transpose:         transposeAVX2,
	copyRuns:          copyRunsVectorsAVX2,
	exp:               map1(expAVX2),
	relu:              map1(reluAVX2),
	reluGrad:          map2(reluGradAVX2),
	tanh:              map1(tanhAVX2),
	tanhGrad:          map2(tanhGradAVX2),
	sigmoid:           map1(sigmoidAVX2),
	sigmoidGrad:       map2(sigmoidGradAVX2),
	silu:              map1(siluAVX2),
	siluGrad:          map2(siluGradAVX2),
	gelu:              map1(geluAVX2),
	geluGrad:          map2(geluGradAVX2),
	add:               map2(addAVX2),
	axpy:              scaled(axpyAVX2),
	addBias:           rows1(addBiasAVX2),
	scaleChannels:     rows1(scaleChannelsAVX2),
	scaleShift:        rows2(scaleShiftAVX2),
	groupNorm:         groupNormColumnsAVX2,
	groupNormGrad:     groupNormGradColumnsAVX2,
	sumRows:           sumRowsColumnsAVX2,
	sumSquares:        sumInBlocks(reduceBlock, sumSquaresAVX2, portableSumSquares),
	addRounded:        addRoundedInBlocks(reduceBlock, addRoundedAVX2, portableAddRounded),
	round:             roundBlocksAVX2,
	pair:              pairInBlocks(pairAVX2),
	addShifted:        shiftedInBlocks(reduceBlock, addShiftedAVX2, shiftedAVX2),
	maxWindows:        maxWindowsBlocksAVX2,
	maxWindowsGrad:    maxWindowsGradBlocksAVX2,
	sumWindows:        sumWindowsBlocksAVX2,
	sumWindowsGrad:    sumWindowsGradBlocksAVX2,
	winograd:          &avx2Winograd,
	gramRow:           gramRowBlocksAVX2,
	addRoundedNormals: normalsInBlocks(addRoundedNormalsAVX2),
	split:             portableSplit, // AVX2 has no conversions of 64 bits
	momentum:          momentumBlocksAVX2,
	descend:           descendBlocksAVX2,
	addExcess:         excessInBlocks(8, addExcessAVX2),
	fromHalves:        inBlocks(reduceBlock, fromHalvesAVX2, portableFromHalves),
	toHalves:          inBlocks(reduceBlock, toHalvesAVX2, portableToHalves),
}

// avx512Kernel is avx2Kernel with products, integers and noise on AVX512F, DQ and BW; the
// rest is bound by memory sooner than by arithmetic.
var avx512Kernel = func() kernelSet {
	k := avx2Kernel
	k.name, k.tileRows, k.tileCols = "avx512", 12, 32
	k.panel = avx512Tiles.panel
	if cpu.X86.HasAVX512VNNI {
		k.ofPairs = &kernelSet{tileRows: k.tileRows, tileCols: k.tileCols, panel: avx512Pairs.panel, transpose: transposeAVX2}
	}
	k.dots = avx512Dots.products
	k.multiplyAdds = multiplyAdder{multiplyAddsAVX512, 16 * vectorChains}
	k.addRounded = addRoundedInBlocks(wideBlock, addRoundedAVX512, avx2Kernel.addRounded)
	k.addExcess = excessInBlocks(16, addExcessAVX512)
	k.round = roundInBlocks(wideBlock, roundAVX512, roundBlocksAVX2)
	k.addShifted = shiftedInBlocks(wideBlock, addShiftedAVX512, shiftedAVX512)
	k.addRoundedNormals = normalsInBlocks(addRoundedNormalsAVX512)
	k.split = splitInBlocks(8, splitAVX512)
	if cpu.X86.HasAES && cpu.X86.HasAVX512VAES {
		k.expandKey, k.encryptCounters = expandKeyAES, encryptCountersAVX512
	}
	return k
}()

// amxKernel is avx512Kernel with large products on AMX.
var amxKernel = func() kernelSet {
	k, pairs := avx512Kernel, *avx512Kernel.ofPairs
	k.name = "amx"
	large := kernelSet{tileRows: splitTile, tileCols: splitTile, transpose: k.transpose}
	k.large, pairs.large, k.ofPairs = &large, new(kernelSet), &pairs
	*pairs.large = large
	k.large.splits = &splitSet{3, 0, 128, 256, splitFloatAMX, turnFloatAMX, productFloatAMX, mergeFloatAMX}
	pairs.large.splits = &splitSet{2, 64, 64, 64, splitPairsAMX, turnPairsAMX, productPairsAMX, mergePairsAMX}
	return k
}()

// vectorChains counts the independent sums in the generated loops of multiplyAdds.
const vectorChains = 12

// inBlocks returns a function that calls f for the whole blocks of x and rest for what is left.
func inBlocks[D, S any](block int, f func(blocks int, dst *D, x *S), rest func(dst []D, x []S)) func(dst []D, x []S) {
	return func(dst []D, x []S) {
		whole := len(x) / block * block
		if whole > 0 {
			f(whole/block, &dst[0], &x[0])
		}
		rest(dst[whole:], x[whole:])
	}
}

// excessInBlocks returns a kernelSet.addExcess that calls f for the columns in whole blocks.
func excessInBlocks(block int, f func(blocks, rows, stride int, above, below, otherAbove, otherBelow *float32, x, y *int32, scale, low, high *float32)) func(sums, differences Excess, x, y []int32, scale, low, high []float32) {
	return func(sums, differences Excess, x, y []int32, scale, low, high []float32) {
		columns := len(low)
		if columns >= block {
			f(columns/block, len(scale), 4*columns, &sums.Above[0], &sums.Below[0],
				&differences.Above[0], &differences.Below[0], &x[0], &y[0], &scale[0], &low[0], &high[0])
		}
		addExcessFrom(columns/block*block, sums, differences, x, y, scale, low, high)
	}
}

// wideBlock counts the elements that the reductions on AVX-512 take at a time.
const wideBlock = 2 * reduceBlock

func roundBlocksAVX2(dst []int16, src []float32, scale float32) (squares float64, largest float32) {
	whole := len(src) / reduceBlock * reduceBlock
	if whole > 0 {
		squares, largest = roundAVX2(whole/reduceBlock, &dst[0], &src[0], scale)
	}
	if whole == len(src) {
		return squares, largest
	}
	var from [reduceBlock]float32 // what is left, and zeros
	var to [reduceBlock]int16
	copy(from[:], src[whole:])
	more, larger := roundAVX2(1, &to[0], &from[0], scale)
	copy(dst[whole:], to[:])
	return squares + more, max(largest, larger)
}

// transposeAVX2 implements kernelSet.transpose: bands of 8, 6 or 4 rows, 8 columns at a
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

// copyRunsVectorsAVX2 implements kernelSet.copyRuns; runs too short for a vector are left
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

func momentumBlocksAVX2(p, v []float32, sum []float64, m Momentum) {
	step := momentumAVX2
	if m.Nesterov {
		step = nesterovAVX2
	}
	whole := len(p) / 4 * 4
	if whole > 0 {
		step(whole/4, &p[0], &v[0], &sum[0], m.PerBatch, m.Decay, m.Mu, m.Rate)
	}
	portableMomentum(p[whole:], v[whole:], sum[whole:], m)
}

func descendBlocksAVX2(p []float32, sum []float64, perBatch, decay, rate float64) {
	whole := len(p) / 4 * 4
	if whole > 0 {
		descendAVX2(whole/4, &p[0], &sum[0], perBatch, decay, rate)
	}
	portableDescend(p[whole:], sum[whole:], perBatch, decay, rate)
}

// transformLanes divides the length of the vectors of avx2Winograd.
const transformLanes = 8

var avx2Winograd = winogradSet{
	window6:   onTiles(6, 6, winogradWindow6AVX2),
	filter6:   onTiles(3, 6, winogradFilter6AVX2),
	output6:   onTiles(6, 4, winogradOutput6AVX2),
	window4:   onTiles(4, 4, winogradWindow4AVX2),
	filter4:   onTiles(3, 4, winogradFilter4AVX2),
	output4:   onTiles(4, 2, winogradOutput4AVX2),
	gradient4: onTiles(4, 3, winogradGradient4AVX2),
	delta4: func(scale float32, tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
		from := checkTiles(tiles, n, 4, dst, dstStride, dstStep, src[:2], srcStep)
		winogradDelta4AVX2(tiles, n, &dst[0], dstStride, dstStep, &from, srcStep, scale)
	},
}

func gramRowBlocksAVX2(offsets []int, base, v []float32) (sum, magnitude float64) {
	blocks := len(v) / gramBlock
	if blocks == 0 || len(offsets) == 0 {
		return 0, 0
	}
	for _, offset := range offsets {
		_ = base[offset : offset+blocks*gramBlock]
	}
	return gramRowAVX2(blocks, len(offsets), &offsets[0], &base[0], &v[0])
}

// blocks returns how many whole blocks of eight channels r has, and the run of the channels left.
func (r windowRun) blocks() (blocks int, left windowRun) {
	left, blocks = r, r.channels/8
	left.first = 8 * blocks
	return blocks, left
}

func maxWindowsBlocksAVX2(r windowRun, y []float32, where []int32, x []float32, at int32) {
	blocks, left := r.blocks()
	if blocks > 0 {
		maxWindowsAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.colStride, 4*r.step, &x[0], &y[0], &where[0], at)
	}
	if left.first < r.channels {
		portableMaxWindows(left, y, where, x, at)
	}
}

func maxWindowsGradBlocksAVX2(r windowRun, dx, dy []float32, where []int32, at int32, keep bool) {
	blocks, left := r.blocks()
	if blocks > 0 {
		maxWindowsGradAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.colStride, 4*r.step, &dx[0], &dy[0], &where[0], at, oneIf(keep))
	}
	if left.first < r.channels {
		portableMaxWindowsGrad(left, dx, dy, where, at, keep)
	}
}

func sumWindowsBlocksAVX2(r windowRun, y, x []float32, scale float32) {
	blocks, left := r.blocks()
	if blocks > 0 {
		sumWindowsAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.colStride, 4*r.step, &x[0], &y[0], scale)
	}
	if left.first < r.channels {
		portableSumWindows(left, y, x, scale)
	}
}

func sumWindowsGradBlocksAVX2(r windowRun, dx, dy []float32, scale float32, keep bool) {
	blocks, left := r.blocks()
	if blocks > 0 {
		sumWindowsGradAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.colStride, 4*r.step, &dx[0], &dy[0], scale, oneIf(keep))
	}
	if left.first < r.channels {
		portableSumWindowsGrad(left, dx, dy, scale, keep)
	}
}

func oneIf(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
