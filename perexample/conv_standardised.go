package perexample

import (
	"fmt"
	"math"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
)

// StandardisedConvWeight is the rule of the filters w of a convolution with ŵ, their
// [Standardisation], of the weights of the same run: the gradient of example i is the gradient of
// [ConvWeight], pulled back to w. Both engines form it, because its norm is not a function of the
// Gram matrices alone.
type StandardisedConvWeight struct {
	ConvWeight
	Standardisation *Standardisation
}

// String describes the geometry; the weights are no part of the rule.
func (r StandardisedConvWeight) String() string { return fmt.Sprintf("%+v", r.ConvWeight) }

func (r StandardisedConvWeight) Cost() Cost {
	c := r.ConvWeight.Cost()
	return Cost{GhostNorm: c.Form, Form: c.Form}
}

func (r StandardisedConvWeight) OfViews(views int) Rule          { return SummedViews{r, views} }
func (r StandardisedConvWeight) Former(pool *kernel.Pool) Former { return r.sumFormer(pool, 1) }

// sumFormer implements [SummedViews]: it forms the gradient with respect to ŵ and pulls it back.
func (r StandardisedConvWeight) sumFormer(pool *kernel.Pool, images int) Former {
	convolution := kernel.NewConvolution(r.Conv, pool)
	return whole(pool, r.Size(), func(worker int, g, x, dz []float32) {
		convolution.FilterGradients(worker, g, x, dz, images)
		r.Standardisation.Pull(g)
	})
}

func (r StandardisedConvWeight) weightedSum(pool *kernel.Pool, batch int) func(graph.Array, []graph.Array) {
	sum := r.ConvWeight.weightedSum(pool, batch)
	return func(out graph.Array, in []graph.Array) {
		sum(out, in)
		r.Standardisation.Pull(out.Float32)
	}
}

// Standardisation gives each filter of a convolution mean 0 and a norm of at most 1, which weights
// of the usual size come close to (Brock et al., arXiv:2101.08692, "scaled weight
// standardization"; De et al., arXiv:2204.13650, use it in private training). With n taps, v the
// variance and µ the mean of a filter w,
//
//	ŵ = (w - µ)·s,    s = 1/sqrt(n·v + ε),    ε = 1e-4.
//
// It is a function of the weights alone, which are public, so that it mixes no examples. The
// gradient with respect to w is a linear function of the one with respect to ŵ:
//
//	g = s·(ĝ - mean(ĝ) - ŵ·⟨ŵ, ĝ⟩).
type Standardisation struct {
	taps     int
	filters  []float32 // ŵ
	inverses []float64 // s
}

const standardiseEpsilon = 1e-4

// NewStandardisation returns a standardisation of out filters with that number of taps each.
func NewStandardisation(out, taps int) *Standardisation {
	return &Standardisation{taps: taps, inverses: make([]float64, out)}
}

// Set writes ŵ of the weights w (out, taps) to dst, and remembers them for the gradients.
func (s *Standardisation) Set(dst, w []float32) {
	if s.filters == nil {
		s.filters = make([]float32, len(s.inverses)*s.taps)
	}
	for o := range s.inverses {
		filter, raw := s.filters[o*s.taps:(o+1)*s.taps], w[o*s.taps:(o+1)*s.taps]
		mean, squares := 0.0, 0.0
		for _, v := range raw {
			mean += float64(v) / float64(s.taps)
		}
		for _, v := range raw {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		s.inverses[o] = 1 / math.Sqrt(squares+standardiseEpsilon)
		for i, v := range raw {
			filter[i] = float32((float64(v) - mean) * s.inverses[o])
		}
	}
	copy(dst, s.filters)
}

// Pull turns a gradient with respect to ŵ into the one with respect to w, in place.
func (s *Standardisation) Pull(g []float32) {
	for o, inverse := range s.inverses {
		filter, g := s.filters[o*s.taps:(o+1)*s.taps], g[o*s.taps:(o+1)*s.taps]
		mean, along := 0.0, 0.0
		for i, v := range g {
			mean += float64(v)
			along += float64(v) * float64(filter[i])
		}
		mean /= float64(s.taps)
		for i, v := range g {
			g[i] = float32(inverse * (float64(v) - mean - along*float64(filter[i])))
		}
	}
}
