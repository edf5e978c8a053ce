package gradients

import (
	"math"
	"slices"
	"strings"

	"dpsgd/clip"
	"dpsgd/internal/kernel"
	"dpsgd/perexample"
	"dpsgd/release"
)

// layers scales each layer's part of a gradient by itself, for a [clip.Layered] policy. A layer is
// the parameters whose names differ in the last part alone: weight and bias.
type layers struct {
	policy  clip.Layered
	norms   [][]float64 // squared, of each parameter's gradients; in the memory of the graph
	layer   []int       // of each parameter
	parts   []scaledPart
	squares []float64   // of the layer in progress, by example
	factors [][]float32 // of each layer, by example
	batch   clip.Batch  // the scaled gradients
}

// newLayers returns the layers of uses. parts are the gradients of each use, in batches of up to
// batch examples, and norms their squared norms.
func newLayers(policy clip.Layered, uses []perexample.Use, parts []clip.Part, norms [][]float64, batch int, pool *kernel.Pool) *layers {
	l := &layers{policy: policy, norms: norms, squares: make([]float64, batch)}
	l.batch.SquaredNorms = make([]float64, batch)
	var names []string
	for i, u := range uses {
		name := layerOf(u.Parameter)
		if !slices.Contains(names, name) {
			names = append(names, name)
			l.factors = append(l.factors, make([]float32, batch))
		}
		l.layer = append(l.layer, slices.Index(names, name))
		l.parts = append(l.parts, newScaledPart(parts[i], l.factors[l.layer[i]], pool))
		l.batch.Parts = append(l.batch.Parts, l.parts[i].part())
	}
	return l
}

// layerOf returns the name of a parameter without its last part.
func layerOf(parameter string) string {
	return parameter[:max(strings.LastIndex(parameter, "."), 0)]
}

// scale scales the first n examples of the batch that the graph computed last. The factors of an
// example depend on its norms alone.
func (l *layers) scale(n int) clip.Batch {
	total := l.batch.SquaredNorms[:n]
	clear(total)
	for layer, factors := range l.factors {
		squares := l.squares[:n]
		clear(squares)
		for i, norms := range l.norms {
			if l.layer[i] == layer {
				for k := range squares {
					squares[k] += norms[k]
				}
			}
		}
		l.policy.LayerFactors(factors[:n], squares, len(l.factors))
		for k, factor := range factors[:n] {
			if factor == 0 {
				total[k] = math.NaN()
			}
			total[k] += float64(factor) * float64(factor) * squares[k]
		}
	}
	for _, p := range l.parts {
		p.prepare(n)
	}
	return l.batch
}

// scaledPart multiplies the gradients of a part by a factor for each example.
type scaledPart interface {
	// prepare prepares the first n examples of a batch. Their factors are known by then.
	prepare(n int)
	// part returns the scaled gradients, which are valid after prepare.
	part() clip.Part
}

func newScaledPart(p clip.Part, factors []float32, pool *kernel.Pool) scaledPart {
	if outer, ok := p.(clip.Outer); ok {
		scaled := outer
		scaled.Z, scaled.SquaredZ = make([]float32, len(outer.Z)), make([]float64, len(outer.SquaredZ))
		return &scaledOuter{outer, scaled, factors}
	}
	s := &scaledRows{rows: p.(clip.Rows), factors: factors, workers: make([]scaler, pool.Threads())}
	for i := range s.workers {
		w := &s.workers[i]
		w.scaled, w.forward = make([]float32, piece), w.pass
	}
	return s
}

// scaledOuter scales the second factor of outer products.
type scaledOuter struct {
	given, scaled clip.Outer
	factors       []float32
}

func (o *scaledOuter) part() clip.Part { return o.scaled }

func (o *scaledOuter) prepare(n int) {
	for i, factor := range o.factors[:n] {
		z := o.scaled.Z[i*o.given.Out : (i+1)*o.given.Out]
		clear(z)
		kernel.Axpy(z, factor, o.given.Z[i*o.given.Out:(i+1)*o.given.Out])
		o.scaled.SquaredZ[i] = float64(factor) * float64(factor) * o.given.SquaredZ[i]
	}
}

// scaledRows scales rows when they are asked for, piece by piece.
type scaledRows struct {
	rows    clip.Rows
	factors []float32
	workers []scaler
}

// piece is the number of values that are scaled at a time: they stay in the first-level cache.
const piece = 2048

func (s *scaledRows) prepare(int) {}

func (s *scaledRows) part() clip.Part {
	rows := s.rows
	rows.Form = func(worker, example int, emit func([]float32)) {
		w := &s.workers[worker]
		w.factor, w.emit = s.factors[example], emit
		s.rows.Form(worker, example, w.forward)
	}
	return rows
}

// scaler multiplies the pieces that one worker gets by a factor, and hands them on to emit.
type scaler struct {
	scaled  []float32
	factor  float32
	emit    func([]float32)
	forward func([]float32) // w.pass, made once
}

func (w *scaler) pass(values []float32) {
	for ; len(values) > 0; values = values[min(piece, len(values)):] {
		scaled := w.scaled[:min(piece, len(values))]
		clear(scaled)
		kernel.Axpy(scaled, w.factor, values[:len(scaled)])
		w.emit(scaled)
	}
}

// counts adds the last coordinate of contributions under a [clip.Counting] policy.
type counts struct {
	policy clip.Counting
	values []float32 // one for each example
	parts  []clip.Part
}

// newCounts returns the counts of batches of up to batch examples, as a last part after gradients.
func newCounts(policy clip.Counting, gradients []clip.Part, batch int) *counts {
	c := &counts{policy: policy, values: make([]float32, batch)}
	c.parts = append(slices.Clone(gradients), clip.Stored(c.values, 1))
	return c
}

// add returns b with the counts of its first n examples. Each depends on its example's norm alone.
func (c *counts) add(b clip.Batch, n int) clip.Batch {
	c.policy.Counts(c.values[:n], b.SquaredNorms[:n])
	b.Parts = c.parts
	return b
}

// SplitCount returns a consumer of releases that have one coordinate more than there are
// parameters. It stores that last one in count and passes the others to consume. count is valid
// once the release has returned.
func SplitCount(parameters int, count *float64, consume func(release.Noisy)) func(release.Noisy) {
	return func(n release.Noisy) {
		if at := parameters - n.From(); at >= 0 && at < len(n.Values()) {
			*count = n.Values()[at]
		}
		if n = n.Before(parameters); len(n.Values()) > 0 {
			consume(n)
		}
	}
}
