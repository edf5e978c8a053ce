package perexample

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// DenseWeight is the rule of the weight W (Out, In) of a dense layer z = xWᵀ with x (B, In), z (B, Out): the gradient of
// example i is the outer product dzᵢ xᵢᵀ, whose norm is ‖dzᵢ‖·‖xᵢ‖ (Goodfellow, arXiv:1510.01799).
type DenseWeight struct{ In, Out int }

var _ Rule = DenseWeight{}

func (r DenseWeight) Size() int { return r.In * r.Out }

func (r DenseWeight) Cost() Cost {
	product := float64(r.In) * float64(r.Out)
	return Cost{GhostNorm: float64(r.In + r.Out), GhostSum: product, Materialise: product}
}

func (r DenseWeight) check(b *graph.Builder, x, dz *gorgonia.Node) bool {
	return expect(b, "dense weight", "the input", x, r.In) && expect(b, "dense weight", "the output", dz, r.Out) &&
		sameBatch(b, "dense weight", x, dz)
}

func (r DenseWeight) Gradients(b *graph.Builder, x, dz *gorgonia.Node) *gorgonia.Node {
	if !r.check(b, x, dz) {
		return nil
	}
	batch, pool := x.Shape()[0], b.Pool()
	return b.Apply(graph.Operation{
		Name: "dense-gradients", Type: tensor.Float32, Shape: []int{batch, r.Size()},
		Run: func(out graph.Array, in []graph.Array) {
			pool.Run(batch, 1, func(_, lo, hi int) {
				for i := lo; i < hi; i++ {
					r.outer(out.Float32[i*r.Size():(i+1)*r.Size()], row(in[0], i, r.In), row(in[1], i, r.Out))
				}
			})
		},
	}, x, dz)
}

// outer writes dz xᵀ.
func (r DenseWeight) outer(g, x, dz []float32) {
	for o, d := range dz {
		line := g[o*r.In : (o+1)*r.In]
		for j, v := range x {
			line[j] = d * v
		}
	}
}

func (r DenseWeight) SquaredNorms(b *graph.Builder, x, dz *gorgonia.Node) *gorgonia.Node {
	if !r.check(b, x, dz) {
		return nil
	}
	batch, pool := x.Shape()[0], b.Pool()
	return b.Apply(graph.Operation{
		Name: "dense-squared-norms", Type: tensor.Float64, Shape: []int{batch},
		Run: func(out graph.Array, in []graph.Array) {
			pool.Run(batch, 1, func(_, lo, hi int) {
				for i := lo; i < hi; i++ {
					out.Float64[i] = kernel.SumSquares(row(in[0], i, r.In)) * kernel.SumSquares(row(in[1], i, r.Out))
				}
			})
		},
	}, x, dz)
}

func (r DenseWeight) WeightedSum(b *graph.Builder, x, dz, w *gorgonia.Node) *gorgonia.Node {
	if !r.check(b, x, dz) || !sameBatch(b, "dense weight", dz, w) {
		return nil
	}
	batch, pool := x.Shape()[0], b.Pool()
	scaled := graph.NewScratch(batch * r.Out)
	return b.Apply(graph.Operation{
		Name: "dense-weighted-sum", Type: tensor.Float32, Shape: []int{r.Size()},
		Run: func(out graph.Array, in []graph.Array) {
			x, dz, w := in[0].Float32, in[1].Float32, in[2].Float32[:batch]
			wdz := scaled.For(0)
			clear(out.Float32)
			eachRun(w, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					scale(wdz[i*r.Out:(i+1)*r.Out], w[i], dz[i*r.Out:(i+1)*r.Out])
				}
				pool.Gemm(true, false, r.Out, r.In, hi-lo, 1, wdz[lo*r.Out:], r.Out, x[lo*r.In:], r.In, 1, out.Float32, r.In)
			})
		},
	}, x, dz, w)
}

// eachRun calls f for every maximal run [lo, hi) of examples whose weight is not 0. Rows outside never enter a product:
// a weight of 0 would not erase what is not finite.
func eachRun(w []float32, f func(lo, hi int)) {
	for lo := 0; lo < len(w); {
		if w[lo] == 0 {
			lo++
			continue
		}
		hi := lo + 1
		for hi < len(w) && w[hi] != 0 {
			hi++
		}
		f(lo, hi)
		lo = hi
	}
}

// row is the values of example i.
func row(a graph.Array, i, values int) []float32 { return a.Float32[i*values : (i+1)*values] }

// scale writes w·x.
func scale(dst []float32, w float32, x []float32) {
	for j, v := range x {
		dst[j] = w * v
	}
}
