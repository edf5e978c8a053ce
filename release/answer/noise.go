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
	return s.with(err, accountant.DiscreteLaplace{Scale: scale, Sensitivity: int(s.reach.l1)}, ratio, noise.Laplace)
}

// Laplace asks for the sums with Laplace noise of scale times their L1 bound, rounded to integers:
// ε is 1/scale. The event is accountant.Laplace: rounding commutes with adding an integer, so this
// is a function of what the real mechanism returns.
func Laplace(s *Sums, scale float64) (Question[[]int64], error) {
	ratio, err := times(scale, float64(s.reach.l1), noise.MaxScale)
	return s.with(err, accountant.Laplace{Scale: scale}, ratio, noise.RoundedLaplace)
}

// DiscreteGaussian asks for the sums with discrete Gaussian noise of noiseMultiplier times their L2
// bound. The event is accountant.DiscreteGaussian, with the noise that is drawn, which is up to
// 2^-20 more: less noise is not more costly at every ε on a lattice.
func DiscreteGaussian(s *Sums, noiseMultiplier float64) (Question[[]int64], error) {
	ratio, err := times(noiseMultiplier, s.reach.l2, noise.MaxDeviation)
	event := accountant.DiscreteGaussian{NoiseMultiplier: ratio.Float64() / s.reach.l2}
	if s.reach.alone {
		event.Sensitivity = int(s.reach.l1)
	}
	return s.with(err, event, ratio, noise.Gaussian)
}

// Gaussian asks for the sums with Gaussian noise of noiseMultiplier times their L2 bound, rounded
// to integers (package noise). The event is accountant.Gaussian.
func Gaussian(s *Sums, noiseMultiplier float64) (Question[[]int64], error) {
	deviation := productUp(noiseMultiplier, s.reach.l2)
	var err error
	if !(deviation > 0 && deviation <= kernel.MaxRoundedDeviation) {
		err = fmt.Errorf("answer: found noise of deviation %v, expected above 0 and at most 2^40", deviation)
	}
	return ask(err, accountant.Gaussian{NoiseMultiplier: noiseMultiplier}, func(src *random.Source) []int64 {
		return addGaussian(s.values, deviation, src)
	})
}

// law draws an integer from a distribution of one form, with the given scale.
type law func(scale noise.Ratio, src *random.Source) int64

// with returns the question for the sums, to each of which one draw of the law is added. Where err
// is not nil, it returns err alone, as [ask] does.
func (s *Sums) with(err error, e accountant.Event, scale noise.Ratio, of law) (Question[[]int64], error) {
	return ask(err, e, func(src *random.Source) []int64 { return noisy(s.values, scale, of, src) })
}

// noisy returns the values, each plus a draw of its own from one law at this scale.
func noisy(values []int64, scale noise.Ratio, of law, src *random.Source) []int64 {
	sums := make([]int64, len(values))
	for i, x := range values {
		sums[i] = saturated(x, of(scale, src))
	}
	return sums
}

// addGaussian returns the values, each with rounded Gaussian noise of its own. The noise is an
// integer below 2^53 and added as an integer: as float64, values above 2^53 would be rounded before
// they have noise.
func addGaussian(values []int64, deviation float64, src *random.Source) []int64 {
	bare, noisy := make([]float64, len(values)), make([]float64, len(values))
	new(noise.Adder).Add(noisy, bare, bare, deviation, 1, src)
	sums := make([]int64, len(values))
	for i, n := range noisy {
		sums[i] = saturated(values[i], int64(n))
	}
	return sums
}

// times returns scale·bound as a ratio, rounded up. It refuses a product above most.
func times(scale, bound, most float64) (noise.Ratio, error) {
	r, err := noise.RatioUp(productUp(scale, bound), most)
	if err != nil {
		return r, fmt.Errorf("answer: %w", err)
	}
	return r, nil
}

// productUp returns a·b rounded up, for b above 0.
func productUp(a, b float64) float64 {
	if p := a * b; math.FMA(a, b, -p) > 0 {
		return math.Nextafter(p, math.Inf(1))
	}
	return a * b
}
