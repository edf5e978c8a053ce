package kernel

// Convolution computes a convolution and its gradients for batches of images of one geometry, by
// the algorithm that is fastest for it: 3×3 convolutions of stride 1 whose channels are multiples
// of 8 by Winograd's minimal filtering, those with a filter for each channel by products of rows
// (depthwise.go), all others by lowering and a matrix product for each group. Filters are (Out,
// KernelH, KernelW, In/Groups), images and outputs NHWC.
//
// The result for an image depends on that image alone, bit for bit, and not on its place in the
// batch. Outputs and input gradients are right to about 5e-6 of the largest one, filter gradients
// to about 1e-6 of their norm, where the definition loses no digits by cancellation.
//
// Working memory is reused and belongs to the pool: calls on the Convolutions of one pool, or on
// one without a pool, must not overlap. Only methods that take a worker may run at the same time,
// on different workers: call them inside [Pool.Run], with the number of the worker that it gives.
type Convolution struct {
	Conv
	pool *Pool

	// The algorithms, nil where lowering is used.
	forward, backward     *winograd
	gradient, gradientSum *winogradGradient

	cols    workspace // one lowered image for each worker
	grams   workspace // see GramProduct
	pieces  workspace // see FilterGradientPieces
	offsets [][]int   // for each worker, see convolutionGram

	packed, packedBack []Packed  // the filters of each group, for Forward and InputGradient
	perTap             []float32 // the filters of a depthwise convolution, (KernelH, KernelW, channels)

	call  convolutionCall // the one in progress
	loops convolutionLoops
}

// convolutionCall holds the arguments of a call of FilterGradientSum, and partial sums.
type convolutionCall struct {
	x, dz, sum, weights []float32
	partialSums         []float32 // kept between calls
	parts               int
}

// convolutionLoops are the bodies of loops over the pool, bound once so that a call allocates
// nothing.
type convolutionLoops struct {
	partialSums, addPartialSums func(worker, lo, hi int)
}

// smallestTiles is the number of tiles in an image from which on a single filter gradient is faster
// by Winograd's filtering: it takes one transform back for each filter, whatever the size of the
// image. See BenchmarkConvolution.
const smallestTiles = 16

// NewConvolution returns a Convolution of geometry c that runs on p, or on the caller if p is nil.
func NewConvolution(c Conv, p *Pool) *Convolution {
	v := newLoweredConvolution(c, p)
	v.forward = newWinograd(c, p)
	if back, ok := c.transposed(); ok {
		v.backward = newWinograd(back, p)
	}
	v.gradientSum = newWinogradGradient(c, p)
	if s := v.gradientSum; s != nil && s.tilesDown*s.tilesAcross >= smallestTiles {
		v.gradient = s
	}
	return v
}

// newLoweredConvolution returns a convolution that never uses Winograd's filtering.
func newLoweredConvolution(c Conv, p *Pool) *Convolution {
	v := &Convolution{
		Conv: c, pool: p, offsets: make([][]int, p.Threads()),
		cols: newWorkspace(p, imageSpace), grams: newWorkspace(p, gramSpace), pieces: newWorkspace(p, pieceSpace),
	}
	v.loops = convolutionLoops{v.partialSums, v.addPartialSums}
	return v
}

// transposed returns the geometry of the convolution that, given the gradient with respect to the
// outputs and rotated filters, computes the gradient with respect to the images. It returns false
// where there is none: with a stride, or with padding wider than the kernel's reach.
func (c Conv) transposed() (Conv, bool) {
	t := Conv{
		Height: c.OutHeight(), Width: c.OutWidth(), In: c.Out, Out: c.In,
		KernelH: c.KernelH, KernelW: c.KernelW, StrideH: 1, StrideW: 1,
		PadH: c.spanH() - 1 - c.PadH, PadW: c.spanW() - 1 - c.PadW,
		DilationH: c.DilationH, DilationW: c.DilationW, Groups: c.Groups,
	}
	return t, c.StrideH == 1 && c.StrideW == 1 && t.PadH >= 0 && t.PadW >= 0
}

// Grain returns how many images Forward and InputGradient compute together at best.
func (c *Convolution) Grain() int {
	n := 1
	for _, w := range []*winograd{c.forward, c.backward} {
		if w != nil {
			n = max(n, w.groupRows()/gcd(w.groupRows(), w.tilesDown))
		}
	}
	return n
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Prepare lays out the filters for Forward.
func (c *Convolution) Prepare(filters []float32) {
	c.packed = c.layOut(c.forward, c.packed, filters, false)
}

// layOut lays out filters for an algorithm, or in packed for the products of lowered images: those
// of Forward, or of InputGradient where back is true.
func (c *Convolution) layOut(algorithm *winograd, packed []Packed, filters []float32, back bool) []Packed {
	switch {
	case algorithm != nil:
		algorithm.setFilters(filters, back)
	case c.isDepthwise():
		c.layOutTaps(filters)
	default:
		if packed == nil {
			packed = make([]Packed, c.groups())
		}
		k, n := c.Taps(), c.groupOut()
		if back {
			k, n = n, k
		}
		for g := range packed {
			packed[g].Set(c.pool, !back, k, n, filters[g*k*n:(g+1)*k*n])
		}
	}
	return packed
}

// Forward computes the outputs z (batch, OutHeight, OutWidth, Out) of images [lo, hi) of x (batch,
// Height, Width, In) on a worker, and adds a bias (Out) at every position unless it is nil. The
// filters are those of the last Prepare.
func (c *Convolution) Forward(worker int, z, x, bias []float32, lo, hi int) {
	switch {
	case c.forward != nil:
		c.forward.images(worker, z, x, bias, lo, hi)
		return
	case c.isDepthwise():
		c.depthwiseForward(worker, z, x, bias, lo, hi)
		return
	}
	positions, taps, out := c.Positions(), c.Taps(), c.groupOut()
	for i := lo; i < hi; i++ {
		x, z := c.image(x, i), c.output(z, i)
		for g := range c.groups() {
			cols := c.lowered(worker, x, g)
			c.packed[g].Multiply(z[g*out:], c.Out, cols, taps, positions, 0)
		}
		if bias != nil {
			AddBias(z, bias)
		}
	}
}

// PrepareBack lays out the filters for InputGradient.
func (c *Convolution) PrepareBack(filters []float32) {
	c.packedBack = c.layOut(c.backward, c.packedBack, filters, true)
}

// InputGradient computes the gradient dx with respect to images [lo, hi), shaped like x in Forward,
// from the gradient dz with respect to the outputs, shaped like z. The filters are those of the
// last PrepareBack.
func (c *Convolution) InputGradient(worker int, dx, dz []float32, lo, hi int) {
	switch {
	case c.backward != nil:
		c.backward.images(worker, dx, dz, nil, lo, hi)
		return
	case c.isDepthwise():
		c.depthwiseInputGradient(worker, dx, dz, lo, hi)
		return
	}
	positions, taps, out := c.Positions(), c.Taps(), c.groupOut()
	cols := c.cols.get(worker, positions*taps)
	for i := lo; i < hi; i++ {
		dx, dz := c.image(dx, i), c.output(dz, i)
		for g := range c.groups() {
			c.packedBack[g].Multiply(cols, taps, dz[g*out:], c.Out, positions, 0)
			c.Raise(dx, cols, g)
		}
	}
}

// FilterGradient writes to g the filter gradient of image x, whose outputs have the gradient dz.
func (c *Convolution) FilterGradient(worker int, g, x, dz []float32) {
	if c.gradient == nil {
		c.addGradient(worker, g, x, dz, 1, 0)
		return
	}
	s := c.gradient.newSum(worker)
	s.add(x, dz, 1)
	s.result(g)
}

// FilterGradients writes to g the sum of the filter gradients of a number of images, which lie one
// after the other in x and dz.
func (c *Convolution) FilterGradients(worker int, g, x, dz []float32, images int) {
	if s := c.gradientSum; s != nil && images*s.tilesDown*s.tilesAcross >= smallestTiles {
		sum := s.newSum(worker)
		for i := range images {
			sum.add(c.image(x, i), c.output(dz, i), 1)
		}
		sum.result(g)
		return
	}
	for i := range images {
		c.addGradient(worker, g, c.image(x, i), c.output(dz, i), 1, min(float32(i), 1))
	}
}

// pieceValues is about how many values a piece of FilterGradientPieces has: so few that the piece
// and the memory it is computed from stay in the second-level cache.
const pieceValues = 1 << 14

// FilterGradientPieces calls emit with the filter gradient of one image in pieces, which end to end
// are the g of FilterGradient. emit may use a piece until it returns. The whole is written to g too,
// unless that is nil.
func (c *Convolution) FilterGradientPieces(worker int, g, x, dz []float32, emit func(piece []float32)) {
	rows, out := active.tileRows, c.groupOut()
	filters := min(max(pieceValues/c.Taps()/rows, 1)*rows, out)
	piece := c.pieces.get(worker, filters*c.Taps())
	if s := c.gradient; s != nil && s.tilesDown*s.tilesAcross <= s.chunkTiles {
		sum := s.newSumOf(worker, filters)
		sum.pieces(g, x, dz, piece, emit)
		return
	}
	if c.gradient != nil || c.isDepthwise() {
		if g == nil {
			g = c.pieces.get(worker, c.Out*c.Taps())
		}
		c.FilterGradient(worker, g, x, dz)
		emit(g)
		return
	}
	for group := range c.groups() {
		cols := c.lowered(worker, x, group)
		for o := 0; o < out; o += filters {
			n := min(filters, out-o)
			if g != nil {
				piece = cut(&g, n*c.Taps())
			}
			serial.Gemm(true, false, n, c.Taps(), c.Positions(), 1, dz[group*out+o:], c.Out, cols, c.Taps(), 0, piece, c.Taps())
			emit(piece[:n*c.Taps()])
		}
	}
}

// gradientParts is the largest number of partial sums into which the images of a batch are split:
// enough work units for many cores, and little memory. It does not depend on the number of threads,
// so neither does the sum.
const gradientParts = 16

// sumGrain is the number of elements that pay for waking a thread to add partial sums.
const sumGrain = 4096

// FilterGradientSum overwrites sum with Σ w[i]·g(i), where g(i) is the gradient of the filters for
// image i of x and dz. It does not read images of weight 0.
func (c *Convolution) FilterGradientSum(sum, x, dz, w []float32) {
	batch, size := len(w), c.Out*c.Taps()
	parts := min(batch, gradientParts)
	if s := c.gradientSum; s != nil {
		// A part costs a transform back, whatever it has to add.
		parts = min(parts, ceilDiv(batch*s.tilesDown*s.tilesAcross, partTiles))
	}
	c.call.partialSums = grow(c.call.partialSums, parts*size)
	c.call.sum, c.call.x, c.call.dz, c.call.weights, c.call.parts = sum, x, dz, w, parts
	c.pool.Run(parts, 1, c.loops.partialSums)
	c.run(size, sumGrain, c.loops.addPartialSums)
}

func (c *Convolution) partialSums(worker, lo, hi int) {
	batch, size := len(c.call.weights), c.Out*c.Taps()
	for part := lo; part < hi; part++ {
		c.partialSum(worker, c.call.partialSums[part*size:(part+1)*size], part*batch/c.call.parts, (part+1)*batch/c.call.parts)
	}
}

// partialSum writes the weighted sum of the filter gradients of images [lo, hi) to g.
func (c *Convolution) partialSum(worker int, g []float32, lo, hi int) {
	var transformed winogradSum
	if c.gradientSum != nil {
		transformed = c.gradientSum.newSum(worker)
	} else {
		clear(g)
	}
	for i := lo; i < hi; i++ {
		weight := c.call.weights[i]
		if weight == 0 {
			continue
		}
		x, dz := c.image(c.call.x, i), c.output(c.call.dz, i)
		if c.gradientSum != nil {
			transformed.add(x, dz, weight)
		} else {
			c.addGradient(worker, g, x, dz, weight, 1)
		}
	}
	if c.gradientSum != nil {
		transformed.result(g)
	}
}

// addPartialSums writes elements [lo, hi) of the call's sum: it adds up those of all partial sums.
func (c *Convolution) addPartialSums(_, lo, hi int) {
	size := c.Out * c.Taps()
	clear(c.call.sum[lo:hi])
	for part := range c.call.parts {
		Axpy(c.call.sum[lo:hi], 1, c.call.partialSums[part*size+lo:part*size+hi])
	}
}

// lowered returns an image lowered for a group: the image itself where windows are single pixels, as
// they are for a dense layer on the positions of a sequence.
func (c *Convolution) lowered(worker int, x []float32, group int) []float32 {
	if c.Taps() == c.In && c.Positions() == c.Height*c.Width && c.PadH == 0 && c.PadW == 0 && c.groups() == 1 {
		return x
	}
	cols := c.cols.get(worker, c.Positions()*c.Taps())
	c.Lower(cols, x, group)
	return cols
}

// addGradient computes g = beta·g + weight·dzᵀU for one image and each group, with U the lowered
// image and beta 0 or 1.
func (c *Convolution) addGradient(worker int, g, x, dz []float32, weight, beta float32) {
	if c.isDepthwise() {
		c.addDepthwiseGradient(worker, g, x, dz, weight, beta)
		return
	}
	taps, out := c.Taps(), c.groupOut()
	for group := range c.groups() {
		cols := c.lowered(worker, x, group)
		serial.Gemm(true, false, out, taps, c.Positions(), weight, dz[group*out:], c.Out, cols, taps, beta, g[group*out*taps:], taps)
	}
}

// run runs loop over [0, n) on the pool, and then drops all of the call but partialSums.
func (c *Convolution) run(n, grain int, loop func(worker, lo, hi int)) {
	c.pool.Run(n, grain, loop)
	c.call = convolutionCall{partialSums: c.call.partialSums}
}

// image and output return the values of image i of a batch: of x or dx, and of z or dz.
func (c *Convolution) image(x []float32, i int) []float32 {
	n := c.Height * c.Width * c.In
	return x[i*n : (i+1)*n]
}

func (c *Convolution) output(z []float32, i int) []float32 {
	n := c.Positions() * c.Out
	return z[i*n : (i+1)*n]
}

// serial is a nil pool: it runs a product on the calling worker.
var serial *Pool
