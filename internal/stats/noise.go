package stats

import (
	"math"

	"dpsgd/configs"
	"dpsgd/release/answer"

	"gonum.org/v1/gonum/stat/distuv"
)

// miss is the chance that an interval does not hold what the data says.
const miss = 0.05

// additive is the noise of sums, in units of the bound on what one record contributes.
type additive struct {
	mechanism string
	scale     float64 // of Laplace's law over the L1 bound, or the noise multiplier
}

// gaussian reports whether the bound is one of the L2 norm, and a δ is needed.
func gaussian(mechanism string) bool {
	return mechanism == configs.Gaussian || mechanism == configs.DiscreteGaussian
}

// noises are the mechanisms of sums.
var noises = map[string]func(*answer.Sums, float64) (answer.Question[[]int64], error){
	configs.DiscreteLaplace: answer.DiscreteLaplace, configs.Laplace: answer.Laplace,
	configs.DiscreteGaussian: answer.DiscreteGaussian, configs.Gaussian: answer.Gaussian,
}

// within returns a number that the noise on one sum stays within, up and down, with a chance of 1 -
// miss. bound limits a record's contribution.
//
// For Laplace noise of scale b, P[|N| > t] is exp(-t/b); for rounded or discrete noise it is no
// more for whole t. For Gaussian noise it follows from the normal distribution, which rounding
// moves by half a step, and the discrete law falls off no slower (Canonne, Kamath, Steinke 2020,
// arXiv:2004.00010v4, Proposition 25).
func (z additive) within(bound, miss float64) float64 {
	if gaussian(z.mechanism) {
		return math.Ceil(distuv.UnitNormal.Quantile(1-miss/2)*z.scale*bound + 0.5)
	}
	return math.Ceil(math.Log(1/miss) * z.scale * bound)
}

// variance returns about the variance of the noise on a sum of ones.
func (z additive) variance() float64 {
	if gaussian(z.mechanism) {
		return z.scale * z.scale
	}
	return 2 * z.scale * z.scale
}

// noise of a statistic's mechanism at its budget.
func (a *asked) noise() additive {
	if gaussian(a.Mechanism) {
		return additive{a.Mechanism, a.multiplier * a.factor}
	}
	return additive{a.Mechanism, a.factor / a.epsilon}
}
