package speed

import (
	"time"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/optimizer"
	"dpsgd/release"
)

// benchRate is the learning rate of benchmarks: so small that the network at the end still does the
// work of the network at the start.
const benchRate = 1e-6

// privateStep makes steps of private training on given samples, with a journal that keeps nothing:
// no draw, no disk, no reports.
type privateStep struct {
	gradients  *gradients.Gradients
	door       *release.Door
	update     *optimizer.Update
	count      float64 // the extra coordinate of the last release, for a policy that counts; nobody reads it
	parameters []float32
	sample     []int
	turn       int // of the step that comes
	pool       *kernel.Pool
	bare       time.Duration // the time of an update without noise, for a profile
	record     func(part string, d time.Duration)

	source  release.Contributor                     // the graph with a clock
	release func(consume func(release.Noisy)) error // of the door, made once

	// The step in progress.
	computing time.Duration // in the graph
	summed    time.Time     // when the sum was complete
}

func newPrivateStep(c *configs.Config, engine string, b *bench, batcher *data.Batcher) (*privateStep, error) {
	policy, err := clip.New(c.Privacy.Clipping, c.Privacy.ClipNorm)
	if err != nil {
		return nil, err
	}
	s := &privateStep{parameters: b.model.Values, pool: b.pool, record: recordNothing}
	if s.gradients, err = gradients.NewGradients(b.model, batcher, b.views, b.physical, engine, gradients.Choice{}, b.pool); err != nil {
		return nil, err
	}
	s.gradients.ClipBy(policy)
	noiseMultiplier := c.Privacy.NoiseMultiplier
	if c.Privacy.Calibrated() {
		noiseMultiplier = 1 // calibration needs the size of a data set, and noise costs the same whatever its size
	}
	mechanism, err := benchMechanism(noiseMultiplier, setup.Bands(c), b.pool)
	if err != nil {
		return nil, err
	}
	plan := release.Plan{Records: b.pictures, Sampler: given{step: s}, Policy: policy, Mechanism: timedMechanism{mechanism, s}}
	if s.door, err = release.NewDoor(plan, s.gradients.Coordinates(), unwritten{}, nil, b.pool); err != nil {
		return nil, err
	}
	s.source = timedSource{s}
	_, counting := policy.(clip.Counting)
	s.release = func(consume func(release.Noisy)) error {
		if counting {
			consume = gradients.SplitCount(len(s.parameters), &s.count, consume)
		}
		return s.door.Release(0, s.source, consume)
	}
	s.update, err = optimizer.NewUpdate(&optimizer.SGD{}, len(s.parameters), b.pool.Threads())
	return s, err
}

// benchMechanism returns Gaussian noise, correlated over so many steps: with any coefficients, which
// cost the same.
func benchMechanism(noiseMultiplier float64, bands int, pool *kernel.Pool) (release.Mechanism, error) {
	m, err := release.NewGaussian(noiseMultiplier, pool)
	if err != nil || bands == 1 {
		return m, err
	}
	c := make([]float64, bands)
	for i := range c {
		c[i] = 1 / float64(i+1)
	}
	return release.NewCorrelated(m, release.Dyadic(c))
}

func (s *privateStep) take(indices []int) error {
	s.sample, s.computing = indices, 0
	start := time.Now()
	if err := s.update.Apply(s.parameters, s.release, float64(len(indices)), benchRate); err != nil {
		return err
	}
	s.record("sums", s.summed.Sub(start)-s.computing)
	// Noise is drawn and applied in one pass: it is what that pass takes longer than an update
	// without noise.
	released := time.Since(s.summed)
	update := min(s.bare, released)
	s.record("update", update)
	s.record("noise", released-update)
	return nil
}

// timedSource is the source of contributions of a step; it adds up how long they are computed.
type timedSource struct{ step *privateStep }

func (t timedSource) Capacity() int { return t.step.gradients.Capacity() }

func (t timedSource) Contributions(indices []int) (clip.Batch, error) {
	start := time.Now()
	defer func() { t.step.computing += time.Since(start) }()
	return t.step.gradients.Contributions(indices)
}

// timedMechanism is the mechanism of the step; it notes when it gets the sum. It counts the turns of
// one that remembers, because no ledger does.
type timedMechanism struct {
	release.Mechanism
	step *privateStep
}

// Room returns that of the mechanism.
func (t timedMechanism) Room(records int) int {
	return release.Plan{Mechanism: t.Mechanism, Records: records}.Room()
}

func (t timedMechanism) Privatize(number int, sum *clip.Sum, src *random.Source, consume func(release.Noisy)) error {
	t.step.summed = time.Now()
	if m, ok := t.Mechanism.(release.Remembering); ok {
		m.Follow(t.step.turn)
		t.step.turn++
	}
	return t.Mechanism.Privatize(number, sum, src, consume)
}

// given is a sampler that returns the sample of the benchmark. Nobody accounts for its steps.
type given struct {
	data.Poisson
	step *privateStep
}

func (g given) Sample([]int, int, *random.Source) []int { return g.step.sample }

// unwritten is a journal that forgets every event.
type unwritten struct{}

func (unwritten) Begin(int, accountant.Event) func() error { return func() error { return nil } }
func (unwritten) Ledger() *accountant.Ledger               { return new(accountant.Ledger) }

func (s *privateStep) profile(record func(part string, d time.Duration)) {
	s.record = record
	parameters, gradient := make([]float32, len(s.parameters)), make([]float32, len(s.parameters)) // vectors of its own
	bare, _ := usual(func() error {
		addScaled(s.pool, parameters, -benchRate, gradient)
		return nil
	})
	s.bare = time.Duration(bare * float64(time.Millisecond))
	s.gradients.Profile(func(part, _ string, d time.Duration) { record(part, d) })
}

func recordNothing(string, time.Duration) {}

func addScaled(pool *kernel.Pool, y []float32, a float32, x []float32) {
	const grain = 1 << 14
	pool.Run(len(y), grain, func(_, lo, hi int) { kernel.Axpy(y[lo:hi], a, x[lo:hi]) })
}

// plainStep makes steps of training without privacy, to compare with: the same network on the same
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
