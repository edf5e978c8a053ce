package kernel

// kernelSet holds the inner loops of the package for one instruction set. Everything else is
// written once on top of them. Callers cut the slices of element-wise loops to one length.
type kernelSet struct {
	name string

	tileRows int // height of a tile of C
	tileCols int // width of a tile of C, and of a packed panel of B

	multiplyAdds multiplyAdder // see FMALimit

	// panel computes a block of C of at most tileCols columns and any number of
	// rows, C = alpha·A·B + beta·C, and does not read C when beta is zero.
	panel func(a blockA, b blockB, c blockC, alpha, beta float32)
	// ofPairs is the set whose panel multiplies words that hold pairs of integers; see GemmPairs.
	ofPairs *kernelSet
	// large is the set for products that its splits take; nil where tiles compute all. splits, of
	// such a set alone, stands in for panel.
	large  *kernelSet
	splits *splitSet
	// dots computes rows×cols values of C = A·Bᵀ whose sums have k terms, a multiple of dotLanes.
	// An element is the same bit for bit whatever rows and cols are. nil where tiles do as well.
	dots func(c []float32, ldc, rows, cols, k int, a []float32, lda int, b []float32, ldb int)
	// transpose writes rows×cols values of src as cols×rows values of dst; the
	// strides lead from row to row: dst[j*dstStride+i] = src[i*srcStride+j].
	transpose func(dst []float32, dstStride int, src []float32, srcStride, rows, cols int)

	// copyRuns copies positions·rows runs of run values and puts them one after the other at dst.
	// The runs of one position start pitch values apart in src, those of the next step values
	// further on.
	copyRuns func(positions, rows, run int, dst, src []float32, step, pitch int)

	exp, relu, tanh, sigmoid, silu, gelu                func(y, x []float32)
	reluGrad, tanhGrad, sigmoidGrad, siluGrad, geluGrad func(dx, yOrX, dy []float32)
	add                                                 func(z, x, y []float32)

	addBias, scaleChannels func(y, x, perChannel []float32)
	scaleShift             func(z, x, gain, shift []float32)

	// See GroupNormForward and GroupNormGrad.
	groupNorm     func(xhat, inverseStd, x []float32, channels, groups int, eps float64)
	groupNormGrad func(dx, xhat, dxhat, inverseStd []float32, channels, groups int)

	// sumRows writes to dst, or adds to it if keep is set, alpha times the sum of the rows of x, or
	// of x∘y unless y is nil. A row is as long as dst.
	sumRows    func(dst []float32, keep bool, alpha float32, x, y []float32)
	sumSquares func(x []float32) float64
	axpy       func(y []float32, alpha float32, x []float32)

	// See AddExcess; there is at least one row and one column.
	addExcess func(sums, differences Excess, x, y []int32, scale, low, high []float32)

	// See AddRounded, Round, Pair and AddShifted.
	addRounded func(sum []float64, row []float32, scale float32) (squares float64)
	round      func(dst []int16, src []float32, scale float32) (squares float64, largest float32)
	pair       func(dst []int32, first, second []int16)
	addShifted func(dst []int64, x []int32, shift int, first bool)

	// See Keystream; both nil where there is none.
	expandKey       func(keys *[15][16]byte, key *[32]byte)
	encryptCounters func(groups int, dst *uint64, keys *[15][16]byte, first uint64)

	// See FromHalves and ToHalves.
	fromHalves func(dst []float32, src []uint16)
	toHalves   func(dst []uint16, src []float32)

	// Pooling, for windows that are not empty. x and dx begin at the first window, which is at
	// offset at of the whole image; where holds offsets in that. The gradients overwrite dx or, if
	// keep is set, add to it.
	maxWindows     func(r windowRun, y []float32, where []int32, x []float32, at int32)
	maxWindowsGrad func(r windowRun, dx, dy []float32, where []int32, at int32, keep bool)
	sumWindows     func(r windowRun, y, x []float32, scale float32)
	sumWindowsGrad func(r windowRun, dx, dy []float32, scale float32, keep bool)

	// winograd holds the transforms of 3×3 convolutions, for vectors as long as several registers.
	winograd *winogradSet
	// gramRow returns the sum over i of u[i]·v[i] and the sum of the magnitudes, where u[i] is the
	// sum of base[offset+i] over the offsets. The length of v is a multiple of gramBlock.
	gramRow func(offsets []int, base, v []float32) (sum, magnitude float64)

	// See AddRoundedNormals, Momentum.Step and Descend.
	addRoundedNormals func(dst, sum, rest []float64, words []uint64, doubts []uint8, deviation, spacing float64)
	split             func(whole, rest []float64, x []int64, digits int) // see Split
	momentum          func(p, v []float32, sum []float64, m Momentum)
	descend           func(p []float32, sum []float64, perBatch, decay, rate float64)
}

var portableKernel = kernelSet{
	name:              "portable",
	tileRows:          portableRows,
	tileCols:          portableCols,
	multiplyAdds:      multiplyAdder{func(rounds int) { portableMultiplyAdds(rounds) }, portableChains},
	panel:             portablePanel,
	ofPairs:           &kernelSet{tileRows: portableRows, tileCols: portableCols, panel: portablePairs, transpose: portableTranspose},
	dots:              portableDots,
	transpose:         portableTranspose,
	copyRuns:          portableCopyRuns,
	exp:               each(exp32),
	relu:              portableReLU,
	reluGrad:          portableReLUGrad,
	tanh:              each(tanh32),
	tanhGrad:          portableTanhGrad,
	sigmoid:           each(sigmoid32),
	sigmoidGrad:       portableSigmoidGrad,
	silu:              each(silu32),
	siluGrad:          eachSlope(siluSlope32),
	gelu:              each(gelu32),
	geluGrad:          eachSlope(geluSlope32),
	add:               portableAdd,
	addBias:           portableAddBias,
	scaleChannels:     portableScaleChannels,
	scaleShift:        portableScaleShift,
	groupNorm:         portableGroupNorm,
	groupNormGrad:     portableGroupNormGrad,
	sumRows:           portableSumRows,
	sumSquares:        portableSumSquares,
	axpy:              portableAxpy,
	addExcess:         portableAddExcess,
	addRounded:        portableAddRounded,
	round:             portableRound,
	pair:              portablePair,
	addShifted:        portableAddShifted,
	fromHalves:        portableFromHalves,
	toHalves:          portableToHalves,
	maxWindows:        portableMaxWindows,
	maxWindowsGrad:    portableMaxWindowsGrad,
	sumWindows:        portableSumWindows,
	sumWindowsGrad:    portableSumWindowsGrad,
	winograd:          &portableWinograd,
	gramRow:           portableGramRow,
	addRoundedNormals: portableAddRoundedNormals,
	split:             portableSplit,
	momentum:          portableMomentum,
	descend:           portableDescend,
}
