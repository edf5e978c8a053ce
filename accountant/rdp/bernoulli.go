package rdp

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// logBernoulli returns log((1+w)^α - 1 - α w) for w = q (e^u - 1) > -1 and α > 1. The
// difference is at least 0 by Bernoulli's inequality and 0 only for w = 0.
func logBernoulli(alpha, q, u float64) float64 {
	if u > 700 { // exp(u) is near the end of float64
		logW := math.Log(q) + u
		return logBernoulliOf(alpha, math.Exp(logW), numeric.Log1pExp(logW))
	}
	w := q * math.Expm1(u)
	return logBernoulliOf(alpha, w, math.Log1p(w))
}

// logBernoulliOf is logBernoulli as a function of w ≥ -1 and log(1+w), of which the
// first may be +Inf and the second -Inf.
func logBernoulliOf(alpha, w, logOnePlus float64) float64 {
	if math.Abs(w)*alpha < 0.1 {
		return bernoulliSeries(alpha, w)
	}
	x := alpha * logOnePlus
	switch {
	case logOnePlus > 600: // w cannot be told from 1+w
		return x + math.Log1p(-math.Exp(math.Log(alpha)+logOnePlus-x))
	case x > 600:
		return x + math.Log1p(-math.Exp(math.Log1p(alpha*w)-x))
	}
	return math.Log(math.Expm1(x) - alpha*w)
}

// bernoulliSeries is logBernoulli for small α|w|, where the differences would
// cancel: Σ_{k≥2} C(α,k) w^k. Each term is less than a tenth of the one before.
func bernoulliSeries(alpha, w float64) float64 {
	term := alpha * (alpha - 1) / 2
	sum := term
	for k := 3.0; math.Abs(term) > 1e-17*sum; k++ {
		term *= (alpha - k + 1) / k * w
		sum += term
	}
	return 2*math.Log(math.Abs(w)) + math.Log(sum)
}
