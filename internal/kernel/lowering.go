package kernel

import "sync"

// The geometry of a convolution, and its lowering: the windows of an image written
// out as the rows of a matrix, so that the convolution is a product.

// Conv is the geometry of a two-dimensional convolution of one NHWC image, (Height, Width, In) to
// (OutHeight, OutWidth, Out), with zero padding on all four sides.
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
	outWidth, run, step, pitch := c.OutWidth(), c.KernelW*c.In, c.StrideW*c.In, c.pitch()
	if c.Positions() == 0 {
		return
	}
	image := paddedImages.Get().(*paddedImage)
	defer paddedImages.Put(image)
	x = image.pad(c, x)
	for oh := range c.OutHeight() {
		active.copyRuns(outWidth, c.KernelH, run, cols[oh*outWidth*c.Taps():(oh+1)*outWidth*c.Taps()], x[oh*c.StrideH*pitch:], step, pitch)
	}
}

// Raise is the transpose of Lower: every element of dx (Height, Width, In) becomes the sum of the
// elements of cols (Positions, Taps) that Lower copies it to. It overwrites dx.
func (c Conv) Raise(dx, cols []float32) {
	outWidth, run, step, pitch := c.OutWidth(), c.KernelW*c.In, c.StrideW*c.In, c.pitch()
	image := paddedImages.Get().(*paddedImage)
	defer paddedImages.Put(image)
	sums := image.clear(c)
	for oh := range c.OutHeight() {
		for ow := range outWidth {
			for kh := range c.KernelH {
				at := (oh*c.StrideH+kh)*pitch + ow*step
				active.axpy(sums[at:at+run], 1, cols[:run])
				cols = cols[run:]
			}
		}
	}
	for h := range c.Height {
		copy(dx[h*c.Width*c.In:(h+1)*c.Width*c.In], sums[(h+c.PadH)*pitch+c.PadW*c.In:])
	}
}

// pitch is the length of a row of the padded image: for fixed position and kh the
// taps (kw, in) are contiguous there.
func (c Conv) pitch() int { return (c.Width + 2*c.PadW) * c.In }

// paddedImage is memory for one image with its padding.
type paddedImage struct{ values []float32 }

// paddedImages keeps that memory between calls.
var paddedImages = sync.Pool{New: func() any { return new(paddedImage) }}

// pad returns x with zeros around it; x itself where there is no padding.
func (p *paddedImage) pad(c Conv, x []float32) []float32 {
	if c.PadH == 0 && c.PadW == 0 {
		return x
	}
	pitch, width, left := c.pitch(), c.Width*c.In, c.PadW*c.In
	p.values = grow(p.values, (c.Height+2*c.PadH)*pitch)
	inside, below := c.PadH*pitch, (c.PadH+c.Height)*pitch
	clear(p.values[:inside])
	for at := inside; at < below; at += pitch {
		row := p.values[at : at+pitch]
		clear(row[:left])
		copy(row[left:left+width], x)
		clear(row[left+width:])
		x = x[width:]
	}
	clear(p.values[below:])
	return p.values
}

// clear returns a padded image of zeros.
func (p *paddedImage) clear(c Conv) []float32 {
	p.values = grow(p.values, (c.Height+2*c.PadH)*c.pitch())
	clear(p.values)
	return p.values
}

// portableCopyRuns is kernelSet.copyRuns.
func portableCopyRuns(positions, rows, run int, dst, src []float32, step, pitch int) {
	for position := range positions {
		for row := range rows {
			at := position*step + row*pitch
			copy(dst[:run], src[at:at+run])
			dst = dst[run:]
		}
	}
}
