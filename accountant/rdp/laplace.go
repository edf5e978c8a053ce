package rdp

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// sampledLaplaceDivergence returns the divergence of a Poisson-sampled Laplace release of scale b,
//
//	P = (1-q) Lap(0, b) + q Lap(1, b),   Q = Lap(0, b),
//
// the larger of D_α(P‖Q) and D_α(Q‖P). The pair dominates a release of a vector of L1
// sensitivity 1 (Zhu, Dong, Wang 2022, arXiv:2106.08567, Theorem 11).
func sampledLaplaceDivergence(q, scale float64) divergence {
	return func(alpha float64) float64 {
		removed := logExcessLaplace(q, scale, func(u float64) float64 { return logBernoulli(alpha, q, u) })
		added := logExcessLaplace(q, scale, func(u float64) float64 {
			logRatio := logOnePlusExpm1(q, u) // of P/Q
			return logRatio + logBernoulliOf(alpha, math.Expm1(-logRatio), -logRatio)
		})
		return numeric.Log1pExp(max(removed, added)) / (alpha - 1)
	}
}

// logExcessLaplace returns the logarithm of E_Q[exp(g(u))], u = (|x| - |x-1|)/b, of which
// P/Q = 1 - q + q e^u is a function. exp(g) is a Bernoulli excess as in logExcessMixtures.
// Under Q, u is -1/b with probability 1/2, 1/b with e^(-1/b)/2, and between them it has the
// density e^(-(u + 1/b)/2)/4.
//
// The integral is cut where P/Q turns from 1-q to q e^u: near the ends of an interval
// the rule sees every scale.
func logExcessLaplace(q, scale float64, g func(u float64) float64) float64 {
	end := 1 / scale
	var sum numeric.LogSum
	sum.Add(g(-end) - math.Ln2)
	sum.Add(g(end) - end - math.Ln2)
	density := func(u float64) float64 { return g(u) - (u+end)/2 - 2*math.Ln2 }
	if turn := math.Log1p(-q) - math.Log(q); math.Abs(turn) < end {
		sum.Add(logFiniteIntegral(density, -end, turn))
		sum.Add(logFiniteIntegral(density, turn, end))
	} else {
		sum.Add(logFiniteIntegral(density, -end, end))
	}
	return sum.Log()
}

// logOnePlusExpm1 returns log(1 + q (e^u - 1)) for 0 < q < 1.
func logOnePlusExpm1(q, u float64) float64 {
	switch w := q * math.Expm1(u); {
	case u > 700: // exp(u) is near the end of float64
		return u + math.Log(q) + math.Log1p((1-q)/q*math.Exp(-u))
	case w < -0.5:
		return math.Log(1 - q + q*math.Exp(u))
	default:
		return math.Log1p(w)
	}
}
