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

var neonWinograd = winogradOnTiles(winogradWindow6NEON, winogradFilter6NEON, winogradOutput6NEON, winogradWindow4NEON, winogradFilter4NEON,
	winogradOutput4NEON, winogradGradient4NEON, winogradDelta4NEON)
