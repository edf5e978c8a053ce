package release

import (
	"dpsgd/data"
	"dpsgd/internal/setting"
)

// Sampling is how batches are drawn, before it is known from how many records.
type Sampling interface {
	// Name is its name in configs.
	Name() string
	// Sampler draws batches of that expected size from n records.
	Sampler(batchSize float64, n int) Sampler
}

// Samplings is every sampling that a configuration can name: to add one, write its sampler and add
// its kind here.
func Samplings() setting.Kinds[Sampling] {
	return setting.Kinds[Sampling]{
		{Name: Poisson{}.Name(), Doc: "every example takes part in a step with probability batch_size / training examples, independently", New: func() Sampling { return Poisson{} }},
		{Name: Full{}.Name(), Doc: "every example takes part in every step: no amplification, least noise for many steps", New: func() Sampling { return Full{} }},
	}
}

// Poisson is [data.Poisson].
type Poisson struct{}

// Name returns "poisson".
func (Poisson) Name() string { return "poisson" }

// Sampler implements [Sampling].
func (Poisson) Sampler(batchSize float64, n int) Sampler {
	return data.Poisson{SamplingProbability: batchSize / float64(n)}
}

// Full is [data.Full]; it has no use for a batch size.
type Full struct{}

// Name returns "full".
func (Full) Name() string { return "full" }

// Sampler implements [Sampling].
func (Full) Sampler(float64, int) Sampler { return data.Full{} }
