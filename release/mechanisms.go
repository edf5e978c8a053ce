package release

import (
	"dpsgd/accountant"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
)

// Noise is a mechanism before it is known how large its noise is. One that can be set lists its
// arguments ([setting.Arguments]).
type Noise interface {
	// Name is its name in configs.
	Name() string
	// Event describes a release with that noise multiplier, before sampling. It costs no more with a
	// larger one.
	Event(noiseMultiplier float64) accountant.Event
	// Mechanism makes noise whose multiplier begins with first and follows a schedule over so many
	// steps, on the threads of pool. The event of a step is Event of its multiplier.
	Mechanism(s NoiseSchedule, first float64, steps int, pool *kernel.Pool) (Mechanism, error)
}

// Mechanisms is every mechanism that a configuration can name: to add one, write it and add its kind
// here.
func Mechanisms() setting.Kinds[Noise] {
	return setting.Kinds[Noise]{
		{Name: GaussianNoise{}.Name(), Doc: "Gaussian noise on every coordinate of the sum", New: func() Noise { return GaussianNoise{} }},
	}
}
