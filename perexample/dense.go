package perexample

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
)

// DenseWeight is the rule of the weight W (Out, In) of a dense layer z = xWᵀ with x (B, In), z (B,
// Out): the gradient of example i is the outer product dzᵢ xᵢᵀ, whose norm is ‖dzᵢ‖·‖xᵢ‖
// (Goodfellow, arXiv:1510.01799).
type DenseWeight struct{ In, Out int }

func (r DenseWeight) Size() int           { return r.In * r.Out }
func (r DenseWeight) Values() (x, dz int) { return r.In, r.Out }
func (r DenseWeight) name() string        { return "dense weight" }

func (r DenseWeight) Cost() Cost {
	product := float64(r.In) * float64(r.Out)
	return Cost{GhostNorm: float64(r.In + r.Out), Form: product}
}

// OfViews implements [Rule]: the rows of an example are positions.
func (r DenseWeight) OfViews(views int) Rule { return r.At(views) }

// At returns the rule of a dense layer that works on each of so many positions of an example, x (B,
// positions, In) and z (B, positions, Out): a 1×1 convolution.
func (r DenseWeight) At(positions int) Rule {
	if positions == 1 {
		return r
	}
	return ConvWeight{kernel.Conv{Height: 1, Width: positions, In: r.In, Out: r.Out, KernelH: 1, KernelW: 1, StrideH: 1, StrideW: 1}}
}

// Former implements [Rule]: it forms dz xᵀ.
func (r DenseWeight) Former(pool *kernel.Pool) Former {
	return whole(pool, r.Size(), func(_ int, g, x, dz []float32) {
		for o, d := range dz {
			scale(g[o*r.In:(o+1)*r.In], d, x)
		}
	})
}

func (r DenseWeight) weightedSum(pool *kernel.Pool, batch int) func(graph.Array, []graph.Array) {
	scaled := make([]float32, batch*r.Out)
	scaleRows := graph.Parallel(pool, batch, graph.Grain(r.Out), func(_, lo, hi int, _ graph.Array, in []graph.Array) {
		for i, w := range in[2].Float32[lo:hi] {
			if w != 0 {
				scale(scaled[(lo+i)*r.Out:(lo+i+1)*r.Out], w, row(in[1], lo+i, r.Out))
			}
		}
	})
	return func(out graph.Array, in []graph.Array) {
		scaleRows(out, in)
		beta := float32(0)
		for lo, hi := nextRun(in[2].Float32[:batch], 0); lo < hi; lo, hi = nextRun(in[2].Float32[:batch], hi) {
			pool.Gemm(true, false, r.Out, r.In, hi-lo, 1, scaled[lo*r.Out:], r.Out, in[0].Float32[lo*r.In:], r.In, beta, out.Float32, r.In)
			beta = 1
		}
		if beta == 0 {
			clear(out.Float32)
		}
	}
}

// nextRun returns the first maximal run [lo, hi) of examples from from on whose weight is not 0; it
// is empty when there is none. Rows outside never enter a product: a weight of 0 would not erase
// what is not finite.
func nextRun(w []float32, from int) (lo, hi int) {
	for lo = from; lo < len(w) && w[lo] == 0; lo++ {
	}
	for hi = lo; hi < len(w) && w[hi] != 0; hi++ {
	}
	return lo, hi
}

func scale(dst []float32, w float32, x []float32) {
	for j, v := range x {
		dst[j] = w * v
	}
}
