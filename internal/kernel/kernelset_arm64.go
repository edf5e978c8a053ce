package kernel

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
	k.round = roundInBlocks(reduceBlock, roundNEON, portableRound)
	k.pair = pairInBlocks(pairNEON)
	k.addShifted = shiftedInBlocks(reduceBlock, addShiftedNEON, shiftedNEON)
	k.split = splitInBlocks(reduceBlock, splitNEON)
	k.addRoundedNormals = normalsInBlocks(addRoundedNormalsNEON)
	k.exp, k.tanh, k.sigmoid, k.silu, k.gelu = map1(expNEON), map1(tanhNEON), map1(sigmoidNEON), map1(siluNEON), map1(geluNEON)
	k.tanhGrad, k.sigmoidGrad = map2(tanhGradNEON), map2(sigmoidGradNEON)
	k.siluGrad, k.geluGrad = map2(siluGradNEON), map2(geluGradNEON)
	k.relu, k.reluGrad, k.add = map1(reluNEON), map2(reluGradNEON), map2(addNEON)
	k.axpy = scaled(axpyNEON)
	k.addBias, k.scaleChannels = rows1(addBiasNEON), rows1(scaleChannelsNEON)
	k.scaleShift = rows2(scaleShiftNEON)
	k.winograd = &neonWinograd
	return k
}()

// transformLanes divides the length of the vectors of neonWinograd.
const transformLanes = 4

var neonWinograd = winogradSet{
	window6:   onTiles(6, 6, winogradWindow6NEON),
	filter6:   onTiles(3, 6, winogradFilter6NEON),
	output6:   onTiles(6, 4, winogradOutput6NEON),
	window4:   onTiles(4, 4, winogradWindow4NEON),
	filter4:   onTiles(3, 4, winogradFilter4NEON),
	output4:   onTiles(4, 2, winogradOutput4NEON),
	gradient4: onTiles(4, 3, winogradGradient4NEON),
	delta4: func(scale float32, tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
		from := checkTiles(tiles, n, 4, dst, dstStride, dstStep, src[:2], srcStep)
		winogradDelta4NEON(tiles, n, &dst[0], dstStride, dstStep, &from, srcStep, scale)
	},
}

// The generated functions of arm64 for products.

// neonWidths are the most columns of the functions of neonTiles and neonPairs.
var neonWidths = []int{12, 8, 4, 3, 2, 1}

var neonTiles = tileSet{neonWidths, []tileFunc{
	tileNEONThree1, tileNEONThree2, tileNEONThree3, tileNEONThree4, tileNEONThree5, tileNEONThree6, tileNEONThree7, tileNEONThree8,
	tileNEONTwo1, tileNEONTwo2, tileNEONTwo3, tileNEONTwo4, tileNEONTwo5, tileNEONTwo6, tileNEONTwo7, tileNEONTwo8,
	tileNEONOne1, tileNEONOne2, tileNEONOne3, tileNEONOne4, tileNEONOne5, tileNEONOne6, tileNEONOne7, tileNEONOne8,
	tileNEONColumns31, tileNEONColumns32, tileNEONColumns33, tileNEONColumns34, tileNEONColumns35, tileNEONColumns36, tileNEONColumns37, tileNEONColumns38,
	tileNEONColumns21, tileNEONColumns22, tileNEONColumns23, tileNEONColumns24, tileNEONColumns25, tileNEONColumns26, tileNEONColumns27, tileNEONColumns28,
	tileNEONColumns11, tileNEONColumns12, tileNEONColumns13, tileNEONColumns14, tileNEONColumns15, tileNEONColumns16, tileNEONColumns17, tileNEONColumns18,
}}

// neonPairs is neonTiles for words that hold pairs of integers, see GemmPairs.
var neonPairs = tileSet{neonWidths, []tileFunc{
	pairsNEONThree1, pairsNEONThree2, pairsNEONThree3, pairsNEONThree4, pairsNEONThree5, pairsNEONThree6, pairsNEONThree7, pairsNEONThree8,
	pairsNEONTwo1, pairsNEONTwo2, pairsNEONTwo3, pairsNEONTwo4, pairsNEONTwo5, pairsNEONTwo6, pairsNEONTwo7, pairsNEONTwo8,
	pairsNEONOne1, pairsNEONOne2, pairsNEONOne3, pairsNEONOne4, pairsNEONOne5, pairsNEONOne6, pairsNEONOne7, pairsNEONOne8,
	pairsNEONColumns31, pairsNEONColumns32, pairsNEONColumns33, pairsNEONColumns34, pairsNEONColumns35, pairsNEONColumns36, pairsNEONColumns37, pairsNEONColumns38,
	pairsNEONColumns21, pairsNEONColumns22, pairsNEONColumns23, pairsNEONColumns24, pairsNEONColumns25, pairsNEONColumns26, pairsNEONColumns27, pairsNEONColumns28,
	pairsNEONColumns11, pairsNEONColumns12, pairsNEONColumns13, pairsNEONColumns14, pairsNEONColumns15, pairsNEONColumns16, pairsNEONColumns17, pairsNEONColumns18,
}}

// transposeNEON implements kernelSet.transpose: bands of 4 rows, 4 columns at a time, and what is
// left one value at a time.
func transposeNEON(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	blocks, done := cols/4, 0
	for ; blocks > 0 && rows-done >= 4; done += 4 {
		transpose4NEON(blocks, &dst[done], dstStride, &src[done*srcStride], srcStride)
	}
	if right := 4 * blocks; right < cols && done > 0 {
		portableTranspose(dst[right*dstStride:], dstStride, src[right:], srcStride, done, cols-right)
	}
	if done < rows {
		portableTranspose(dst[done:], dstStride, src[done*srcStride:], srcStride, rows-done, cols)
	}
}

// supportedKernels returns the kernels that run on this machine, the best first. Every processor
// that Go runs on has the vectors.
func supportedKernels() []*kernelSet { return []*kernelSet{&neonKernel, &portableKernel} }
