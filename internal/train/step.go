package train

import (
	"fmt"
	"runtime"
	"slices"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/model"
	"dpsgd/perexample"
	"dpsgd/release"

	"gorgonia.org/gorgonia"
)

// maxGradientBytes limits what per-example gradients may take at once; beyond it parameters use the
// ghost engine.
const maxGradientBytes = 128 << 20

// gradients computes per-example gradients for logical batches of any size with one graph of fixed
// physical batch size: the [release.Source] of training.
type gradients struct {
	input    input
	executor *graph.Executor
	network  *model.Network
	norms    *gorgonia.Node
	engines  []perexample.Engine

	batch   clip.Batch      // what the graph computed last
	observe func(diagnosis) // told about every physical batch when diagnostics are on; nil otherwise
}

var _ release.Source = (*gradients)(nil)

// diagnosis is what a physical batch says about its examples. All of it is sensitive.
type diagnosis struct {
	losses       []float32
	squaredNorms []float64
}

// newGradients declares and compiles the private graph for physical batches of the given size.
// engine is "auto", "ghost" or "materialise".
func newGradients(m *model.Model, batcher *data.Batcher, batch int, engine string, pool *kernel.Pool) (*gradients, error) {
	return declareGradients(m, batcher, batch, func(uses []perexample.Use) ([]perexample.Engine, error) {
		return chooseEngines(uses, batch, engine, pool)
	}, pool)
}

func declareGradients(m *model.Model, batcher *data.Batcher, batch int, choose func([]perexample.Use) ([]perexample.Engine, error), pool *kernel.Pool) (*gradients, error) {
	b := graph.NewBuilder(pool)
	network, err := m.Training(b, batch)
	if err != nil {
		return nil, err
	}
	g := &gradients{network: network}
	if g.engines, err = choose(network.Uses); err != nil {
		return nil, err
	}
	dz := outputGradients(b, network)
	if b.Err() != nil {
		return nil, b.Err()
	}
	b.Part("norms")
	b.Early("norms")
	plans := make([]perexample.Plan, len(network.Uses))
	for i, u := range network.Uses {
		plans[i] = perexample.NewPlan(b, u, dz[i], g.engines[i])
	}
	g.norms = perexample.SquaredNorms(b, plans)
	places, err := partsOf(m, network.Uses)
	if err != nil {
		return nil, err
	}
	wanted := []*gorgonia.Node{network.Losses, g.norms}
	for _, p := range plans {
		wanted = append(wanted, p.Outputs()...)
	}
	if g.executor, err = b.Compile(wanted...); err != nil {
		return nil, err
	}
	g.input = newInput(g.executor, network, batcher, pool)
	g.batch.SquaredNorms = g.executor.Values(g.norms).Float64
	for _, i := range inOrder(places) {
		g.batch.Parts = append(g.batch.Parts, plans[i].Part(g.executor, pool))
	}
	return g, nil
}

// outputGradients declares the gradients of the summed loss with respect to the output of each use.
func outputGradients(b *graph.Builder, network *model.Network) []*gorgonia.Node {
	outputs := make([]*gorgonia.Node, len(network.Uses))
	for i, u := range network.Uses {
		outputs[i] = u.Output
	}
	return b.Backpropagate(network.Losses, network.Valid, outputs)
}

// inOrder lists the places by where they begin.
func inOrder(places [][2]int) []int {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return places[a][0] - places[b][0] })
	return order
}

func chooseEngines(uses []perexample.Use, batch int, engine string, pool *kernel.Pool) ([]perexample.Engine, error) {
	rules := make([]perexample.Rule, len(uses))
	for i, u := range uses {
		rules[i] = u.Rule
	}
	switch engine {
	case "ghost":
		return slices.Repeat([]perexample.Engine{perexample.Ghost}, len(rules)), nil
	case "materialise":
		return slices.Repeat([]perexample.Engine{perexample.Materialise}, len(rules)), nil
	}
	timings, err := perexample.Measure(rules, batch, pool)
	if err != nil {
		return nil, err
	}
	runtime.GC() // buffers that only the measurement needed
	return perexample.Choose(rules, timings, batch, maxGradientBytes), nil
}

// partsOf finds where each use's parameter lies in the parameter vector.
func partsOf(m *model.Model, uses []perexample.Use) ([][2]int, error) {
	at := map[string][2]int{}
	for _, p := range m.Parameters() {
		at[p.Name] = [2]int{p.Offset, p.Offset + p.Size()}
	}
	parts := make([][2]int, len(uses))
	for i, u := range uses {
		part, ok := at[u.Parameter]
		if !ok || part[1]-part[0] != u.Rule.Size() {
			return nil, fmt.Errorf("train: parameter %s: %w", u.Parameter, perexample.ErrNoRule)
		}
		parts[i] = part
		delete(at, u.Parameter)
	}
	for name := range at {
		return nil, fmt.Errorf("train: parameter %s: %w", name, perexample.ErrNoRule)
	}
	return parts, nil
}

// Capacity is the physical batch size.
func (g *gradients) Capacity() int { return g.input.batch }

// Contributions returns the gradients of the examples with these indices.
func (g *gradients) Contributions(indices []int) (clip.Batch, error) {
	g.input.fill(indices)
	if err := g.executor.RunAll(); err != nil {
		return clip.Batch{}, err
	}
	if g.observe != nil {
		n := len(indices)
		g.observe(diagnosis{losses: g.executor.Values(g.network.Losses).Float32[:n], squaredNorms: g.batch.SquaredNorms[:n]})
	}
	return g.batch, nil
}

// Bytes is the memory of the graph's buffers.
func (g *gradients) Bytes() int { return g.executor.Bytes() }
