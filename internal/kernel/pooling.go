package kernel

import "math"

// Maximum and average pooling and their gradients: the output is cut into runs of
// windows of one size, for which there are loops below and in assembly.

// Pool2D is the geometry of a two-dimensional pooling of one NHWC image. The
// channels are pooled each on its own.
type Pool2D struct {
	Height, Width, Channels int // of the input
	KernelH, KernelW        int
	StrideH, StrideW        int
	PadH, PadW              int  // at most half the kernel, as in PyTorch
	OnlyInside              bool // means are over the part of a window that is inside the image
}

// OutHeight returns the height of the output.
func (p Pool2D) OutHeight() int { return outSize(p.Height, p.KernelH, p.StrideH, p.PadH) }

// OutWidth returns the width of the output.
func (p Pool2D) OutWidth() int { return outSize(p.Width, p.KernelW, p.StrideW, p.PadW) }

// inLen and outLen return the number of values of an image before and after pooling.
func (p Pool2D) inLen() int  { return p.Height * p.Width * p.Channels }
func (p Pool2D) outLen() int { return p.OutHeight() * p.OutWidth() * p.Channels }

// MaxPool writes to y (OutHeight, OutWidth, Channels) the largest value of each window of x
// (Height, Width, Channels), and to argmax, shaped like y, where in x it was found: the first one
// where several are equal, the last NaN where there is one. Padding never wins; a window of padding
// alone gives -Inf and the argmax -1.
func (p Pool2D) MaxPool(y []float32, argmax []int32, x []float32) {
	y, argmax, x = y[:p.outLen()], argmax[:p.outLen()], x[:p.inLen()]
	p.eachRun(func(out, at int, r windowRun) {
		if r.empty() {
			for ch := out; ch < out+p.Channels; ch++ {
				y[ch], argmax[ch] = float32(math.Inf(-1)), -1
			}
			return
		}
		active.maxWindows(r, y[out:out+r.outLen()], argmax[out:out+r.outLen()], x[at:at+r.inLen()], int32(at))
	})
}

// MaxPoolGrad writes to dx, shaped like x, the gradient with respect to x: each element is the sum
// of dy over the windows whose largest value MaxPool found there.
func (p Pool2D) MaxPoolGrad(dx, dy []float32, argmax []int32) {
	dx, argmax, dy = dx[:p.inLen()], argmax[:p.outLen()], dy[:p.outLen()]
	keep := p.prepareGrad(dx)
	p.eachRun(func(out, at int, r windowRun) {
		if !r.empty() {
			active.maxWindowsGrad(r, dx[at:at+r.inLen()], dy[out:out+r.outLen()], argmax[out:out+r.outLen()], int32(at), keep)
		}
	})
}

// AvgPool writes to y the mean of each window of x. Padding counts as zeros, so that every mean
// divides by KernelH·KernelW (count_include_pad=True, PyTorch's default), unless OnlyInside is set.
func (p Pool2D) AvgPool(y, x []float32) {
	y, x = y[:p.outLen()], x[:p.inLen()]
	if p.OutHeight() == 1 && p.OutWidth() == 1 && p.PadH == 0 && p.PadW == 0 && p.KernelW == p.Width {
		// Whole rows of the image in one window, as in global pooling.
		clear(y)
		active.sumRows(y, true, 1/float32(p.KernelH*p.KernelW), x[:p.KernelH*p.Width*p.Channels], nil)
		return
	}
	p.eachRun(func(out, at int, r windowRun) {
		if r.empty() {
			clear(y[out : out+p.Channels])
			return
		}
		active.sumWindows(r, y[out:out+r.outLen()], x[at:at+r.inLen()], p.share(r))
	})
}

// AvgPoolGrad overwrites dx with the gradient of x for the gradient dy of y: AvgPool's transpose.
func (p Pool2D) AvgPoolGrad(dx, dy []float32) {
	dx, dy = dx[:p.inLen()], dy[:p.outLen()]
	keep := p.prepareGrad(dx)
	p.eachRun(func(out, at int, r windowRun) {
		if !r.empty() {
			active.sumWindowsGrad(r, dx[at:at+r.inLen()], dy[out:out+r.outLen()], p.share(r), keep)
		}
	})
}

// share returns the weight of a value in the mean of its window.
func (p Pool2D) share(r windowRun) float32 {
	if p.OnlyInside {
		return 1 / float32(r.rows*r.cols)
	}
	return 1 / float32(p.KernelH*p.KernelW)
}

// prepareGrad clears dx unless the windows cover all of it, and tells whether they
// overlap, so that their gradients have to be added up.
func (p Pool2D) prepareGrad(dx []float32) (keep bool) {
	covered := func(size, kernel, stride, pad, windows int) bool {
		return stride == kernel && windows*stride-pad >= size
	}
	if !covered(p.Height, p.KernelH, p.StrideH, p.PadH, p.OutHeight()) || !covered(p.Width, p.KernelW, p.StrideW, p.PadW, p.OutWidth()) {
		clear(dx)
	}
	return p.StrideH < p.KernelH || p.StrideW < p.KernelW
}

// windowRun is a number of neighbouring windows in one row of the output that
// have the same size inside the image. Strides and steps count elements. It has no more fields than
// fit into registers, where calls pass it.
type windowRun struct {
	count, rows, cols int
	rowStride         int // from row to row of a window
	step              int // from window to window in the image
	channels          int // from position to position, also in the output
	first             int // first channel of the portable loops; vector kernels take those before
}

func (r windowRun) empty() bool { return r.rows <= 0 || r.cols <= 0 }

// outLen and inLen return the number of values of the output and of the image that the run covers.
// The latter is only asked of runs that are not empty.
func (r windowRun) outLen() int { return r.count * r.channels }
func (r windowRun) inLen() int {
	return (r.count-1)*r.step + (r.rows-1)*r.rowStride + (r.cols-1)*r.channels + r.channels
}

// eachRun calls visit for all runs in the order of the output. out and at are the offsets of the
// first window in output and input. An empty run has one window, and its at means nothing.
func (p Pool2D) eachRun(visit func(out, at int, r windowRun)) {
	outWidth := p.OutWidth()
	// The windows [whole, cut) of a row lie inside the image.
	whole := (p.PadW + p.StrideW - 1) / p.StrideW
	cut := min((p.Width+p.PadW-p.KernelW)/p.StrideW+1, outWidth)
	r := windowRun{rowStride: p.Width * p.Channels, step: p.StrideW * p.Channels, channels: p.Channels}
	out := 0
	for oh := range p.OutHeight() {
		h := oh*p.StrideH - p.PadH
		top, bottom := max(h, 0), min(h+p.KernelH, p.Height)
		r.rows = bottom - top
		for ow := 0; ow < outWidth; ow += r.count {
			w := ow*p.StrideW - p.PadW
			left, right := max(w, 0), min(w+p.KernelW, p.Width)
			r.cols, r.count = right-left, 1
			if whole <= ow && ow < cut && r.rows > 0 {
				r.count = cut - ow
			}
			visit(out, (top*p.Width+left)*p.Channels, r)
			out += r.outLen()
		}
	}
}

// eachPosition calls visit with the offset of every position of every window, the
// window's number and whether the position is the window's first.
func (r windowRun) eachPosition(visit func(window, at int, first bool)) {
	for window := range r.count {
		for row := range r.rows {
			for col := range r.cols {
				visit(window, window*r.step+row*r.rowStride+col*r.channels, row+col == 0)
			}
		}
	}
}

func portableMaxWindows(r windowRun, y []float32, where []int32, x []float32, at int32) {
	r.eachPosition(func(window, place int, first bool) {
		best, where := y[window*r.channels:][:r.channels], where[window*r.channels:][:r.channels]
		for ch := r.first; ch < r.channels; ch++ {
			// A NaN in best is not larger and not smaller than anything and stays.
			if v := x[place+ch]; first || v > best[ch] || v != v {
				best[ch], where[ch] = v, at+int32(place+ch)
			}
		}
	})
}

func portableMaxWindowsGrad(r windowRun, dx, dy []float32, where []int32, at int32, keep bool) {
	r.eachPosition(func(window, place int, _ bool) {
		dy, where := dy[window*r.channels:][:r.channels], where[window*r.channels:][:r.channels]
		for ch := r.first; ch < r.channels; ch++ {
			var v float32
			if keep {
				v = dx[place+ch]
			}
			if where[ch] == at+int32(place+ch) {
				v += dy[ch]
			}
			dx[place+ch] = v
		}
	})
}

func portableSumWindows(r windowRun, y, x []float32, scale float32) {
	for window := range r.count {
		clear(y[window*r.channels+r.first : (window+1)*r.channels])
	}
	r.eachPosition(func(window, place int, _ bool) {
		sum := y[window*r.channels:][:r.channels]
		for ch := r.first; ch < r.channels; ch++ {
			sum[ch] += x[place+ch]
		}
	})
	for window := range r.count {
		sum := y[window*r.channels:][:r.channels]
		for ch := r.first; ch < r.channels; ch++ {
			sum[ch] *= scale
		}
	}
}

func portableSumWindowsGrad(r windowRun, dx, dy []float32, scale float32, keep bool) {
	r.eachPosition(func(window, place int, _ bool) {
		dy := dy[window*r.channels:][:r.channels]
		for ch := r.first; ch < r.channels; ch++ {
			v := scale * dy[ch]
			if keep {
				v += dx[place+ch]
			}
			dx[place+ch] = v
		}
	})
}
