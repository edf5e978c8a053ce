package bench

import (
	"time"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/data/augmentation"
	"dpsgd/internal/compute"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/model"

	"gorgonia.org/gorgonia"
)

// plainStep is a step of training without privacy, to compare with: the same network on the same
// kernels, each weight gradient as one sum over the batch, SGD without noise. It is measured and
// nothing else: no configuration leads to it, and its sums are plain slices, which neither a
// mechanism nor an update rule accepts.
type plainStep struct {
	input    compute.Input
	executor *graph.Executor
	sums     []*gorgonia.Node

	parameters []float32
	earlier    []float32 // sum of the physical batches before the last one
	pool       *kernel.Pool
	record     func(part string, d time.Duration)
}

func newPlainStep(c *configs.Config, b *bench, batcher *data.Batcher) (*plainStep, error) {
	builder := graph.NewBuilder(b.pool)
	network, err := b.model.Training(builder, b.physical*b.views.PerExample())
	if err != nil {
		return nil, err
	}
	s := &plainStep{
		sums: plainSums(builder, network, b.views), parameters: b.model.Values, pool: b.pool, record: recordNothing,
	}
	if c.Training.BatchSize > b.physical {
		s.earlier = make([]float32, len(s.parameters))
	}
	if s.executor, err = builder.Compile(append([]*gorgonia.Node{network.Losses}, s.sums...)...); err != nil {
		return nil, err
	}
	s.input = compute.NewInput(s.executor, network, batcher, b.views, b.pool)
	return s, nil
}

// plainSums declares Σᵢ vᵢ gᵢ for every parameter, where vᵢ is 1, and 0 for padding.
func plainSums(b *graph.Builder, network *model.Network, views *augmentation.Views) []*gorgonia.Node {
	dz := compute.OutputGradients(b, network, views)
	if b.Err() != nil {
		return nil
	}
	b.Part("sums")
	sums := make([]*gorgonia.Node, len(network.Uses))
	for i, u := range network.Uses {
		sums[i] = u.Rule.WeightedSum(b, u.Input, dz[i], network.Valid)
	}
	return sums
}

func (s *plainStep) take(indices []int) error {
	examples := len(indices)
	clear(s.earlier)
	for len(indices) > s.input.Batch {
		if err := s.run(indices[:s.input.Batch]); err != nil {
			return err
		}
		s.eachSum(func(sum []float32, from int) { addScaled(s.pool, s.earlier[from:from+len(sum)], 1, sum) })
		indices = indices[s.input.Batch:]
	}
	if err := s.run(indices); err != nil {
		return err
	}
	start := time.Now()
	rate := float32(-benchRate / float64(examples))
	s.eachSum(func(sum []float32, from int) {
		if s.earlier != nil {
			addScaled(s.pool, sum, 1, s.earlier[from:from+len(sum)])
		}
		addScaled(s.pool, s.parameters[from:from+len(sum)], rate, sum)
	})
	s.record("update", time.Since(start))
	return nil
}

func (s *plainStep) run(indices []int) error {
	s.input.Fill(indices)
	return s.executor.RunAll()
}

// eachSum calls f with the sum of each parameter and where in the vector of parameters it belongs:
// one after the other.
func (s *plainStep) eachSum(f func(sum []float32, from int)) {
	from := 0
	for _, n := range s.sums {
		sum := s.executor.Values(n).Float32
		f(sum, from)
		from += len(sum)
	}
}

func (s *plainStep) profile(record func(part string, d time.Duration)) {
	s.record = record
	s.executor.Profile(func(part, _ string, d time.Duration) { record(part, d) })
}
