package gradients

import (
	"fmt"
	"math"
	"testing"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/tiny"
)

// gradientsOf are those of the examples, in float64.
func gradientsOf(t *testing.T, g *Gradients, indices []int) [][]float64 {
	t.Helper()
	b, err := g.Contributions(indices)
	if err != nil {
		t.Fatal(err)
	}
	gradients := make([][]float64, len(indices))
	for i := range indices {
		for _, p := range b.Parts {
			p.(clip.Rows).Form(0, i, func(piece []float32) {
				for _, v := range piece {
					gradients[i] = append(gradients[i], float64(v))
				}
			})
		}
	}
	return gradients
}

// Sums of clipped gradients are those of float64, to a thousandth of their norm and the margin of
// 2^-12, by either engine, at clip norms far below the gradients and far above: for dense layers and
// for convolutions, clipped as a whole and layer by layer.
func TestSumsAgainstFloat64(t *testing.T) {
	set := tiny.Pictures(t, 40, 1)
	indices := []int{3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 7, 32}
	for _, network := range []string{
		"[{conv2d: {out_channels: 4, kernel_size: 3}}, tanh, {group_norm: {num_groups: 2}}, flatten, {linear: {out_features: classes}}]",
		"[flatten, {linear: {out_features: 60}}, tanh, {linear: {out_features: 20}}, tanh, {linear: {out_features: classes}}]",
	} {
		c := tiny.Parse(t, "model.layers="+network)
		m, err := networkOf(c, set.Shape(), len(set.Classes()))
		if err != nil {
			t.Fatal(err)
		}
		batcher, err := data.NewBatcher(set, c.Data.PerChannel(1))
		if err != nil {
			t.Fatal(err)
		}
		pool := kernel.NewPool(2)
		defer pool.Close()
		engine := func(name string) *Gradients {
			g, err := NewGradients(m, batcher, nil, len(indices), name, Choice{}, pool)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		gradients := gradientsOf(t, engine("materialise"), indices)
		for _, name := range []string{"ghost", "materialise"} {
			g := engine(name)
			for _, bound := range []float64{0.01, 0.1, 1, 8, 100, 1000, 1e4, 1e5, 1e6} {
				for policy, clipped := range map[clip.Policy]func([]float64) []float64{
					clip.Flat{ClipNorm: bound}:     func(gradient []float64) []float64 { return shortened(gradient, bound) },
					clip.PerLayer{ClipNorm: bound}: func(gradient []float64) []float64 { return shorter(m, gradient, bound) },
				} {
					want := make([]float64, len(m.Values))
					for _, gradient := range gradients {
						for i, v := range clipped(gradient) {
							want[i] += v
						}
					}
					var off, size float64
					for i, v := range sumBy(t, g, policy, len(m.Values), indices) {
						off += (v - want[i]) * (v - want[i])
						size += want[i] * want[i]
					}
					if e := math.Sqrt(off / size); !(e < 1e-3+0x1p-12) {
						t.Errorf("%s, %s, %T %g: off by %.2g of the sum", fmt.Sprint(network)[:12], name, policy, bound, e)
					}
				}
			}
		}
	}
}

// shortened is a gradient scaled down to the bound.
func shortened(gradient []float64, bound float64) []float64 {
	var square float64
	for _, v := range gradient {
		square += v * v
	}
	factor, out := math.Min(1, bound/math.Sqrt(square)), make([]float64, len(gradient))
	for i, v := range gradient {
		out[i] = factor * v
	}
	return out
}
