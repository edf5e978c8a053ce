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
		maxWindowsAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.channels, 4*r.step, &x[0], &y[0], &where[0], at)
	}
	if left.first < r.channels {
		portableMaxWindows(left, y, where, x, at)
	}
}

func maxWindowsGradBlocksAVX2(r windowRun, dx, dy []float32, where []int32, at int32, keep bool) {
	blocks, left := r.blocks()
	if blocks > 0 {
		maxWindowsGradAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.channels, 4*r.step, &dx[0], &dy[0], &where[0], at, oneIf(keep))
	}
	if left.first < r.channels {
		portableMaxWindowsGrad(left, dx, dy, where, at, keep)
	}
}

func sumWindowsBlocksAVX2(r windowRun, y, x []float32, scale float32) {
	blocks, left := r.blocks()
	if blocks > 0 {
		sumWindowsAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.channels, 4*r.step, &x[0], &y[0], scale)
	}
	if left.first < r.channels {
		portableSumWindows(left, y, x, scale)
	}
}

func sumWindowsGradBlocksAVX2(r windowRun, dx, dy []float32, scale float32, keep bool) {
	blocks, left := r.blocks()
	if blocks > 0 {
		sumWindowsGradAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.channels, 4*r.step, &dx[0], &dy[0], scale, oneIf(keep))
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

// The generated functions of amd64 for products.

var avx2Tiles = tileSet{[]int{16, 15, 8}, []tileFunc{
	tileAVX2Full1, tileAVX2Full2, tileAVX2Full3, tileAVX2Full4, tileAVX2Full5, tileAVX2Full6,
	tileAVX2Long1, tileAVX2Long2, tileAVX2Long3, tileAVX2Long4, tileAVX2Long5, tileAVX2Long6,
	tileAVX2Short1, tileAVX2Short2, tileAVX2Short3, tileAVX2Short4, tileAVX2Short5, tileAVX2Short6,
}}

var avx512Tiles = tileSet{[]int{32, 31, 16}, []tileFunc{
	tileAVX512Full1, tileAVX512Full2, tileAVX512Full3, tileAVX512Full4, tileAVX512Full5, tileAVX512Full6,
	tileAVX512Full7, tileAVX512Full8, tileAVX512Full9, tileAVX512Full10, tileAVX512Full11, tileAVX512Full12,
	tileAVX512Long1, tileAVX512Long2, tileAVX512Long3, tileAVX512Long4, tileAVX512Long5, tileAVX512Long6,
	tileAVX512Long7, tileAVX512Long8, tileAVX512Long9, tileAVX512Long10, tileAVX512Long11, tileAVX512Long12,
	tileAVX512Short1, tileAVX512Short2, tileAVX512Short3, tileAVX512Short4, tileAVX512Short5, tileAVX512Short6,
	tileAVX512Short7, tileAVX512Short8, tileAVX512Short9, tileAVX512Short10, tileAVX512Short11, tileAVX512Short12,
}}

// avx2Pairs is avx2Tiles for words that hold pairs of integers, see GemmPairs.
var avx2Pairs = tileSet{[]int{16, 15, 8}, []tileFunc{
	pairsAVX2Full1, pairsAVX2Full2, pairsAVX2Full3, pairsAVX2Full4, pairsAVX2Full5, pairsAVX2Full6,
	pairsAVX2Long1, pairsAVX2Long2, pairsAVX2Long3, pairsAVX2Long4, pairsAVX2Long5, pairsAVX2Long6,
	pairsAVX2Short1, pairsAVX2Short2, pairsAVX2Short3, pairsAVX2Short4, pairsAVX2Short5, pairsAVX2Short6,
}}

var avx512Pairs = tileSet{[]int{32, 31, 16}, []tileFunc{
	pairsAVX512Full1, pairsAVX512Full2, pairsAVX512Full3, pairsAVX512Full4, pairsAVX512Full5, pairsAVX512Full6,
	pairsAVX512Full7, pairsAVX512Full8, pairsAVX512Full9, pairsAVX512Full10, pairsAVX512Full11, pairsAVX512Full12,
	pairsAVX512Long1, pairsAVX512Long2, pairsAVX512Long3, pairsAVX512Long4, pairsAVX512Long5, pairsAVX512Long6,
	pairsAVX512Long7, pairsAVX512Long8, pairsAVX512Long9, pairsAVX512Long10, pairsAVX512Long11, pairsAVX512Long12,
	pairsAVX512Short1, pairsAVX512Short2, pairsAVX512Short3, pairsAVX512Short4, pairsAVX512Short5, pairsAVX512Short6,
	pairsAVX512Short7, pairsAVX512Short8, pairsAVX512Short9, pairsAVX512Short10, pairsAVX512Short11, pairsAVX512Short12,
}}

// dotSet holds the generated functions of one instruction set that multiply rows: tile for
// rows×dotCols products, row for 1×dotCols, column for rows×1, single for one. Each row of A and B
// is blocks vectors of lanes values.
type dotSet struct {
	lanes, rows               int
	tile, row, column, single func(blocks int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int)
}

// dotCols is how many rows of B meet the rows of A in a tile.
const dotCols = 5

// products implements kernelSet.dots. The caller has checked the bounds.
func (s *dotSet) products(c []float32, ldc, rows, cols, k int, a []float32, lda int, b []float32, ldb int) {
	for i, height := 0, 0; i < rows; i += height {
		several, one := s.row, s.single
		if height = 1; rows-i >= s.rows {
			several, one, height = s.tile, s.column, s.rows
		}
		for j, width := 0, 0; j < cols; j += width {
			tile := one
			if width = 1; cols-j >= dotCols {
				tile, width = several, dotCols
			}
			tile(k/s.lanes, &a[i*lda], lda, &b[j*ldb], ldb, &c[i*ldc+j], ldc)
		}
	}
}

var avx2Dots = dotSet{
	lanes: 8, rows: 2,
	tile: dotsAVX2Tile, row: dotsAVX2Row, column: dotsAVX2Column, single: dotsAVX2Single,
}

var avx512Dots = dotSet{
	lanes: 16, rows: 4,
	tile: dotsAVX512Tile, row: dotsAVX512Row, column: dotsAVX512Column, single: dotsAVX512Single,
}
