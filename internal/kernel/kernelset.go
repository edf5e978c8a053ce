package kernel

// kernelSet is the inner loops of the package on one instruction set. Everything
// else is written once on top of them. Slices have been cut to the length of the
// first one.
type kernelSet struct {
	name string

	tileRows int // height of a tile of C
	tileCols int // width of a tile of C, and of a packed panel of B

	// panel computes a block of C of at most tileCols columns and any number of
	// rows, C = alpha·A·B + beta·C, and does not read C when beta is zero.
	panel func(a blockA, b blockB, c blockC, alpha, beta float32)
	// transpose writes rows×cols values of src as cols×rows values of dst; the
	// strides lead from row to row: dst[j*dstStride+i] = src[i*srcStride+j].
	transpose func(dst []float32, dstStride int, src []float32, srcStride, rows, cols int)

	// copyRuns copies positions·rows runs, one after the other at dst. Runs start
	// pitch apart in src, and step further for the next position.
	copyRuns func(positions, rows, run int, dst, src []float32, step, pitch int)

	exp, relu, tanh, sigmoid, silu            func(y, x []float32)
	reluGrad, tanhGrad, sigmoidGrad, siluGrad func(dx, yOrX, dy []float32)

	axpy              func(y []float32, alpha float32, x []float32)
	dot               func(x, y []float32) float64
	accumulateFloat64 func(dst []float64, x []float32)

	// keepLarger replaces elements of best by those of x that are larger or NaN,
	// and those of where by at, at+1, … in the same places.
	keepLarger func(best []float32, where []int32, x []float32, at int32)
}

var portableKernel = kernelSet{
	name:              "portable",
	tileRows:          portableRows,
	tileCols:          portableCols,
	panel:             portablePanel,
	transpose:         portableTranspose,
	copyRuns:          portableCopyRuns,
	exp:               portableExp,
	relu:              portableReLU,
	reluGrad:          portableReLUGrad,
	tanh:              portableTanh,
	tanhGrad:          portableTanhGrad,
	sigmoid:           portableSigmoid,
	sigmoidGrad:       portableSigmoidGrad,
	silu:              portableSiLU,
	siluGrad:          portableSiLUGrad,
	axpy:              portableAxpy,
	dot:               portableDot,
	accumulateFloat64: portableAccumulateFloat64,
	keepLarger:        portableKeepLarger,
}
