package perexample

import (
	"math"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
)

// ConvWeight is the rule of the filters of a convolution, stored (Out, kernel height, kernel width,
// In/Groups), with x (B, H, W, In) and dz (B, H', W', Out). With T = H'·W' positions, D = taps of
// one filter and U the lowered input (T×D), the gradient of example i is dzᵢᵀUᵢ, and its squared
// norm is ⟨UᵢUᵢᵀ, dzᵢdzᵢᵀ⟩ (Bu et al., arXiv:2205.10683, section 3). The gradients of groups are so
// much smaller that they are formed for their norms too.
type ConvWeight struct{ kernel.Conv }

func (r ConvWeight) Size() int              { return r.Out * r.Taps() }
func (r ConvWeight) Values() (x, dz int)    { return r.Height * r.Width * r.In, r.Positions() * r.Out }
func (r ConvWeight) name() string           { return "convolution weight" }
func (r ConvWeight) OfViews(views int) Rule { return SummedViews{r, views} }

func (r ConvWeight) Cost() Cost {
	t, d, p := float64(r.Positions()), float64(r.Taps()), float64(r.Out)
	if r.Groups > 1 {
		return Cost{GhostNorm: t * d * p, Form: t * d * p}
	}
	gram := d
	if r.StrideH == 1 && r.StrideW == 1 {
		// Products of pixels serve all the taps at the same distance; an addition for each tap is
		// left.
		gram = float64(r.In + r.KernelH*r.KernelW)
	}
	return Cost{GhostNorm: t * t * (gram + p), Form: t * d * p}
}

func (r ConvWeight) Former(pool *kernel.Pool) Former {
	return kernel.NewConvolution(r.Conv, pool).FilterGradientPieces
}

// sumFormer returns the Former of the sum of the gradients of several images.
func (r ConvWeight) sumFormer(pool *kernel.Pool, images int) Former {
	convolution := kernel.NewConvolution(r.Conv, pool)
	return whole(pool, r.Size(), func(worker int, g, x, dz []float32) { convolution.FilterGradients(worker, g, x, dz, images) })
}

// gram returns the norm of the gradient of a convolution of one group, by Gram matrices.
func (r ConvWeight) gram(pool *kernel.Pool) norm {
	convolution := kernel.NewConvolution(r.Conv, pool)
	gradients := graph.NewScratch(pool, r.Size())
	return func(worker, _ int, x, dz []float32) float64 {
		square, magnitude, underflow := convolution.GramProduct(worker, x, dz)
		if square*maxCancellation < magnitude || square*maxUnderflow < underflow {
			// The terms cancel, or lie below the range of float32, and the digits of the norm are
			// lost; an example must not be clipped by a norm that is too small, so its gradient is
			// formed after all. The weighted sum forms it again by another algorithm, with other
			// errors, which the norm covers.
			g := gradients.For(worker)
			convolution.FilterGradient(worker, g, x, dz)
			norm := math.Sqrt(kernel.SumSquares(g)) + formedError*math.Sqrt(magnitude)
			square = norm * norm
		}
		return square
	}
}

// maxCancellation bounds the sum of the magnitudes of the terms, relative to the squared norm. The
// float32 rounding of a term is near 2⁻²⁴·√D of its size and mostly averages out: near this limit
// the tests find norms right to a relative 1e-6, well inside the margin that package clip keeps for
// them.
const maxCancellation = 32

// formedError bounds the difference between two float32 forms of one gradient, in units of the root
// of the summed magnitudes of the terms of its squared norm: that is their size, when the gradient
// has lost it to cancellation. The tests of package kernel hold filter gradients to 1e-6 ≈ 2⁻²⁰ of
// that size or better.
const formedError = 0x1p-20

// maxUnderflow bounds the part of the squared norm that products below the range of float32 may
// take.
const maxUnderflow = 0x1p-21

func (r ConvWeight) weightedSum(pool *kernel.Pool, batch int) func(graph.Array, []graph.Array) {
	convolution := kernel.NewConvolution(r.Conv, pool)
	return func(out graph.Array, in []graph.Array) {
		convolution.FilterGradientSum(out.Float32, in[0].Float32, in[1].Float32, in[2].Float32[:batch])
	}
}
