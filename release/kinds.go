package release

import (
	"dpsgd/accountant"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
)

// Noise is a kind of mechanism that a configuration names, before it is known how large its noise
// is. A kind that has settings lists them as arguments ([setting.Arguments]).
type Noise interface {
	// Name returns the name of the kind in configs.
	Name() string
	// Event describes a release with that noise multiplier, before sampling. It costs no more with
	// a larger multiplier.
	Event(noiseMultiplier float64) accountant.Event
	// Mechanism returns the mechanism whose noise multiplier begins with first and follows the
	// schedule s over this many steps. It works on the threads of pool. The event of a step is
	// Event of its multiplier.
	Mechanism(s NoiseSchedule, first float64, steps int, pool *kernel.Pool) (Mechanism, error)
}

// Mechanisms returns every mechanism that a configuration can name: to add one, write it and add
// its kind here.
func Mechanisms() setting.Kinds[Noise] {
	return setting.Kinds[Noise]{
		{Name: GaussianNoise{}.Name(), Doc: "Gaussian noise on every coordinate of the sum", New: func() Noise { return GaussianNoise{} }},
	}
}

// GaussianNoise is the [Noise] "gaussian", whose mechanism is [Gaussian].
type GaussianNoise struct{}

func (GaussianNoise) Name() string { return "gaussian" }
func (GaussianNoise) Event(sigma float64) accountant.Event {
	return accountant.Gaussian{NoiseMultiplier: sigma}
}

func (GaussianNoise) Mechanism(s NoiseSchedule, first float64, steps int, pool *kernel.Pool) (Mechanism, error) {
	return NewScheduled(s, first, steps, pool)
}

// Sampling is a kind of sampler that a configuration names, before the number of records is known.
// A kind that has settings lists them as arguments ([setting.Arguments]).
type Sampling interface {
	// Name returns the name of the kind in configs.
	Name() string
	// Sized reports whether a configuration says how large batches are. If not, they are all records.
	Sized() bool
	// Sampler returns the sampler that draws batches of that expected size from n records.
	Sampler(batchSize float64, n int) Sampler
}

// Samplings returns every sampling that a configuration can name: to add one, write its sampler and
// add its kind here.
func Samplings() setting.Kinds[Sampling] {
	return setting.Kinds[Sampling]{
		{Name: Poisson{}.Name(), Doc: "every example takes part in a step with probability batch_size / training examples, independently", New: func() Sampling { return Poisson{} }},
		{Name: Full{}.Name(), Doc: "every example takes part in every step: no amplification, least noise for many steps", New: func() Sampling { return Full{} }},
		{Name: (*Cyclic)(nil).Name(), Doc: "blocks of examples take turns, and every example of the block takes part independently, so that an example's steps are blocks apart", New: func() Sampling { return &Cyclic{Blocks: 8} }},
		{Name: BallsInBins{}.Name(), Doc: "every example takes part in one step of an epoch, drawn uniformly, kept secret and drawn anew for each epoch", New: func() Sampling { return BallsInBins{} }},
	}
}

// Poisson is the [Sampling] whose sampler is [data.Poisson].
type Poisson struct{}

func (Poisson) Name() string { return "poisson" }
func (Poisson) Sized() bool  { return true }
func (Poisson) Sampler(batchSize float64, n int) Sampler {
	return data.Poisson{SamplingProbability: batchSize / float64(n)}
}

// Full is the [Sampling] whose sampler is [data.Full].
type Full struct{}

func (Full) Name() string                 { return "full" }
func (Full) Sized() bool                  { return false }
func (Full) Sampler(float64, int) Sampler { return data.Full{} }

// MemoryJournal is a journal in memory alone: for plans, and for data that is nobody's.
type MemoryJournal struct{ events accountant.Ledger }

var _ Journal = (*MemoryJournal)(nil)

func (m *MemoryJournal) Begin(_ int, e accountant.Event) (durable func() error) {
	return func() error { return m.events.Add(e, 1) }
}

func (m *MemoryJournal) Ledger() *accountant.Ledger { return &m.events }
