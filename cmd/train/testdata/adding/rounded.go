package release

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
)

// RoundedNoise is Gaussian noise whose multiplier is rounded up.
type RoundedNoise struct{ Parts int }

// Name returns "rounded".
func (*RoundedNoise) Name() string { return "rounded" }

// Arguments are what a configuration can set.
func (r *RoundedNoise) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "noise_parts", Doc: "The noise multiplier is a whole number of these parts of 1.", Format: setting.Integer{Min: 1, Max: 1000}, Value: &r.Parts}}
}

func (r *RoundedNoise) up(sigma float64) float64 {
	return math.Ceil(sigma*float64(r.Parts)) / float64(r.Parts)
}

// Event implements [Noise].
func (r *RoundedNoise) Event(sigma float64) accountant.Event {
	return accountant.Gaussian{NoiseMultiplier: r.up(sigma)}
}

// Mechanism implements [Noise].
func (r *RoundedNoise) Mechanism(s NoiseSchedule, first float64, steps int, pool *kernel.Pool) (Mechanism, error) {
	m, err := NewGaussian(1, pool)
	if err != nil {
		return nil, err
	}
	m.schedule = func(step int) float64 { return r.up(first * s.Factor(step, steps)) }
	return rounded{m}, nil
}

type rounded struct{ *Gaussian }

// String says how large the noise of the first step is.
func (m rounded) String() string {
	return fmt.Sprintf("Gaussian noise of standard deviation σ·C on every coordinate of the sum, σ rounded up to %v in the first step", m.at(0))
}
