package speed

import (
	"time"

	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
)

// plainStep is a step of training without privacy, to compare with: the same network on the same
// kernels, SGD without noise.
type plainStep struct {
	sums       *gradients.Sums
	parameters []float32
	pool       *kernel.Pool
	record     func(part string, d time.Duration)
}

func newPlainStep(b *bench, batcher *data.Batcher) (*plainStep, error) {
	sums, err := gradients.NewSums(b.model, batcher, b.views, b.physical, b.pool)
	return &plainStep{sums: sums, parameters: b.model.Values, pool: b.pool, record: recordNothing}, err
}

func (s *plainStep) take(indices []int) error {
	sum, err := s.sums.Of(indices)
	if err != nil {
		return err
	}
	start := time.Now()
	addScaled(s.pool, s.parameters, float32(-benchRate/float64(len(indices))), sum)
	s.record("update", time.Since(start))
	return nil
}

func (s *plainStep) profile(record func(part string, d time.Duration)) {
	s.record = record
	s.sums.Profile(func(part, _ string, d time.Duration) { record(part, d) })
}
