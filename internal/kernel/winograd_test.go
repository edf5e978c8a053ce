package kernel

import (
	"fmt"
	"testing"
)

// TestTransforms holds the one-dimensional transforms of every kernel set against the convolution
// that they are made for: y = Aᵀ((G·g)∘(Bᵀ·d)), for tiles that lie anywhere, without a touch on
// what is between them.
func TestTransforms(t *testing.T) {
	for _, k := range supportedKernels() {
		w := k.winograd
		for _, c := range []struct {
			name                   string
			outputs, taps          int
			window, filter, output tileTransform
		}{
			{name: "F(4, 3)", outputs: 4, taps: 3, window: w.window6, filter: w.filter6, output: w.output6},
			{name: "F(2, 3)", outputs: 2, taps: 3, window: w.window4, filter: w.filter4, output: w.output4},
			{name: "F(3, 2)", outputs: 3, taps: 2, window: w.window4, filter: w.unscaledDelta, output: w.gradient4},
		} {
			const tiles = 3
			for _, n := range []int{8, 16, 40} {
				points := c.outputs + c.taps - 1
				d, g := newTileVectors(1, tiles, points, n), newTileVectors(2, tiles, c.taps, n)
				v, u := transformed(c.window, d, points), transformed(c.filter, g, points)
				for i := range v.data {
					v.data[i] *= u.data[i]
				}
				y := transformed(c.output, v, c.outputs)
				for tile := range tiles {
					for o := range c.outputs {
						for i := range n {
							var want float64
							for tap := range c.taps {
								want += float64(d.at(tile, o+tap, i)) * float64(g.at(tile, tap, i))
							}
							if got := float64(y.at(tile, o, i)); !(got-want < 2e-5 && want-got < 2e-5) {
								t.Fatalf("%s %s: output %d of tile %d is %v, want %v", k.name, c.name, o, tile, got, want)
							}
						}
					}
				}
				for i := range y.data {
					if inGap := i%y.stride >= n; inGap != (y.data[i] != y.data[i]) {
						t.Fatalf("%s %s: value %d of %d a vector is %v", k.name, c.name, i%y.stride, n, y.data[i])
					}
				}
			}
		}
	}
}

func (w *winogradSet) unscaledDelta(tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
	w.delta4(1, tiles, n, dst, dstStride, dstStep, src, srcStep)
}

// tileVectors is count vectors of n values for each tile, with gaps of NaN between them.
type tileVectors struct {
	data                    []float32
	tiles, count, n, stride int
}

func newTileVectors(seed uint64, tiles, count, n int) tileVectors {
	v := tileVectors{tiles: tiles, count: count, n: n, stride: n + 3}
	v.data = randoms(seed, tiles*count*v.stride)
	for i := range v.data {
		if i%v.stride >= n {
			v.data[i] = nan32
		}
	}
	return v
}

func (v tileVectors) at(tile, vector, i int) float32 {
	return v.data[(tile*v.count+vector)*v.stride+i]
}

// transformed applies a transform with that many outputs.
func transformed(f tileTransform, v tileVectors, outputs int) tileVectors {
	y := newTileVectors(3, v.tiles, outputs, v.n)
	var src vectors
	for i := range v.count {
		src[i] = v.data[i*v.stride:]
	}
	f(v.tiles, v.n, y.data, y.stride, outputs*y.stride, src, v.count*v.stride)
	return y
}

// TestDeltaScale: the weight of an image multiplies its transformed gradients.
func TestDeltaScale(t *testing.T) {
	for _, k := range supportedKernels() {
		d := newTileVectors(1, 2, 2, 16)
		plain := transformed(k.winograd.unscaledDelta, d, 4)
		scaled := transformed(func(tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
			k.winograd.delta4(-0.25, tiles, n, dst, dstStride, dstStep, src, srcStep)
		}, d, 4)
		for i, v := range plain.data {
			if want := -0.25 * v; scaled.data[i] != want && v == v {
				t.Fatalf("%s: value %d is %v, want %v", k.name, i, scaled.data[i], want)
			}
		}
	}
}

// TestRotatedFilters: the input gradient's filters equal those of the convolution whose filters
// were turned by hand.
func TestRotatedFilters(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, c := range []Conv{square(8, 16, 40), square(2, 24, 8)} {
			filters, turned := randoms(1, c.Out*c.Taps()), make([]float32, c.Out*c.Taps())
			for o := range c.Out {
				for tap := range 9 {
					for i := range c.In {
						turned[(i*9+8-tap)*c.Out+o] = filters[(o*9+tap)*c.In+i]
					}
				}
			}
			back, _ := c.transposed()
			a, b := newWinograd(back, nil), newWinograd(back, nil)
			a.setFilters(filters, true)
			b.setFilters(turned, false)
			for xi := range a.points * a.points {
				for o := range a.Out {
					for i := range a.In {
						at := xi*a.uStride + o/a.panelCols*a.panelCols*a.In + i*a.panelCols + o%a.panelCols
						if a.filters[at] != b.filters[at] {
							t.Fatalf("%+v: element %d of filter (%d, %d) is %v, want %v", c, xi, o, i, a.filters[at], b.filters[at])
						}
					}
				}
			}
		}
	})
}

// BenchmarkTransforms measures one row of tiles in the first-level cache.
func BenchmarkTransforms(b *testing.B) {
	const tiles, n = 4, 32
	for _, c := range []struct {
		name            string
		f               tileTransform
		inputs, outputs int
	}{
		{"window6", active.winograd.window6, 6, 6}, {"output6", active.winograd.output6, 6, 4},
		{"window4", active.winograd.window4, 4, 4}, {"gradient4", active.winograd.gradient4, 4, 3},
	} {
		v := newTileVectors(1, tiles, c.inputs, n)
		y := newTileVectors(2, tiles, c.outputs, n)
		var src vectors
		for i := range c.inputs {
			src[i] = v.data[i*v.stride:]
		}
		b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
			b.SetBytes(4 * tiles * n * int64(c.inputs))
			for b.Loop() {
				c.f(tiles, n, y.data, y.stride, c.outputs*y.stride, src, c.inputs*v.stride)
			}
		})
	}
}
