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
