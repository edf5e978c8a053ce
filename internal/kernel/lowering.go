package kernel

import "sync"

// The geometry of a convolution, and its lowering: the windows of an image written
// out as the rows of a matrix, so that the convolution is a product.

// Conv is the geometry of a two-dimensional convolution of one NHWC image, (Height, Width, In) to
// (OutHeight, OutWidth, Out), with zero padding on all four sides. With Groups, which divide both
// numbers of channels, each group of filters sees one group of input channels.
type Conv struct {
	Height, Width        int // of the input
	In, Out              int // channels
	KernelH, KernelW     int
	StrideH, StrideW     int
	PadH, PadW           int // rows above and below, columns left and right
	DilationH, DilationW int // rows and columns from tap to tap; 0 is 1
	Groups               int // 0 is 1
}

// OutHeight returns the height of the output.
func (c Conv) OutHeight() int { return outSize(c.Height, c.spanH(), c.StrideH, c.PadH) }

// OutWidth returns the width of the output.
func (c Conv) OutWidth() int  { return outSize(c.Width, c.spanW(), c.StrideW, c.PadW) }
func (c Conv) dilationH() int { return max(c.DilationH, 1) }
func (c Conv) dilationW() int { return max(c.DilationW, 1) }
func (c Conv) groups() int    { return max(c.Groups, 1) }

// spanH and spanW return how many rows and columns a window covers, from its first tap to its last.
func (c Conv) spanH() int { return (c.KernelH-1)*c.dilationH() + 1 }
func (c Conv) spanW() int { return (c.KernelW-1)*c.dilationW() + 1 }

// groupIn and groupOut return the input and output channels of one group.
func (c Conv) groupIn() int  { return c.In / c.groups() }
func (c Conv) groupOut() int { return c.Out / c.groups() }

// Positions returns OutHeight·OutWidth, the rows of the lowered image.
func (c Conv) Positions() int { return c.OutHeight() * c.OutWidth() }

// Taps returns KernelH·KernelW·In/Groups, the values of a filter and the columns of the lowered
// image.
func (c Conv) Taps() int { return c.KernelH * c.KernelW * c.groupIn() }

// outSize returns the number of windows along one side; 0 when the window does not
// fit into the padded side.
func outSize(size, kernel, stride, pad int) int {
	room := size + 2*pad - kernel
	if room < 0 {
		return 0
	}
	return room/stride + 1
}

// Lower writes the windows of a group of channels of image x (Height, Width, In) as the rows of
// cols (Positions, Taps), the taps in the order (kh, kw, in), so that the convolution is cols ·
// filtersᵀ with the group's filters (Out/Groups, Taps). Taps in the padding are zero.
func (c Conv) Lower(cols, x []float32, group int) {
	outWidth, in, pitch, taps := c.OutWidth(), c.groupIn(), c.pitch(), c.Taps()
	if c.Positions() == 0 {
		return
	}
	image := paddedImages.Get().(*paddedImage)
	defer paddedImages.Put(image)
	x = image.pad(c, x, group)
	step, down, across := c.StrideW*in, c.dilationH()*pitch, c.dilationW()*in
	for oh := range c.OutHeight() {
		row, from := cols[oh*outWidth*taps:(oh+1)*outWidth*taps], x[oh*c.StrideH*pitch:]
		if c.dilationW() == 1 {
			active.copyRuns(outWidth, c.KernelH, c.KernelW*in, row, from, step, down)
			continue
		}
		for ow := range outWidth {
			active.copyRuns(c.KernelH, c.KernelW, in, row[ow*taps:(ow+1)*taps], from[ow*step:], down, across)
		}
	}
}

// Raise applies the transpose of Lower: every element of a group of channels of dx (Height, Width,
// In) becomes the sum of the elements of cols (Positions, Taps) that Lower copies it to. It
// overwrites these channels of dx.
func (c Conv) Raise(dx, cols []float32, group int) {
	image := paddedImages.Get().(*paddedImage)
	defer paddedImages.Put(image)
	sums := image.clear(c, dx)
	in, pitch := c.groupIn(), c.pitch()
	runs, run := 1, c.KernelW*in // of neighbours in a row of the kernel
	if c.dilationW() > 1 {
		runs, run = c.KernelW, in
	}
	step, down, across := c.StrideW*in, c.dilationH()*pitch, c.dilationW()*in
	for oh := range c.OutHeight() {
		for ow := range c.OutWidth() {
			corner := oh*c.StrideH*pitch + ow*step
			for kh := range c.KernelH {
				at := corner + kh*down
				for range runs {
					active.axpy(sums[at:at+run], 1, cols[:run])
					cols = cols[run:]
					at += across
				}
			}
		}
	}
	image.inside(c, dx, group)
}

// pitch returns the length of a row of the padded image of a group: for fixed position and kh the
// taps (kw, in) of a kernel without dilation are contiguous there.
func (c Conv) pitch() int { return (c.Width + 2*c.PadW) * c.groupIn() }

// paddedImage is memory for one image with its padding.
type paddedImage struct{ values []float32 }

// paddedImages keeps the memory of padded images that nobody uses.
var paddedImages = sync.Pool{New: func() any { return new(paddedImage) }}

// padded reports whether a padded image is another than the image itself.
func (c Conv) padded() bool { return c.PadH > 0 || c.PadW > 0 || c.groups() > 1 }

// pad returns the channels of a group of x with zeros around them; x itself where there are neither
// groups nor padding.
func (p *paddedImage) pad(c Conv, x []float32, group int) []float32 {
	if !c.padded() {
		return x
	}
	in, groups, pitch := c.groupIn(), c.groups(), c.pitch()
	width, left := c.Width*in, c.PadW*in
	p.values = grow(p.values, (c.Height+2*c.PadH)*pitch)
	inside, below := c.PadH*pitch, (c.PadH+c.Height)*pitch
	clear(p.values[:inside])
	for at := inside; at < below; at += pitch {
		row := p.values[at : at+pitch]
		clear(row[:left])
		if groups == 1 {
			copy(row[left:left+width], x)
		} else {
			active.copyRuns(c.Width, 1, in, row[left:left+width], x[group*in:], c.In, 0)
		}
		clear(row[left+width:])
		x = x[c.Width*c.In:]
	}
	clear(p.values[below:])
	return p.values
}

// clear returns a padded image of zeros, with the channels of one group: dx itself where there are
// neither groups nor padding.
func (p *paddedImage) clear(c Conv, dx []float32) []float32 {
	if !c.padded() {
		clear(dx)
		return dx
	}
	p.values = grow(p.values, (c.Height+2*c.PadH)*c.pitch())
	clear(p.values)
	return p.values
}

// inside copies the padded image, without its padding, to the channels of a group of x.
func (p *paddedImage) inside(c Conv, x []float32, group int) {
	if !c.padded() {
		return
	}
	in, groups, pitch, line := c.groupIn(), c.groups(), c.pitch(), c.Width*c.In
	for h := range c.Height {
		row, from := x[h*line:(h+1)*line], p.values[(h+c.PadH)*pitch+c.PadW*in:]
		if groups == 1 {
			copy(row, from)
			continue
		}
		for w := range c.Width {
			copy(row[w*c.In+group*in:][:in], from[w*in:])
		}
	}
}

func portableCopyRuns(positions, rows, run int, dst, src []float32, step, pitch int) {
	for position := range positions {
		for row := range rows {
			at := position*step + row*pitch
			copy(dst[:run], src[at:at+run])
			dst = dst[run:]
		}
	}
}

// Transpose transposes count matrices of shape (rows, cols) that lie one after the other in src,
// into dst. It changes the layout of images, (positions, channels) to (channels, positions), and of
// convolution filters: with rows = in and cols = kh·kw from PyTorch's (out, in, kh, kw) to (out,
// kh, kw, in), whose rows have the tap order of [Conv.Lower]; with the two exchanged, back.
func Transpose(dst, src []float32, count, rows, cols int) {
	size := rows * cols
	for m := range count {
		active.transpose(dst[m*size:(m+1)*size], rows, src[m*size:(m+1)*size], cols, rows, cols)
	}
}
