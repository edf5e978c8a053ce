// Package gradients runs the graphs of a network on examples: per-example gradients for a release
// ([Gradients]) and predictions ([Evaluator]).
package gradients

import (
	"slices"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/model"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Gradients computes what examples contribute to a release: their gradients, for logical batches of
// any size, by one graph of a fixed physical batch size.
type Gradients struct {
	running
	engines []perexample.Engine

	batch   clip.Batch      // what the graph computed last
	owners  []int           // of its parts: the parameter of each
	losses  []float32       // of the examples of a physical batch, for observe
	squares [][]float64     // squared norms in batch, by parameter and example
	layers  *layers         // for policies that scale each layer by itself; nil otherwise
	counts  *counts         // for policies that count; nil otherwise
	observe func(Diagnosis) // called for every physical batch; nil without diagnostics
}

// Diagnosis holds losses and norms of the examples of a physical batch. All of it is sensitive.
type Diagnosis struct {
	Losses       []float32
	SquaredNorms []float64 // of the gradients
	AfterLayers  []float64 // the same after layers were clipped; SquaredNorms where none were
}

// NewGradients declares and compiles the private graph for physical batches of so many examples.
// The network sees each example in its views, or as it is if views is nil; the gradient of an
// example is that of the mean loss of its views. engine is "auto", "ghost" or "materialise"; kept
// is the choice of an earlier process of the run, or the zero value.
func NewGradients(m *model.Model, batcher *data.Batcher, views *data.Views, batch int, engine string, kept Choice, pool *kernel.Pool) (*Gradients, error) {
	d, err := declare(graph.NewBuilder(pool), m, views, batch, func(uses []perexample.Use) []perexample.Engine {
		if engines, ok := kept.engines(uses, batch, engine); ok {
			return engines
		}
		return chooseEngines(uses, batch, engine)
	})
	if err != nil {
		return nil, err
	}
	g := &Gradients{running: newRunning(d.executor, d.network, batcher, views, pool), engines: d.engines, losses: make([]float32, batch)}
	g.batch.SquaredNorms = g.executor.Values(d.norms).Float64
	for i, p := range d.bindings { // uses are in the order of the parameters, one for each: package model
		for _, part := range p.Parts(g.executor, pool) {
			g.batch.Parts, g.owners = append(g.batch.Parts, part), append(g.owners, i)
		}
		g.squares = append(g.squares, g.executor.Values(d.each[i]).Float64)
	}
	return g, nil
}

// declared is a compiled graph of per-example gradients.
type declared struct {
	network  *model.Network
	engines  []perexample.Engine
	bindings []perexample.Binding // one for each use
	norms    *gorgonia.Node
	each     []*gorgonia.Node // squared norms of the gradients of each use
	executor *graph.Executor
}

// declare declares and compiles the graph for physical batches of so many examples, with the
// engines that choose returns.
func declare(b *graph.Builder, m *model.Model, views *data.Views, batch int, choose func([]perexample.Use) []perexample.Engine) (d declared, err error) {
	if d.network, err = m.Training(b, batch*views.PerExample()); err != nil {
		return d, err
	}
	dz := outputGradients(b, d.network, views)
	uses := d.network.Uses
	if b.Err() != nil {
		return d, b.Err()
	}
	for i, u := range uses {
		uses[i], dz[i] = perexample.OfViews(b, u, dz[i], views.PerExample())
	}
	d.engines = choose(uses)
	b.Part("norms")
	b.Early("norms")
	for i, u := range uses {
		d.bindings = append(d.bindings, perexample.NewBinding(b, u, dz[i], d.engines[i]))
	}
	d.norms, d.each = perexample.SquaredNorms(b, d.bindings)
	wanted := append([]*gorgonia.Node{d.network.Losses, d.norms}, d.each...)
	for _, p := range d.bindings {
		wanted = append(wanted, p.Outputs()...)
	}
	d.executor, err = b.Compile(wanted...)
	return d, err
}

// outputGradients declares the gradients of the summed loss with respect to the output of each use,
// of which it leaves one for each parameter. The loss of an example is the mean over its views.
func outputGradients(b *graph.Builder, network *model.Network, views *data.Views) (dz []*gorgonia.Node) {
	network.Uses, dz = perexample.Backpropagate(b, network.Losses, shares(b, network.Valid, views.PerExample()), network.Uses)
	return dz
}

// shares declares the weight of each row in the loss of its example: 1/views, 0 for padding.
func shares(b *graph.Builder, valid *gorgonia.Node, views int) *gorgonia.Node {
	if views == 1 || b.Err() != nil {
		return valid
	}
	share := 1 / float32(views)
	return b.Apply(graph.Operation{
		Name: "shares-of-views", Type: tensor.Float32, Shape: valid.Shape(),
		Run: func(out graph.Array, in []graph.Array) {
			for i, v := range in[0].Float32 {
				out.Float32[i] = share * v
			}
		},
	}, valid)
}

// AtStep sets the step of training that later contributions are for: each step has views of its
// own.
func (g *Gradients) AtStep(step int) *Gradients {
	g.input.step = step
	return g
}

// ClipBy prepares later contributions for a policy. For a [clip.Layered] policy it scales each
// layer by itself, for a [clip.Counting] one it adds a coordinate at the end. [clip.Sum] applies
// the factor of the whole gradient.
func (g *Gradients) ClipBy(policy clip.Policy) {
	parts := g.batch.Parts
	g.layers, g.counts = nil, nil
	if layered, ok := policy.(clip.Layered); ok {
		g.layers = newLayers(layered, g.network.Uses, parts, g.owners, g.squares, g.input.batch, g.input.pool)
		parts = g.layers.batch.Parts
	}
	if counting, ok := policy.(clip.Counting); ok {
		g.counts = &counts{policy: counting, values: make([]float32, g.input.batch)}
		g.counts.parts = append(slices.Clone(parts), clip.Stored(g.counts.values, 1))
	}
}

// Coordinates returns the number of values that each example contributes.
func (g *Gradients) Coordinates() int {
	n := 0
	for _, p := range g.batch.Parts {
		n += p.Size()
	}
	if g.counts != nil {
		n++
	}
	return n
}

// Capacity returns the physical batch size.
func (g *Gradients) Capacity() int { return g.input.batch }

// Contributions returns the gradients of the examples with these indices, at most Capacity of them,
// prepared as ClipBy says. The next call overwrites them.
func (g *Gradients) Contributions(indices []int) (clip.Batch, error) {
	if err := g.input.fill(indices); err != nil {
		return clip.Batch{}, err
	}
	n, batch := len(indices), g.batch
	g.executor.RunFirst(n, g.input.batch)
	if g.layers != nil {
		batch = g.layers.scale(n)
	}
	if g.counts != nil {
		batch = g.counts.add(batch, n)
	}
	if g.observe != nil {
		g.observe(Diagnosis{Losses: g.meanLosses(n), SquaredNorms: g.batch.SquaredNorms[:n], AfterLayers: batch.SquaredNorms[:n]})
	}
	return batch, nil
}

// meanLosses returns the losses of the first so many examples, each the mean over its views.
func (g *Gradients) meanLosses(examples int) []float32 {
	losses, views := g.executor.Values(g.network.Losses).Float32, g.input.views.PerExample()
	for i := range examples {
		sum := float32(0)
		for _, loss := range losses[i*views : (i+1)*views] {
			sum += loss
		}
		g.losses[i] = sum / float32(views)
	}
	return g.losses[:examples]
}

// Bytes returns the size in bytes of the graph's buffers, without inputs and parameters.
func (g *Gradients) Bytes() int { return g.executor.Bytes() }

// Observe has f called for every later physical batch. The Diagnosis that f gets is sensitive.
func (g *Gradients) Observe(f func(Diagnosis)) { g.observe = f }

// Sketch holds the memory, in bytes, that the graphs of a network would take. Floats do not
// overflow, whatever size a configuration asks for.
type Sketch struct {
	Training   float64 // buffers of a physical batch, with its inputs
	Prediction float64 // the same for predictions
	Formed     float64 // one gradient for each worker and parameter, and the worker's sum of them
}

// NewSketch returns the memory that a sketched model ([model.Sketch]) takes in physical batches of so
// many examples.
func NewSketch(m *model.Model, views *data.Views, batch int, engine string, threads int) (s Sketch, err error) {
	input := 0.0 // bytes of an example, without mask and labels
	s.Training, err = graph.BytesOf(batch, func(n int) (*graph.Executor, error) {
		d, err := declare(graph.NewSketch(), m, views, n, func(uses []perexample.Use) []perexample.Engine {
			engines := chooseEngines(uses, batch, engine)
			s.Formed = 0
			for i, r := range rulesOf(uses) {
				bytes := 4 + 8.0 // the sum is of float64
				if _, dense := r.(perexample.DenseWeight); dense && engines[i] == perexample.Ghost {
					bytes = 4 // outer products have no sum of a worker's own
				}
				s.Formed += bytes * float64(threads) * float64(r.Size())
			}
			return engines
		})
		if err == nil {
			input = 4 * float64(d.network.Images.Shape().TotalSize()/n)
		}
		return d.executor, err
	})
	if err != nil {
		return s, err
	}
	s.Prediction, err = graph.BytesOf(evaluationBatch, func(n int) (*graph.Executor, error) {
		_, executor, err := predicting(graph.NewSketch(), m, n)
		return executor, err
	})
	s.Training, s.Prediction = s.Training+float64(batch)*input, s.Prediction+evaluationBatch*input
	return s, err
}
