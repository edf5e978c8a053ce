package kernel

// Convolution computes a convolution and its gradients for batches of images of one geometry, by the algorithm that
// is fastest for it. Filters are (Out, KernelH, KernelW, In), images and outputs NHWC.
//
// It owns working memory: calls on one Convolution must not overlap, but for [Convolution.FilterGradient] on
// different workers.
type Convolution struct {
	Conv
	pool *Pool
	cols workspace // one lowered image for each worker
	sums []float32
}

// NewConvolution returns the convolution of that geometry, computed on the pool; nil is the caller.
func NewConvolution(c Conv, p *Pool) *Convolution {
	return &Convolution{Conv: c, pool: p, cols: newWorkspace(p)}
}

// Forward computes z (batch, OutHeight, OutWidth, Out) from x (batch, Height, Width, In), with a bias (Out) for every
// position unless it is nil.
func (c *Convolution) Forward(z, x, filters, bias []float32, batch int) {
	positions, taps := c.Positions(), c.Taps()
	c.pool.Run(batch, 1, func(worker, lo, hi int) {
		cols := c.cols.get(worker, positions*taps)
		for i := lo; i < hi; i++ {
			c.Lower(cols, c.image(x, i))
			out := c.output(z, i)
			serial.Gemm(false, true, positions, c.Out, taps, 1, cols, taps, filters, taps, 0, out, c.Out)
			if bias != nil {
				AddBias(out, bias)
			}
		}
	})
}

// InputGradient computes the gradient dx with respect to the images from the gradient dz with respect to the outputs.
func (c *Convolution) InputGradient(dx, dz, filters []float32, batch int) {
	positions, taps := c.Positions(), c.Taps()
	c.pool.Run(batch, 1, func(worker, lo, hi int) {
		cols := c.cols.get(worker, positions*taps)
		for i := lo; i < hi; i++ {
			serial.Gemm(false, false, positions, taps, c.Out, 1, c.output(dz, i), c.Out, filters, taps, 0, cols, taps)
			c.Raise(c.image(dx, i), cols)
		}
	})
}

// FilterGradients writes the gradients g (batch, Out, KernelH, KernelW, In) with respect to the filters, one for each
// image.
func (c *Convolution) FilterGradients(g, x, dz []float32, batch int) {
	size := c.Out * c.Taps()
	c.pool.Run(batch, 1, func(worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			c.addGradient(worker, g[i*size:(i+1)*size], c.image(x, i), c.output(dz, i), 1, 0)
		}
	})
}

// FilterGradient writes the gradient of one image, on the calling worker of a pool, for use inside [Pool.Run].
func (c *Convolution) FilterGradient(worker int, g, x, dz []float32) {
	c.addGradient(worker, g, x, dz, 1, 0)
}

// gradientParts is how many partial sums the images of a batch are split into: enough work units for many cores,
// little memory, and the same for any number of threads, so that the sum does not depend on it.
const gradientParts = 16

// FilterGradientSum writes to sum the gradients of the images times their weights w. Images of weight 0 are not read.
func (c *Convolution) FilterGradientSum(sum, x, dz, w []float32) {
	batch, size := len(w), c.Out*c.Taps()
	parts := min(batch, gradientParts)
	c.sums = grow(c.sums, parts*size)
	sums := c.sums
	c.pool.Run(parts, 1, func(worker, lo, hi int) {
		for part := lo; part < hi; part++ {
			g := sums[part*size : (part+1)*size]
			clear(g)
			for i := part * batch / parts; i < (part+1)*batch/parts; i++ {
				if w[i] != 0 {
					c.addGradient(worker, g, c.image(x, i), c.output(dz, i), w[i], 1)
				}
			}
		}
	})
	clear(sum[:size])
	for part := range parts {
		Axpy(sum[:size], 1, sums[part*size:(part+1)*size])
	}
}

// addGradient computes g = beta·g + weight·dzᵀU for one image, with U the lowered image.
func (c *Convolution) addGradient(worker int, g, x, dz []float32, weight, beta float32) {
	cols := c.cols.get(worker, c.Positions()*c.Taps())
	c.Lower(cols, x)
	serial.Gemm(true, false, c.Out, c.Taps(), c.Positions(), weight, dz, c.Out, cols, c.Taps(), beta, g, c.Taps())
}

// image and output are those of example i.
func (c *Convolution) image(x []float32, i int) []float32 {
	n := c.Height * c.Width * c.In
	return x[i*n : (i+1)*n]
}

func (c *Convolution) output(z []float32, i int) []float32 {
	n := c.Positions() * c.Out
	return z[i*n : (i+1)*n]
}

// serial runs a product on the calling worker.
var serial *Pool
