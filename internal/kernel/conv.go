package kernel

// Conv is the geometry of a two-dimensional convolution of one NHWC image,
// (Height, Width, In) to (OutHeight, OutWidth, Out), with zero padding on all
// four sides.
type Conv struct {
	Height, Width    int // of the input
	In, Out          int // channels
	KernelH, KernelW int
	StrideH, StrideW int
	PadH, PadW       int // rows above and below, columns left and right
}

// OutHeight returns the height of the output.
func (c Conv) OutHeight() int { return outSize(c.Height, c.KernelH, c.StrideH, c.PadH) }

// OutWidth returns the width of the output.
func (c Conv) OutWidth() int { return outSize(c.Width, c.KernelW, c.StrideW, c.PadW) }

// Positions returns OutHeight·OutWidth, the rows of the lowered image.
func (c Conv) Positions() int { return c.OutHeight() * c.OutWidth() }

// Taps returns KernelH·KernelW·In, the columns of the lowered image.
func (c Conv) Taps() int { return c.KernelH * c.KernelW * c.In }

// outSize is the number of windows along one side; 0 when the window does not
// fit into the padded side.
func outSize(size, kernel, stride, pad int) int {
	room := size + 2*pad - kernel
	if room < 0 {
		return 0
	}
	return room/stride + 1
}

// Lower writes the windows of image x (Height, Width, In) as the rows of cols
// (Positions, Taps), the taps in the order (kh, kw, in), so that the convolution
// is cols · filtersᵀ with filters (Out, Taps). Taps in the padding are zero.
func (c Conv) Lower(cols, x []float32) {
	c.eachRun(func(row, lo, hi, src int) {
		run := cols[row : row+c.KernelW*c.In]
		if hi-lo < len(run) {
			clear(run)
		}
		copy(run[lo:hi], x[src:src+hi-lo])
	})
}

// Raise is the transpose of Lower: every element of dx (Height, Width, In)
// becomes the sum of the elements of cols (Positions, Taps) that Lower copies it
// to. It overwrites dx.
func (c Conv) Raise(dx, cols []float32) {
	clear(dx[:c.Height*c.Width*c.In])
	c.eachRun(func(row, lo, hi, src int) {
		active.axpy(dx[src:src+hi-lo], 1, cols[row+lo:row+hi])
	})
}

// eachRun walks the lowered image. For fixed position and kh the taps (kw, in)
// are contiguous in the image too: visit gets the offset of this run in cols, the
// part [lo, hi) of it that lies inside the image, empty when all is padding, and
// the offset src in the image where that part begins.
func (c Conv) eachRun(visit func(row, lo, hi, src int)) {
	outH, outW, width := c.OutHeight(), c.OutWidth(), c.KernelW*c.In
	row := 0
	for oh := range outH {
		for ow := range outW {
			left := ow*c.StrideW - c.PadW
			first := min(max(0, -left), c.KernelW)
			last := max(min(c.KernelW, c.Width-left), first)
			for kh := range c.KernelH {
				ih := oh*c.StrideH - c.PadH + kh
				if ih >= 0 && ih < c.Height && first < last {
					visit(row, first*c.In, last*c.In, (ih*c.Width+left+first)*c.In)
				} else {
					visit(row, 0, 0, 0)
				}
				row += width
			}
		}
	}
}
