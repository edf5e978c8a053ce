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

	"gorgonia.org/gorgonia"
)

// maxGradientBytes limits what per-example gradients may take at once; beyond it parameters use the ghost engine.
const maxGradientBytes = 128 << 20

// gradients computes clipped sums for logical batches of any size with one graph of fixed physical batch size.
type gradients struct {
	input    input
	executor *graph.Executor
	network  *model.Network
	clipped  clip.Graph
	engines  []perexample.Engine

	sum     *clip.Sum       // of the logical batch in progress
	parts   [][]float32     // sums of one physical batch, in the order of the parameters
	observe func(diagnosis) // told about every physical batch when diagnostics are on; nil otherwise
}

// diagnosis is what a physical batch says about its examples. All of it is sensitive.
type diagnosis struct {
	losses, factors []float32
	squaredNorms    []float64
}

// newGradients declares and compiles the private graph for physical batches of the given size. engine is "auto", "ghost" or
// "materialise".
func newGradients(m *model.Model, policy clip.Policy, batcher *data.Batcher, batch int, engine string, pool *kernel.Pool) (*gradients, error) {
	b := graph.NewBuilder(pool)
	network, err := m.Training(b, batch)
	if err != nil {
		return nil, err
	}
	g := &gradients{network: network, sum: clip.NewParallelSum(policy.Bound(), len(m.Values), pool)}
	if g.engines, err = chooseEngines(network.Uses, batch, engine, pool); err != nil {
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
	g.clipped = clip.Declare(b, policy, plans, network.Valid)
	places, err := partsOf(m, network.Uses)
	if err != nil {
		return nil, err
	}
	wanted := append([]*gorgonia.Node{network.Losses, g.clipped.SquaredNorms, g.clipped.Factors}, g.clipped.Sums...)
	if g.executor, err = b.Compile(wanted...); err != nil {
		return nil, err
	}
	g.input = newInput(g.executor, network, batcher, pool)
	for _, i := range inOrder(places) {
		g.parts = append(g.parts, g.executor.Values(g.clipped.Sums[i]).Float32)
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

// Sum returns the sum of the clipped gradients of the examples with these indices. No example is dropped, whatever their
// number; for none it is zero and the graph does not run. The next call begins with the same sum anew.
func (g *gradients) Sum(indices []int) (*clip.Sum, error) {
	g.sum.Reset()
	for len(indices) > 0 {
		n := min(len(indices), g.input.batch)
		if err := g.run(indices[:n]); err != nil {
			return nil, err
		}
		if err := g.sum.Add(g.parts...); err != nil {
			return nil, err
		}
		indices = indices[n:]
	}
	return g.sum, nil
}

// run computes one physical batch.
func (g *gradients) run(indices []int) error {
	g.input.fill(indices)
	if err := g.executor.RunAll(); err != nil {
		return err
	}
	if g.observe != nil {
		n := len(indices)
		g.observe(diagnosis{
			losses:       g.executor.Values(g.network.Losses).Float32[:n],
			factors:      g.executor.Values(g.clipped.Factors).Float32[:n],
			squaredNorms: g.executor.Values(g.clipped.SquaredNorms).Float64[:n],
		})
	}
	return nil
}

// Bytes is the memory of the graph's buffers.
func (g *gradients) Bytes() int { return g.executor.Bytes() }
