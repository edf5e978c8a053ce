package kernel

import "math"

// Pool2D is the geometry of a two-dimensional pooling of one NHWC image. The
// channels are pooled each on its own.
type Pool2D struct {
	Height, Width, Channels int // of the input
	KernelH, KernelW        int
	StrideH, StrideW        int
	PadH, PadW              int // at most half the kernel, as in PyTorch
}

// OutHeight returns the height of the output.
func (p Pool2D) OutHeight() int { return outSize(p.Height, p.KernelH, p.StrideH, p.PadH) }

// OutWidth returns the width of the output.
func (p Pool2D) OutWidth() int { return outSize(p.Width, p.KernelW, p.StrideW, p.PadW) }

// inLen and outLen are the sizes of an image before and after.
func (p Pool2D) inLen() int  { return p.Height * p.Width * p.Channels }
func (p Pool2D) outLen() int { return p.OutHeight() * p.OutWidth() * p.Channels }

// MaxPool writes to y (OutHeight, OutWidth, Channels) the largest value of each
// window of x (Height, Width, Channels), and to argmax, shaped like y, where in x
// it was found: the first one where several are equal, the last NaN where there
// is one.
// Padding never wins; a window of padding alone gives -Inf and the argmax -1.
func (p Pool2D) MaxPool(y []float32, argmax []int32, x []float32) {
	y, argmax, x = y[:p.outLen()], argmax[:p.outLen()], x[:p.inLen()]
	p.eachWindow(func(out, top, bottom, left, right int) {
		best, where := y[out:out+p.Channels], argmax[out:out+p.Channels]
		if top >= bottom || left >= right {
			noMaximum(best, where)
			return
		}
		first := (top*p.Width + left) * p.Channels
		copy(best, x[first:first+p.Channels])
		for ch := range where {
			where[ch] = int32(first + ch)
		}
		for h := top; h < bottom; h++ {
			for w := left; w < right; w++ {
				if at := (h*p.Width + w) * p.Channels; at != first {
					active.keepLarger(best, where, x[at:at+p.Channels], int32(at))
				}
			}
		}
	})
}

func noMaximum(best []float32, where []int32) {
	for ch := range best {
		best[ch], where[ch] = float32(math.Inf(-1)), -1
	}
}

// portableKeepLarger is kernelSet.keepLarger. A NaN in best is not larger and
// not smaller than anything and stays.
func portableKeepLarger(best []float32, where []int32, x []float32, at int32) {
	where, x = where[:len(best)], x[:len(best)]
	for ch, v := range x {
		if v > best[ch] || v != v {
			best[ch], where[ch] = v, at+int32(ch)
		}
	}
}

// MaxPoolGrad gives each element of dy to the element of x that MaxPool chose.
// It overwrites dx, which is shaped like x.
func (p Pool2D) MaxPoolGrad(dx, dy []float32, argmax []int32) {
	dx, argmax = dx[:p.inLen()], argmax[:p.outLen()]
	clear(dx)
	for i, d := range dy[:p.outLen()] {
		if at := argmax[i]; at >= 0 {
			dx[at] += d
		}
	}
}

// AvgPool writes to y the mean of each window of x. Padding counts as zeros, so
// that every mean divides by KernelH·KernelW (count_include_pad=True, PyTorch's
// default).
func (p Pool2D) AvgPool(y, x []float32) {
	y, x = y[:p.outLen()], x[:p.inLen()]
	scale := 1 / float32(p.KernelH*p.KernelW)
	p.eachWindow(func(out, top, bottom, left, right int) {
		sum := y[out : out+p.Channels]
		clear(sum)
		for h := top; h < bottom; h++ {
			for w := left; w < right; w++ {
				at := (h*p.Width + w) * p.Channels
				active.axpy(sum, 1, x[at:at+len(sum)])
			}
		}
		for ch := range sum {
			sum[ch] *= scale
		}
	})
}

// AvgPoolGrad is the transpose of AvgPool. It overwrites dx.
func (p Pool2D) AvgPoolGrad(dx, dy []float32) {
	dx, dy = dx[:p.inLen()], dy[:p.outLen()]
	clear(dx)
	scale := 1 / float32(p.KernelH*p.KernelW)
	p.eachWindow(func(out, top, bottom, left, right int) {
		from := dy[out : out+p.Channels]
		for h := top; h < bottom; h++ {
			for w := left; w < right; w++ {
				at := (h*p.Width + w) * p.Channels
				active.axpy(dx[at:at+len(from)], scale, from)
			}
		}
	})
}

// eachWindow walks the output positions; out is the offset of the first channel
// and [top, bottom)×[left, right) the part of the window inside the image.
func (p Pool2D) eachWindow(visit func(out, top, bottom, left, right int)) {
	out := 0
	for oh := range p.OutHeight() {
		h := oh*p.StrideH - p.PadH
		top, bottom := max(h, 0), min(h+p.KernelH, p.Height)
		for ow := range p.OutWidth() {
			w := ow*p.StrideW - p.PadW
			visit(out, top, bottom, max(w, 0), min(w+p.KernelW, p.Width))
			out += p.Channels
		}
	}
}
