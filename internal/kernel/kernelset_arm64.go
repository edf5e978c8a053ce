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
	return k
}()
