package gradients

import (
	"math"
	"slices"

	"dpsgd/clip"
	"dpsgd/internal/kernel"
	"dpsgd/model"
	"dpsgd/perexample"
	"dpsgd/release"
)

// layers scales each layer's part of a gradient by itself, for a [clip.Layered] policy. Parameters
// whose names differ in the last part alone, such as weight and bias, are one layer.
type layers struct {
	policy  clip.Layered
	norms   [][]float64 // squared, of each parameter's gradients; in the memory of the graph
	layer   []int       // of each parameter
	parts   []scaledPart
	squares []float64   // of the layer in progress, by example
	factors [][]float32 // of each layer, by example
	batch   clip.Batch  // the scaled gradients
}

// newLayers returns the layers of uses. parts are the gradients of the uses that own them, in batches
// of up to batch examples, and norms the squared norms of each use.
func newLayers(policy clip.Layered, uses []perexample.Use, parts []clip.Part, owners []int, norms [][]float64, batch int, pool *kernel.Pool) *layers {
	l := &layers{policy: policy, norms: norms, squares: make([]float64, batch)}
	l.batch.SquaredNorms = make([]float64, batch)
	var names []string
	for _, u := range uses {
		name := model.LayerOf(u.Parameter)
		if !slices.Contains(names, name) {
			names = append(names, name)
			l.factors = append(l.factors, make([]float32, batch))
		}
		l.layer = append(l.layer, slices.Index(names, name))
	}
	for i, part := range parts {
		l.parts = append(l.parts, newScaledPart(part, l.factors[l.layer[owners[i]]], pool))
		l.batch.Parts = append(l.batch.Parts, l.parts[i].part)
	}
	return l
}

// scale returns the first n gradients that the graph computed last, with each layer scaled. An
// example that has the factor 0 in a layer gets the norm NaN. Its factors depend on its norms
// alone.
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

// scaledPart is the gradients of a part, each multiplied by the factor of its example.
type scaledPart struct {
	part    clip.Part
	prepare func(n int) // makes part ready for the first n examples of a batch, whose factors are known
}

// newScaledPart returns the part p, of either kind, with example i's gradient times factors[i].
func newScaledPart(p clip.Part, factors []float32, pool *kernel.Pool) scaledPart {
	if given, ok := p.(clip.Outer); ok {
		return scaledOuter(given, factors)
	}
	return scaledRows(p.(clip.Rows), factors, pool)
}

// scaledOuter does what newScaledPart does, for outer products z xᵀ: it scales z.
func scaledOuter(given clip.Outer, factors []float32) scaledPart {
	scaled := given
	scaled.Z, scaled.SquaredZ = make([]float32, len(given.Z)), make([]float64, len(given.SquaredZ))
	return scaledPart{scaled, func(n int) {
		for i, factor := range factors[:n] {
			z := scaled.Z[i*given.Out : (i+1)*given.Out]
			clear(z)
			kernel.Axpy(z, factor, given.Z[i*given.Out:(i+1)*given.Out])
			scaled.SquaredZ[i] = float64(factor) * float64(factor) * given.SquaredZ[i]
		}
	}}
}

// scaledRows does the same for rows, which it scales when they are asked for, piece by piece.
func scaledRows(given clip.Rows, factors []float32, pool *kernel.Pool) scaledPart {
	workers := make([]scaler, pool.Threads())
	for i := range workers {
		w := &workers[i]
		w.scaled, w.forward = make([]float32, piece), w.pass
	}
	scaled := given
	scaled.Form = func(worker, example int, emit func([]float32)) {
		w := &workers[worker]
		w.factor, w.emit = factors[example], emit
		given.Form(worker, example, w.forward)
	}
	return scaledPart{scaled, func(int) {}}
}

// piece is the number of values that are scaled at a time: they stay in the first-level cache.
const piece = 2048

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
	values []float32   // one for each example
	parts  []clip.Part // the gradients, and the counts at the end
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
