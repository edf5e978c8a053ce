package gradients

import (
	"fmt"
	"math"
	"testing"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/tiny"
)

// Sums of clipped gradients are those of float64, to a thousandth of their norm and the margin of
// 2^-12, by either engine, at clip norms far below the gradients and far above: for dense layers and
// for convolutions, clipped as a whole and layer by layer.
func TestSumsAgainstFloat64(t *testing.T) {
	set := tiny.Pictures(t, 40, 1)
	indices := []int{3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 7, 32}
	for _, network := range []string{
		"[{conv2d: {out_channels: 4, kernel_size: 3}}, tanh, {group_norm: {num_groups: 2}}, flatten, {linear: {out_features: 8}}, relu, {linear: {out_features: classes}}]",
		"[flatten, {linear: {out_features: 60}}, tanh, {linear: {out_features: 20}}, tanh, {linear: {out_features: classes}}]",
		"[flatten, {linear: {out_features: 12}}, layer_norm, {linear: {out_features: classes, bias: false}}]",
	} {
		r := newRig(t, "model.layers="+network, 2)
		dim := len(r.model.Values)
		gradients, _ := each(t, r.gradients(set, data.NoAugmentation(), len(indices), "materialise"), indices)
		for _, name := range []string{"ghost", "materialise"} {
			g := r.gradients(set, data.NoAugmentation(), len(indices), name)
			for _, bound := range []float64{1e-3, 0.01, 0.1, 0.3, 1, 8, 20, 100, 1000, 1e4, 1e5, 1e6} {
				for policy, clipped := range map[clip.Policy]func([]float64) []float64{
					clip.Flat{ClipNorm: bound}:     func(gradient []float64) []float64 { return shortened(gradient, bound) },
					clip.PerLayer{ClipNorm: bound}: func(gradient []float64) []float64 { return shorter(r.model, gradient, bound) },
				} {
					want := make([]float64, dim)
					for _, gradient := range gradients {
						for i, v := range clipped(gradient) {
							want[i] += v
						}
					}
					var off, size float64
					for i, v := range sumBy(t, g, policy, dim, indices) {
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
	factor, out := math.Min(1, bound/math.Sqrt(square(gradient))), make([]float64, len(gradient))
	for i, v := range gradient {
		out[i] = factor * v
	}
	return out
}
