package gradients

import (
	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/model"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
)

// Sums computes sums of gradients without privacy: the same network on the same kernels as
// [Gradients], but each weight gradient as one sum over the batch. Its sums are plain slices, which
// neither a mechanism nor an [optimizer.Update] accepts.
type Sums struct {
	running
	sums   []*gorgonia.Node
	labels []int32 // in place of the examples' own; nil where those are learnt
	total  []float32
}

// NewSums declares and compiles the graph for physical batches of so many examples. The network
// sees each in its views, or as it is if views is nil.
func NewSums(m *model.Model, batcher *data.Batcher, views *data.Views, physical int, pool *kernel.Pool) (*Sums, error) {
	builder := graph.NewBuilder(pool)
	network, err := m.Training(builder, physical*views.PerExample())
	if err != nil {
		return nil, err
	}
	sums := plainSums(builder, network, views)
	executor, err := builder.Compile(append([]*gorgonia.Node{network.Losses}, sums...)...)
	if err != nil {
		return nil, err
	}
	return &Sums{running: newRunning(executor, network, batcher, views, pool), sums: sums, total: make([]float32, len(m.Values))}, nil
}

// plainSums declares, for every parameter, the sum of its gradients over a batch, without padding.
func plainSums(b *graph.Builder, network *model.Network, views *data.Views) []*gorgonia.Node {
	dz := outputGradients(b, network, views)
	if b.Err() != nil {
		return nil
	}
	b.Part("sums")
	sums := make([]*gorgonia.Node, len(network.Uses))
	for i, u := range network.Uses {
		sums[i] = perexample.WeightedSum(b, u, dz[i], network.Valid)
	}
	return sums
}

// Learn sets labels for later sums in place of the examples' own: one for each example of the set,
// by its index.
func (s *Sums) Learn(labels []int32) { s.labels = labels }

// AtStep sets the step of training that later sums are for: each step has views of its own.
func (s *Sums) AtStep(step int) *Sums {
	s.input.step = step
	return s
}

// Of returns the sum of the gradients of the examples with these indices, as many as there are, in
// the order of the parameters. It is valid until the next call.
func (s *Sums) Of(indices []int) ([]float32, error) {
	clear(s.total)
	for len(indices) > 0 {
		n := min(len(indices), s.input.batch)
		if err := s.run(indices[:n]); err != nil {
			return nil, err
		}
		from := 0
		for _, node := range s.sums {
			sum := s.executor.Values(node).Float32
			addTo(s.input.pool, s.total[from:from+len(sum)], sum)
			from += len(sum)
		}
		indices = indices[n:]
	}
	return s.total, nil
}

// run runs the graph on a physical batch.
func (s *Sums) run(indices []int) error {
	if err := s.input.fill(indices); err != nil {
		return err
	}
	if s.labels != nil {
		views := s.input.views.PerExample()
		for i, example := range indices {
			for v := range views {
				s.input.targets[i*views+v] = float32(s.labels[example])
			}
		}
	}
	s.executor.RunAll()
	return nil
}

func addTo(pool *kernel.Pool, y, x []float32) {
	const grain = 1 << 14
	pool.Run(len(y), grain, func(_, lo, hi int) { kernel.Axpy(y[lo:hi], 1, x[lo:hi]) })
}
