package kernel

// A depthwise convolution has one filter for each channel. A tap multiplies whole rows of an image,
// all channels at once, by the values of all filters at that tap; nothing is lowered.

func (c Conv) isDepthwise() bool { return c.Groups > 1 && c.In == c.Groups && c.Out == c.Groups }

// layOutTaps copies depthwise filters to perTap: all channels of a tap together.
func (c *Convolution) layOutTaps(filters []float32) {
	c.perTap = grow(c.perTap, c.Out*c.Taps())
	Transpose(c.perTap, filters, 1, c.Out, c.Taps())
}

// eachTap calls visit for every tap of the kernel. at is the offset, in the padded image, of the
// first pixel that the tap multiplies for row oh of the outputs.
func (c Conv) eachTap(oh int, visit func(tap, at int)) {
	for tap := range c.Taps() {
		h, w := oh*c.StrideH+tap/c.KernelW*c.dilationH(), tap%c.KernelW*c.dilationW()
		visit(tap, (h*(c.Width+2*c.PadW)+w)*c.In)
	}
}

// whole returns the geometry with all channels in one group, for padding.
func (c Conv) whole() Conv {
	c.Groups = 1
	return c
}

// pixelsOf returns the pixels that a tap multiplies for a row of outputs: every StrideW-th one of
// the padded image from offset at on, copied to row unless StrideW is 1.
func (c *Convolution) pixelsOf(row, image []float32, at int) []float32 {
	if c.StrideW == 1 {
		return image[at : at+len(row)]
	}
	active.copyRuns(c.OutWidth(), 1, c.In, row, image[at:], c.StrideW*c.In, 0)
	return row
}

func (c *Convolution) depthwiseForward(worker int, z, x, bias []float32, lo, hi int) {
	line := c.OutWidth() * c.Out
	memory := c.cols.get(worker, 2*line)
	row, products := memory[:line], memory[line:]
	image := paddedImages.Get().(*paddedImage)
	defer paddedImages.Put(image)
	for i := lo; i < hi; i++ {
		x, z := image.pad(c.whole(), c.image(x, i), 0), c.output(z, i)
		clear(z)
		for oh := range c.OutHeight() {
			out := z[oh*line : (oh+1)*line]
			c.eachTap(oh, func(tap, at int) {
				ScaleChannels(products, c.pixelsOf(row, x, at), c.perTap[tap*c.Out:(tap+1)*c.Out])
				active.add(out, out, products)
			})
		}
		if bias != nil {
			AddBias(z, bias)
		}
	}
}

func (c *Convolution) depthwiseInputGradient(worker int, dx, dz []float32, lo, hi int) {
	line := c.OutWidth() * c.Out
	products := c.cols.get(worker, line)
	image := paddedImages.Get().(*paddedImage)
	defer paddedImages.Put(image)
	for i := lo; i < hi; i++ {
		dx, dz := c.image(dx, i), c.output(dz, i)
		sums := image.clear(c.whole(), dx)
		for oh := range c.OutHeight() {
			c.eachTap(oh, func(tap, at int) {
				ScaleChannels(products, dz[oh*line:(oh+1)*line], c.perTap[tap*c.Out:(tap+1)*c.Out])
				if c.StrideW == 1 {
					active.axpy(sums[at:at+line], 1, products)
					return
				}
				for from := 0; from < line; from += c.Out {
					active.axpy(sums[at:at+c.Out], 1, products[from:from+c.Out])
					at += c.StrideW * c.Out
				}
			})
		}
		image.inside(c.whole(), dx, 0)
	}
}

// addDepthwiseGradient does what addGradient does, for a depthwise convolution.
func (c *Convolution) addDepthwiseGradient(worker int, g, x, dz []float32, weight, beta float32) {
	line, size := c.OutWidth()*c.Out, c.Out*c.Taps()
	memory := c.cols.get(worker, line+2*size)
	row, sums, filters := memory[:line], memory[line:line+size], memory[line+size:]
	image := paddedImages.Get().(*paddedImage)
	defer paddedImages.Put(image)
	x = image.pad(c.whole(), x, 0)
	clear(sums)
	for oh := range c.OutHeight() {
		c.eachTap(oh, func(tap, at int) {
			AddScaledSumRowProducts(sums[tap*c.Out:(tap+1)*c.Out], weight, c.pixelsOf(row, x, at), dz[oh*line:(oh+1)*line], c.Out)
		})
	}
	Transpose(filters, sums, 1, c.Taps(), c.Out)
	if beta == 0 {
		copy(g, filters)
		return
	}
	Axpy(g[:size], 1, filters)
}
