package answer

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/internal/kernel"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// DiscreteLaplace asks for the sums with discrete Laplace noise of scale times their L1 bound: ε is
// 1/scale. The event is accountant.DiscreteLaplace.
func DiscreteLaplace(s *Sums, scale float64) (Question[[]int64], error) {
	ratio, err := times(scale, float64(s.reach.l1), noise.MaxScale)
	if err != nil {
		return Question[[]int64]{}, err
	}
	event := accountant.DiscreteLaplace{Scale: scale, Sensitivity: int(s.reach.l1)}
	return s.with(event, ratio, noise.Laplace), nil
}

// Laplace asks for the sums with Laplace noise of scale times their L1 bound, rounded to integers:
// ε is 1/scale. The event is accountant.Laplace: rounding commutes with adding an integer, so this
// is a function of what the real mechanism returns.
func Laplace(s *Sums, scale float64) (Question[[]int64], error) {
	ratio, err := times(scale, float64(s.reach.l1), noise.MaxScale)
	if err != nil {
		return Question[[]int64]{}, err
	}
	return s.with(accountant.Laplace{Scale: scale}, ratio, noise.RoundedLaplace), nil
}

// DiscreteGaussian asks for the sums with discrete Gaussian noise of noiseMultiplier times their L2
// bound. The event is accountant.DiscreteGaussian, with the noise that is drawn, which is up to
// 2^-20 more: less noise is not more costly at every ε on a lattice.
func DiscreteGaussian(s *Sums, noiseMultiplier float64) (Question[[]int64], error) {
	ratio, err := times(noiseMultiplier, s.reach.l2, noise.MaxDeviation)
	if err != nil {
		return Question[[]int64]{}, err
	}
	event := accountant.DiscreteGaussian{NoiseMultiplier: ratio.Float64() / s.reach.l2}
	if s.reach.alone {
		event.Sensitivity = int(s.reach.l1)
	}
	return s.with(event, ratio, noise.Gaussian), nil
}

// Gaussian asks for the sums with Gaussian noise of noiseMultiplier times their L2 bound, rounded
// to integers (package noise). The event is accountant.Gaussian.
func Gaussian(s *Sums, noiseMultiplier float64) (Question[[]int64], error) {
	deviation := productUp(noiseMultiplier, s.reach.l2)
	if !(deviation > 0 && deviation <= kernel.MaxRoundedDeviation) {
		return Question[[]int64]{}, fmt.Errorf("answer: found noise of deviation %v, expected above 0 and at most 2^40", deviation)
	}
	return Question[[]int64]{accountant.Gaussian{NoiseMultiplier: noiseMultiplier}, func(src *random.Source) []int64 {
		return addGaussian(s.values, deviation, src)
	}}, nil
}

// with asks for the sums with independent noise of one law and scale.
func (s *Sums) with(e accountant.Event, scale noise.Ratio, law func(noise.Ratio, *random.Source) int64) Question[[]int64] {
	return Question[[]int64]{e, func(src *random.Source) []int64 {
		noisy := make([]int64, len(s.values))
		for i, x := range s.values {
			noisy[i] = saturated(x, law(scale, src))
		}
		return noisy
	}}
}

// addGaussian returns values with rounded Gaussian noise. The noise is an integer below 2^53 and
// added as one: in float64, values above 2^53 would be rounded before they have noise.
func addGaussian(values []int64, deviation float64, src *random.Source) []int64 {
	bare, noisy := make([]float64, len(values)), make([]float64, len(values))
	new(noise.Adder).Add(noisy, bare, nil, deviation, 1, src)
	sums := make([]int64, len(values))
	for i, n := range noisy {
		sums[i] = saturated(values[i], int64(n))
	}
	return sums
}

// times is scale·bound as a ratio, rounded up.
func times(scale, bound, most float64) (noise.Ratio, error) {
	r, err := noise.RatioUp(productUp(scale, bound), most)
	if err != nil {
		return r, fmt.Errorf("answer: %w", err)
	}
	return r, nil
}

// productUp is a·b rounded up, for b above 0.
func productUp(a, b float64) float64 {
	if p := a * b; math.FMA(a, b, -p) > 0 {
		return math.Nextafter(p, math.Inf(1))
	}
	return a * b
}
