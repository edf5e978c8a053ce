package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// square is a 3×3 convolution with padding 1.
func square(size, in, out int) Conv {
	return Conv{Height: size, Width: size, In: in, Out: out, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1}
}

// geometries has images that tiles do not fill, every padding, channels that do not fill a panel,
// and the geometries of convs, which are lowered or depthwise.
var geometries = append([]Conv{
	square(8, 16, 24), square(9, 8, 40), square(2, 16, 8), square(3, 8, 8), square(1, 8, 8), square(16, 64, 16),
	{Height: 7, Width: 12, In: 8, Out: 16, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1},
	{Height: 5, Width: 10, In: 16, Out: 8, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 2, PadW: 0},
	{Height: 6, Width: 4, In: 8, Out: 8, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 0, PadW: 2},
	{Height: 6, Width: 6, In: 8, Out: 8, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 3, PadW: 4},
	{Height: 8, Width: 8, In: 8, Out: 8, KernelH: 3, KernelW: 3, StrideH: 2, StrideW: 1, PadH: 1, PadW: 1},
	{Height: 32, Width: 32, In: 8, Out: 8, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
}, append(convs[:6:6], convs[7:]...)...)

// eachProduct visits every product of the definition, by the places of its factors and of its sum
// in the image, the filters and the output.
func (c Conv) eachProduct(visit func(x, filter, z int)) {
	image, groups := make([]float32, c.Height*c.Width*c.In), max(c.Groups, 1)
	for i := range c.Positions() * c.Taps() {
		for o := range c.Out {
			if _, at := c.tap(image, i, o/(c.Out/groups)); at >= 0 {
				position, tap := i/c.Taps(), i%c.Taps()
				visit(at, o*c.Taps()+tap, position*c.Out+o)
			}
		}
	}
}

func (c Conv) forwardReference(x, filters, bias []float32) []float64 {
	z := make([]float64, c.Positions()*c.Out)
	for i := range z {
		z[i] = float64(bias[i%c.Out])
	}
	c.eachProduct(func(at, filter, to int) { z[to] += float64(x[at]) * float64(filters[filter]) })
	return z
}

func (c Conv) inputGradientReference(dz, filters []float32) []float64 {
	dx := make([]float64, c.Height*c.Width*c.In)
	c.eachProduct(func(at, filter, from int) { dx[at] += float64(dz[from]) * float64(filters[filter]) })
	return dx
}

func (c Conv) filterGradientReference(x, dz []float32) []float64 {
	g := make([]float64, c.Out*c.Taps())
	c.eachProduct(func(at, filter, from int) { g[filter] += float64(dz[from]) * float64(x[at]) })
	return g
}

// worstError is the largest difference, relative to the largest value.
func worstError(got []float32, want []float64) float64 {
	var difference, largest float64
	for i, w := range want {
		difference = max(difference, math.Abs(float64(got[i])-w))
		largest = max(largest, math.Abs(w))
	}
	return difference / max(largest, math.SmallestNonzeroFloat64)
}

// normError returns the norm of the difference, relative to the norm of want.
func normError(got []float32, want []float64) float64 {
	var difference, norm float64
	for i, w := range want {
		difference += (float64(got[i]) - w) * (float64(got[i]) - w)
		norm += w * w
	}
	return math.Sqrt(difference / max(norm, math.SmallestNonzeroFloat64))
}

// convolutionData is a batch of random data.
type convolutionData struct {
	Conv
	batch                        int
	x, filters, bias, dz, weight []float32
}

func newConvolutionData(c Conv, batch int) convolutionData {
	return convolutionData{c, batch, randoms(1, batch*c.Height*c.Width*c.In), randoms(2, c.Out*c.Taps()), randoms(3, c.Out),
		randoms(4, batch*c.Positions()*c.Out), randoms(5, batch)}
}

// results holds everything that a Convolution computes.
type results struct{ z, dx, g, whole, sum []float32 }

func (d convolutionData) run(c *Convolution) results {
	r := results{make([]float32, len(d.dz)), make([]float32, len(d.x)),
		make([]float32, d.batch*len(d.filters)), make([]float32, len(d.filters)), make([]float32, len(d.filters))}
	for _, values := range [][]float32{r.z, r.dx, r.g, r.whole, r.sum} {
		fill(values, nan32)
	}
	c.forwardAll(r.z, d.x, d.filters, d.bias, d.batch)
	c.inputGradientAll(r.dx, d.dz, d.filters, d.batch)
	d.filterGradients(c, r.g)
	c.FilterGradients(0, r.whole, d.x, d.dz, d.batch)
	c.FilterGradientSum(r.sum, d.x, d.dz, d.weight)
	return r
}

// filterGradients computes the gradients g (batch, Out, KernelH, KernelW, In) of all images.
func (d convolutionData) filterGradients(c *Convolution, g []float32) {
	for i := range d.batch {
		c.FilterGradient(0, part(g, i, d.batch), part(d.x, i, d.batch), part(d.dz, i, d.batch))
	}
}

// part is the part of image i of a batch.
func part(x []float32, i, batch int) []float32 {
	n := len(x) / batch
	return x[i*n : (i+1)*n]
}

// TestConvolutionIsTheDefinition holds everything against sums of products in float64, to the
// precision that Convolution promises.
func TestConvolutionIsTheDefinition(t *testing.T) {
	const batch = 3
	for _, c := range geometries {
		d := newConvolutionData(c, batch)
		var z, unbiased, dx, g [batch][]float64
		sum, whole := make([]float64, len(d.filters)), make([]float64, len(d.filters))
		for i := range batch {
			x, dz := part(d.x, i, batch), part(d.dz, i, batch)
			z[i], unbiased[i] = c.forwardReference(x, d.filters, d.bias), c.forwardReference(x, d.filters, make([]float32, c.Out))
			dx[i], g[i] = c.inputGradientReference(dz, d.filters), c.filterGradientReference(x, dz)
			for j, v := range g[i] {
				sum[j] += float64(d.weight[i]) * v
				whole[j] += v
			}
		}
		onEachKernelSet(t, func(t *testing.T) {
			got := d.run(NewConvolution(c, nil))
			without := make([]float32, len(d.dz))
			NewConvolution(c, nil).forwardAll(without, d.x, d.filters, nil, batch)
			for i := range batch {
				for what, off := range map[string]float64{
					"forward":              worstError(part(got.z, i, batch), z[i]) / 5e-6,
					"forward without bias": worstError(part(without, i, batch), unbiased[i]) / 5e-6,
					"input gradient":       worstError(part(got.dx, i, batch), dx[i]) / 5e-6,
					"filter gradient":      normError(part(got.g, i, batch), g[i]) / 1e-6,
				} {
					if !(off <= 1) {
						t.Errorf("%+v: %s of image %d is off by %.2g times as much as it may", c, what, i, off)
					}
				}
			}
			for what, e := range map[string]float64{"weighted sum": normError(got.sum, sum), "sum of all images": normError(got.whole, whole)} {
				if !(e <= 1e-6) {
					t.Errorf("%+v: %s is off by %.2g", c, what, e)
				}
			}
		})
	}
}

// TestHardFilterGradients has data on which a fast algorithm may lose digits that the definition
// keeps.
func TestHardFilterGradients(t *testing.T) {
	c := square(16, 16, 8)
	scale := func(x []float32, channels int, factor func(pixel int) float32) {
		for i := range x {
			x[i] *= factor(i / channels)
		}
	}
	for _, data := range []struct {
		name   string
		change func(x, dz []float32)
	}{
		{"large mean", func(x, dz []float32) { addTo(x, 1000); addTo(dz, 1) }},
		{"large means", func(x, dz []float32) { addTo(x, 1000); addTo(dz, 1000) }},
		{"mixed magnitudes", func(x, dz []float32) {
			exponents := randoms(9, 512)
			scale(x, c.In, func(p int) float32 { return exp32(4 * exponents[p]) })
			scale(dz, c.Out, func(p int) float32 { return exp32(4 * exponents[256+p]) })
		}},
		{"few pixels", func(x, _ []float32) { scale(x, c.In, func(p int) float32 { return float32(b2i(p%37 == 0)) }) }},
		{"few gradients", func(_, dz []float32) { scale(dz, c.Out, func(p int) float32 { return float32(b2i(p%29 == 0)) }) }},
		{"an outlier out of reach", func(x, dz []float32) { // of all gradients in its tile
			scale(x, c.In, func(p int) float32 { return 1 + 1e5*float32(b2i(p == 2*16+2)) })
			scale(dz, c.Out, func(p int) float32 { return float32(b2i(p >= 4*16)) })
			scale(dz, c.Out, func(p int) float32 { return 1 })
			for _, p := range []int{3*16 + 4, 4*16 + 3} {
				dz[p*c.Out] = 1
			}
		}},
		{"an outlier in every other tile", func(x, dz []float32) {
			scale(x, c.In, func(p int) float32 { return 1 + 1e6*float32(b2i(p/16%4 == 1 && p%16%4 == 1)) })
			scale(dz, c.Out, func(p int) float32 { return float32(b2i(p/16%4 == 3 || p%16%4 == 3)) })
		}},
		{"tiny", func(x, dz []float32) {
			scale(x, c.In, func(int) float32 { return 1e-20 })
			scale(dz, c.Out, func(int) float32 { return 1e-10 })
		}},
		{"huge", func(x, dz []float32) {
			scale(x, c.In, func(int) float32 { return 1e30 })
			scale(dz, c.Out, func(int) float32 { return 1e-10 })
		}},
	} {
		onEachKernelSet(t, func(t *testing.T) {
			d := newConvolutionData(c, 1)
			data.change(d.x, d.dz)
			d.weight[0] = 0.5
			got, want := d.run(NewConvolution(c, nil)), c.filterGradientReference(d.x, d.dz)
			if e := normError(got.g, want); !(e <= 1e-6) {
				t.Errorf("%s: gradient is off by %.2g of its norm", data.name, e)
			}
			for i := range want {
				want[i] /= 2
			}
			if e := normError(got.sum, want); !(e <= 1e-6) {
				t.Errorf("%s: sum is off by %.2g of its norm", data.name, e)
			}
		})
	}
}

func addTo(x []float32, v float32) {
	for i := range x {
		x[i] += v
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestCancellingFilterGradients: where the terms of the definition cancel every algorithm in
// float32 loses digits, and this one not many more than lowering.
func TestCancellingFilterGradients(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		c := square(16, 16, 8)
		d := newConvolutionData(c, 1)
		addTo(d.x, 1000)
		for o := range c.Out { // the gradients of a channel sum to nearly zero
			var sum float64
			for i := o; i < len(d.dz); i += c.Out {
				sum += float64(d.dz[i])
			}
			for i := o; i < len(d.dz); i += c.Out {
				d.dz[i] -= float32(sum / float64(c.Positions()))
			}
		}
		want := c.filterGradientReference(d.x, d.dz)
		fast, slow := d.run(NewConvolution(c, nil)), d.run(newLoweredConvolution(c, nil))
		if e, f := normError(fast.g, want), normError(slow.g, want); !(e <= 4*f) {
			t.Errorf("off by %.2g, lowering by %.2g", e, f)
		}
	})
}

// TestConvolutionOfOneImage: the result for an image does not depend, bit for bit, on the others in
// its batch, be they not even finite, nor on the number of threads; images of weight 0 are not
// read.
func TestConvolutionOfOneImage(t *testing.T) {
	const batch, bad = 13, 7
	p := NewPool(3)
	defer p.Close()
	onEachKernelSet(t, func(t *testing.T) {
		for _, c := range geometries {
			d := newConvolutionData(c, batch)
			d.weight[bad] = 0
			want := d.run(NewConvolution(c, nil))
			if got := d.run(NewConvolution(c, p)); !equalResults(got, want) {
				t.Errorf("%+v: three threads give other values than one", c)
			}
			fill(part(d.x, bad, batch), nan32)
			fill(part(d.dz, bad, batch), inf32)
			got := d.run(NewConvolution(c, p))
			if !slices.Equal(got.sum, want.sum) {
				t.Errorf("%+v: the sum reads an image of weight 0", c)
			}
			for i := range batch {
				one := convolutionData{c, 1, part(d.x, i, batch), d.filters, d.bias, part(d.dz, i, batch), d.weight[i : i+1]}
				alone := one.run(NewConvolution(c, nil))
				if i != bad && !(slices.Equal(alone.z, part(got.z, i, batch)) && slices.Equal(alone.dx, part(got.dx, i, batch)) &&
					slices.Equal(alone.g, part(got.g, i, batch))) {
					t.Errorf("%+v: image %d depends on its batch", c, i)
				}
			}
		}
	})
}

func equalResults(a, b results) bool {
	return slices.Equal(a.z, b.z) && slices.Equal(a.dx, b.dx) && slices.Equal(a.g, b.g) && slices.Equal(a.sum, b.sum)
}

func TestConvolutionAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	p := NewPool(2)
	defer p.Close()
	onEachKernelSet(t, func(t *testing.T) {
		for _, c := range []Conv{square(8, 16, 24), convs[0], convs[8], convs[10], convs[13], convs[14]} {
			const batch = 8
			d, v := newConvolutionData(c, batch), NewConvolution(c, p)
			r := d.run(v)
			step := func() {
				v.Prepare(d.filters)
				v.Forward(0, r.z, d.x, d.bias, 0, batch)
				v.PrepareBack(d.filters)
				v.InputGradient(0, r.dx, d.dz, 0, batch)
				d.filterGradients(v, r.g)
				v.FilterGradientSum(r.sum, d.x, d.dz, d.weight)
				if c.groups() == 1 {
					v.GramProduct(0, part(d.x, 0, batch), part(d.dz, 0, batch))
				}
			}
			for range 50 { // until both workers have had work of each kind
				step()
			}
			if allocs := testing.AllocsPerRun(20, step); allocs != 0 {
				t.Errorf("%+v: %v allocations per step, want 0", c, allocs)
			}
		}
	})
}

// BenchmarkConvolution measures both algorithms on one thread for the 3×3 layers of the networks,
// in GFLOP/s of the definition. The choice between them rests on it:
//
//	go test ./internal/kernel -run '^$' -bench Convolution -benchtime 60ms -count 5
func BenchmarkConvolution(b *testing.B) {
	const batch = 32
	for _, c := range []Conv{
		square(32, 16, 16), square(32, 32, 32),
		square(16, 32, 32), square(16, 32, 64), square(16, 64, 64),
		square(8, 64, 64), square(8, 64, 128), square(8, 128, 128), square(4, 64, 128),
	} {
		d := newConvolutionData(c, batch)
		for _, a := range []struct {
			name string
			v    *Convolution
			gram func(v *Convolution, worker int, x, dz []float32) (sum, magnitude, underflow float64)
		}{
			{"lowered", newLoweredConvolution(c, nil), (*Convolution).loweredGramProduct},
			{"fast", NewConvolution(c, nil), (*Convolution).GramProduct},
		} {
			r := d.run(a.v)
			for _, what := range []struct {
				name string
				run  func()
			}{
				{"forward", func() { a.v.forwardAll(r.z, d.x, d.filters, d.bias, batch) }},
				{"input-gradient", func() { a.v.inputGradientAll(r.dx, d.dz, d.filters, batch) }},
				{"filter-gradients", func() { d.filterGradients(a.v, r.g) }},
				{"filter-gradient-sum", func() { a.v.FilterGradientSum(r.sum, d.x, d.dz, d.weight) }},
				{"gram", func() {
					for i := range batch {
						a.gram(a.v, 0, part(d.x, i, batch), part(d.dz, i, batch))
					}
				}},
			} {
				b.Run(fmt.Sprintf("%s/%dx%d/%d-%d/%s", what.name, c.Height, c.Width, c.In, c.Out, a.name), func(b *testing.B) {
					for b.Loop() {
						what.run()
					}
					work := 2 * float64(c.Positions()*c.Taps()*c.Out*batch)
					b.ReportMetric(work*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}

// forwardAll and inputGradientAll compute all images of a batch on the pool.
func (c *Convolution) forwardAll(z, x, filters, bias []float32, batch int) {
	c.Prepare(filters)
	c.pool.Run(batch, c.Grain(), func(worker, lo, hi int) { c.Forward(worker, z, x, bias, lo, hi) })
}

func (c *Convolution) inputGradientAll(dx, dz, filters []float32, batch int) {
	c.PrepareBack(filters)
	c.pool.Run(batch, c.Grain(), func(worker, lo, hi int) { c.InputGradient(worker, dx, dz, lo, hi) })
}
