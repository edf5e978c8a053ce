package train

import (
	"time"

	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/optimizer"
)

// benchRate is the learning rate of benchmarks: so small that the network at the end still does the work of the network
// at the start.
const benchRate = 1e-6

// privateStep is the step of [Run.Fit] without sampling, ledger and reports.
type privateStep struct {
	gradients  *gradients
	mechanism  optimizer.Mechanism
	update     optimizer.Update
	parameters []float32
	pool       *kernel.Pool
	bare       time.Duration // of an update without noise, measured for a profile
	record     func(part string, d time.Duration)
}

func newPrivateStep(c *configs.Config, engine string, b *bench, batcher *data.Batcher) (*privateStep, error) {
	policy, err := clip.NewFlat(c.Privacy.ClipNorm)
	if err != nil {
		return nil, err
	}
	s := &privateStep{parameters: b.model.Values, pool: b.pool, record: recordNothing}
	if s.gradients, err = newGradients(b.model, policy, batcher, b.physical, engine, b.pool); err != nil {
		return nil, err
	}
	noiseMultiplier := c.Privacy.NoiseMultiplier
	if c.Privacy.Calibrated() {
		noiseMultiplier = 1 // calibration needs the size of a data set, and noise costs the same whatever its size
	}
	if s.mechanism, err = optimizer.NewGaussian(noiseMultiplier, random.New()); err != nil {
		return nil, err
	}
	s.update, err = optimizer.NewParallelUpdate(optimizer.Rule{Name: "sgd"}, len(s.parameters), b.pool)
	return s, err
}

func (s *privateStep) take(indices []int) error {
	sum, err := s.gradients.Sum(indices)
	if err != nil {
		return err
	}
	summed := time.Now()
	noisy, err := s.mechanism.Privatize(sum)
	if err != nil {
		return err
	}
	err = s.update.Apply(s.parameters, noisy, float64(len(indices)), benchRate)
	// Noise is drawn and applied in one pass: it is what that pass takes longer than an update without noise.
	released := time.Since(summed)
	update := min(s.bare, released)
	s.record("update", update)
	s.record("noise", released-update)
	return err
}

func (s *privateStep) profile(record func(part string, d time.Duration)) {
	if record == nil {
		s.record = recordNothing
		s.gradients.executor.Profile(nil)
		return
	}
	s.record, s.bare = record, bareUpdate(s.pool, len(s.parameters))
	s.gradients.executor.Profile(func(part, _ string, d time.Duration) { record(part, d) })
}

func recordNothing(string, time.Duration) {}

// bareUpdate is the time of p = p - rate·g for so many parameters, on vectors of its own.
func bareUpdate(pool *kernel.Pool, n int) time.Duration {
	parameters, gradient := make([]float32, n), make([]float32, n)
	var times []time.Duration
	for range 9 {
		start := time.Now()
		addScaled(pool, parameters, -benchRate, gradient)
		times = append(times, time.Since(start))
	}
	return median(times)
}

// addScaled is y += a·x on all threads.
func addScaled(pool *kernel.Pool, y []float32, a float32, x []float32) {
	const grain = 1 << 14
	pool.Run(len(y), grain, func(_, lo, hi int) { kernel.Axpy(y[lo:hi], a, x[lo:hi]) })
}
