package kernel

import (
	"fmt"
	"slices"
	"testing"
)

// convs are geometries with everything that can be odd about one: padding wider
// than the kernel's reach, strides that leave a rest, one column, 1×1 kernels,
// kernels as large as the image; and dilation and groups.
var convs = []Conv{
	{Height: 5, Width: 7, In: 3, Out: 4, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
	{Height: 28, Width: 28, In: 1, Out: 16, KernelH: 8, KernelW: 8, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3},
	{Height: 6, Width: 5, In: 2, Out: 3, KernelH: 1, KernelW: 1, StrideH: 1, StrideW: 1},
	{Height: 6, Width: 5, In: 2, Out: 3, KernelH: 6, KernelW: 5, StrideH: 1, StrideW: 1},
	{Height: 4, Width: 9, In: 2, Out: 1, KernelH: 2, KernelW: 3, StrideH: 3, StrideW: 2, PadH: 0, PadW: 2},
	{Height: 3, Width: 1, In: 5, Out: 2, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 2, PadW: 3},
	{Height: 2, Width: 2, In: 1, Out: 1, KernelH: 5, KernelW: 5, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
	{Height: 9, Width: 8, In: 3, Out: 4, KernelH: 3, KernelW: 2, StrideH: 1, StrideW: 1, PadH: 2, PadW: 1, DilationH: 2, DilationW: 3},
	{Height: 9, Width: 8, In: 8, Out: 8, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 2, PadW: 2, DilationH: 2, DilationW: 2},
	{Height: 8, Width: 9, In: 2, Out: 3, KernelH: 2, KernelW: 3, StrideH: 2, StrideW: 3, PadH: 1, PadW: 4, DilationH: 4, DilationW: 2},
	{Height: 6, Width: 5, In: 6, Out: 4, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 2},
	{Height: 6, Width: 7, In: 16, Out: 24, KernelH: 3, KernelW: 1, StrideH: 2, StrideW: 1, PadH: 0, PadW: 0, Groups: 8},
	{Height: 7, Width: 6, In: 4, Out: 12, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 2, PadH: 2, PadW: 1, DilationH: 2, DilationW: 1, Groups: 4},
	{Height: 7, Width: 6, In: 5, Out: 5, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 5},
	{Height: 8, Width: 9, In: 16, Out: 16, KernelH: 3, KernelW: 3, StrideH: 2, StrideW: 2, PadH: 2, PadW: 2, DilationH: 2, DilationW: 2, Groups: 16},
	{Height: 7, Width: 8, In: 8, Out: 8, KernelH: 2, KernelW: 4, StrideH: 1, StrideW: 3, Groups: 8},
}

func TestConvSizes(t *testing.T) {
	// PyTorch: floor((size + 2·padding - dilation·(kernel-1) - 1) / stride) + 1.
	c := Conv{Height: 28, Width: 13, In: 2, KernelH: 8, KernelW: 4, StrideH: 2, StrideW: 3, PadH: 3, PadW: 0}
	if h, w := c.OutHeight(), c.OutWidth(); h != 14 || w != 4 {
		t.Errorf("output is %d×%d, want 14×4", h, w)
	}
	if c.Positions() != 56 || c.Taps() != 64 {
		t.Errorf("%d positions and %d taps, want 56 and 64", c.Positions(), c.Taps())
	}
	c.DilationH, c.DilationW, c.Groups = 2, 3, 2
	if h, w := c.OutHeight(), c.OutWidth(); h != 10 || w != 2 || c.Taps() != 32 {
		t.Errorf("with dilation the output is %d×%d, want 10×2; in two groups there are %d taps, want 32", h, w, c.Taps())
	}
	if p := convs[6].Positions(); p != 0 {
		t.Errorf("a kernel larger than the padded image has %d positions, want 0", p)
	}
}

// TestLower looks up every tap of every position.
func TestLower(t *testing.T) {
	for _, c := range convs {
		x := randoms(1, c.Height*c.Width*c.In)
		cols := make([]float32, c.Positions()*c.Taps())
		for group := range c.groups() {
			fill(cols, nan32)
			c.Lower(cols, x, group)
			for i, got := range cols {
				if want, _ := c.tap(x, i, group); got != want {
					t.Fatalf("%+v: cols[%d] of group %d = %v, want %v", c, i, group, got, want)
				}
			}
		}
	}
}

// tap is element i of a lowered group of the image by definition, and its place in the
// image, -1 for padding.
func (c Conv) tap(x []float32, i, group int) (value float32, at int) {
	channels := c.In / max(c.Groups, 1)
	position, tap := i/c.Taps(), i%c.Taps()
	oh, ow := position/c.OutWidth(), position%c.OutWidth()
	kh, kw, in := tap/(c.KernelW*channels), tap/channels%c.KernelW, tap%channels
	ih, iw := oh*c.StrideH-c.PadH+kh*max(c.DilationH, 1), ow*c.StrideW-c.PadW+kw*max(c.DilationW, 1)
	if ih < 0 || ih >= c.Height || iw < 0 || iw >= c.Width {
		return 0, -1
	}
	at = (ih*c.Width+iw)*c.In + group*channels + in
	return x[at], at
}

// TestRaise adds every element where Lower takes it from.
func TestRaise(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, c := range convs {
			cols, dx := randoms(2, c.Positions()*c.Taps()), make([]float32, c.Height*c.Width*c.In)
			fill(dx, nan32)
			want := make([]float64, len(dx))
			for group := range c.groups() {
				c.Raise(dx, cols, group)
				for i, v := range cols {
					if _, at := c.tap(dx, i, group); at >= 0 {
						want[at] += float64(v)
					}
				}
			}
			checkClose(t, fmt.Sprintf("%+v", c), dx, want, 1e-5)
		}
	})
}

// Transpose takes PyTorch's filters to the tap order of Lower, and back.
func TestTransposeFilters(t *testing.T) {
	const out, in, kh, kw = 2, 3, 2, 2
	src := randoms(1, out*in*kh*kw)
	packed, back := make([]float32, len(src)), make([]float32, len(src))
	Transpose(packed, src, out, in, kh*kw)
	for i, v := range packed {
		o, h, w, c := i/(kh*kw*in), i/(kw*in)%kh, i/in%kw, i%in
		if want := src[((o*in+c)*kh+h)*kw+w]; v != want {
			t.Fatalf("filter %d, row %d, column %d, channel %d is %v, want %v", o, h, w, c, v, want)
		}
	}
	Transpose(back, packed, out, kh*kw, in)
	if !slices.Equal(back, src) {
		t.Error("the transpose of the transpose is not where it started")
	}
}

// A 2×2 image and a 1×2 kernel with one column of padding left and right: three
// positions a row, two taps each.
func ExampleConv_Lower() {
	c := Conv{Height: 2, Width: 2, In: 1, KernelH: 1, KernelW: 2, StrideH: 1, StrideW: 1, PadW: 1}
	cols := make([]float32, c.Positions()*c.Taps())
	c.Lower(cols, []float32{1, 2, 3, 4}, 0)
	for i := range c.Positions() {
		fmt.Println(cols[i*c.Taps() : (i+1)*c.Taps()])
	}
	// Output:
	// [0 1]
	// [1 2]
	// [2 0]
	// [0 3]
	// [3 4]
	// [4 0]
}

func BenchmarkLower(b *testing.B) {
	for _, c := range []Conv{
		{Height: 32, Width: 32, In: 3, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
		{Height: 32, Width: 32, In: 32, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
	} {
		x, cols := randoms(1, c.Height*c.Width*c.In), make([]float32, c.Positions()*c.Taps())
		b.Run(fmt.Sprintf("lower/in=%d", c.In), func(b *testing.B) {
			b.SetBytes(int64(4 * len(cols)))
			for b.Loop() {
				c.Lower(cols, x, 0)
			}
		})
		b.Run(fmt.Sprintf("raise/in=%d", c.In), func(b *testing.B) {
			b.SetBytes(int64(4 * len(cols)))
			for b.Loop() {
				c.Raise(x, cols, 0)
			}
		})
	}
}
