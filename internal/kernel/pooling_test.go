package kernel

import (
	"math"
	"slices"
	"testing"
)

var pools = []Pool2D{
	{Height: 8, Width: 8, Channels: 16, KernelH: 2, KernelW: 2, StrideH: 2, StrideW: 2},
	{Height: 7, Width: 5, Channels: 3, KernelH: 2, KernelW: 2, StrideH: 1, StrideW: 1},
	{Height: 7, Width: 6, Channels: 9, KernelH: 3, KernelW: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1},
	{Height: 4, Width: 6, Channels: 8, KernelH: 4, KernelW: 6, StrideH: 1, StrideW: 1},
	{Height: 9, Width: 7, Channels: 20, KernelH: 2, KernelW: 2, StrideH: 2, StrideW: 2}, // a row and a column are left over
	{Height: 6, Width: 7, Channels: 16, KernelH: 2, KernelW: 2, StrideH: 1, StrideW: 1},
	{Height: 6, Width: 6, Channels: 24, KernelH: 2, KernelW: 2, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1},
	{Height: 8, Width: 9, Channels: 8, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
	{Height: 9, Width: 8, Channels: 8, KernelH: 2, KernelW: 2, StrideH: 3, StrideW: 3}, // gaps
	{Height: 5, Width: 6, Channels: 11, KernelH: 2, KernelW: 6, StrideH: 2, StrideW: 1},
	{Height: 9, Width: 7, Channels: 10, KernelH: 5, KernelW: 2, StrideH: 3, StrideW: 1, PadH: 2, PadW: 1},
	{Height: 2, Width: 12, Channels: 8, KernelH: 2, KernelW: 7, StrideH: 2, StrideW: 2, PadH: 1, PadW: 3},
	{Height: 5, Width: 9, Channels: 1, KernelH: 1, KernelW: 3, StrideH: 3, StrideW: 4, PadW: 1},
}

// windows returns, for every output, the places in x that its window covers.
func (p Pool2D) windows() [][]int {
	windows := make([][]int, p.outLen())
	for i := range windows {
		oh, ow, ch := i/(p.OutWidth()*p.Channels), i/p.Channels%p.OutWidth(), i%p.Channels
		for kh := range p.KernelH {
			for kw := range p.KernelW {
				h, w := oh*p.StrideH-p.PadH+kh, ow*p.StrideW-p.PadW+kw
				if h >= 0 && h < p.Height && w >= 0 && w < p.Width {
					windows[i] = append(windows[i], (h*p.Width+w)*p.Channels+ch)
				}
			}
		}
	}
	return windows
}

// TestMaxPool wants the largest value of each window and its first place, and the
// gradient there and nowhere else. Few distinct values make many ties.
func TestMaxPool(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, p := range pools {
			x := randoms(1, p.inLen())
			for i, v := range x {
				x[i] = float32(math.Round(float64(v)))
			}
			y, argmax := make([]float32, p.outLen()), make([]int32, p.outLen())
			p.MaxPool(y, argmax, x)
			dy, dx, wantDX := randoms(2, len(y)), make([]float32, len(x)), make([]float64, len(x))
			for i, window := range p.windows() {
				best := window[0]
				for _, at := range window {
					if x[at] > x[best] {
						best = at
					}
				}
				if y[i] != x[best] || int(argmax[i]) != best {
					t.Fatalf("%+v: output %d is %v from %d, want %v from %d", p, i, y[i], argmax[i], x[best], best)
				}
				wantDX[best] += float64(dy[i])
			}
			fill(dx, nan32)
			p.MaxPoolGrad(dx, dy, argmax)
			checkClose(t, "gradient", dx, wantDX, 1e-6)
		}
	})
}

// TestMaxPoolNaN wants a NaN in the outputs whose windows hold it and in no other,
// wherever in the window it is.
func TestMaxPoolNaN(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, p := range pools {
			for _, at := range []int{0, p.inLen() / 2, p.inLen() - 1} {
				x := randoms(1, p.inLen())
				x[at] = nan32
				y, argmax := make([]float32, p.outLen()), make([]int32, p.outLen())
				p.MaxPool(y, argmax, x)
				for i, window := range p.windows() {
					if isNaN, want := y[i] != y[i], slices.Contains(window, at); isNaN != want {
						t.Fatalf("%+v: output %d is %v, x[%d] NaN", p, i, y[i], at)
					}
					if x[argmax[i]] != y[i] && y[i] == y[i] {
						t.Fatalf("%+v: output %d is %v, x[argmax] %v", p, i, y[i], x[argmax[i]])
					}
				}
			}
		}
	})
}

// TestMaxPoolExtremes: a window of -Inf still has a place, a window of padding
// alone has none and takes no gradient.
func TestMaxPoolExtremes(t *testing.T) {
	p := Pool2D{Height: 2, Width: 2, Channels: 1, KernelH: 2, KernelW: 2, StrideH: 2, StrideW: 2}
	y, argmax := make([]float32, 1), make([]int32, 1)
	p.MaxPool(y, argmax, []float32{-inf32, -inf32, -inf32, -inf32})
	if y[0] != -inf32 || argmax[0] != 0 {
		t.Errorf("window of -Inf: %v from %d, want -Inf from 0", y[0], argmax[0])
	}

	p = Pool2D{Height: 1, Width: 1, Channels: 1, KernelH: 1, KernelW: 1, StrideH: 1, StrideW: 1, PadH: 1}
	y, argmax = make([]float32, 3), make([]int32, 3)
	p.MaxPool(y, argmax, []float32{5})
	if !slices.Equal(y, []float32{-inf32, 5, -inf32}) || !slices.Equal(argmax, []int32{-1, 0, -1}) {
		t.Errorf("windows of padding: %v from %v", y, argmax)
	}
	dx := make([]float32, 1)
	p.MaxPoolGrad(dx, []float32{1, 2, 3}, argmax)
	if dx[0] != 2 {
		t.Errorf("gradient %v, want 2", dx[0])
	}
}

// TestAvgPool divides by the whole kernel, padding included, or by the part inside of the image.
func TestAvgPool(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, p := range pools {
			x, dy := randoms(1, p.inLen()), randoms(2, p.outLen())
			y, dx := make([]float32, p.outLen()), make([]float32, p.inLen())
			fill(y, nan32)
			fill(dx, nan32)
			for _, p.OnlyInside = range []bool{false, true} {
				p.AvgPool(y, x)
				p.AvgPoolGrad(dx, dy)
				wantY, wantDX := make([]float64, len(y)), make([]float64, len(dx))
				for i, window := range p.windows() {
					size := p.KernelH * p.KernelW
					if p.OnlyInside {
						size = len(window)
					}
					for _, at := range window {
						wantY[i] += float64(x[at]) / float64(size)
						wantDX[at] += float64(dy[i]) / float64(size)
					}
				}
				checkClose(t, "forward", y, wantY, 1e-6)
				checkClose(t, "gradient", dx, wantDX, 1e-6)
			}
		}
	})
}
