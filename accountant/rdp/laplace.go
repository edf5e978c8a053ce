package rdp

import (
	"math"

	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
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
			logRatio := pair.RemovedLoss(q, u) // of P/Q
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

// discreteLaplaceDivergence returns the divergence of sums of integers that move by distance, with
// discrete Laplace noise of ε epsilon: that of pure ε for an ε below 1e-12 or above 600.
func discreteLaplaceDivergence(epsilon, distance float64) divergence {
	pure := pureDivergence(epsilon)
	if !(epsilon >= 1e-12 && epsilon <= 600) {
		return pure
	}
	exact := ladderDivergence(pair.DiscreteLaplace(epsilon, distance))
	return func(alpha float64) float64 { return min(exact(alpha), pure(alpha)) }
}

// ladderDivergence returns the divergence of a pair with finitely many losses, log(A)/(α-1) with
//
//	A - 1 = Σ Q (e^(αL) - 1 - α (e^L - 1)),
//
// in which nothing is negative.
func ladderDivergence(l *pair.Ladder) divergence {
	return func(alpha float64) float64 {
		var sum numeric.LogSum
		l.Steps(func(loss, p float64) bool {
			if p > 0 && loss != 0 {
				sum.Add(math.Log(p) - loss + logBernoulli(alpha, 1, loss))
			}
			return true
		})
		return numeric.Log1pExp(sum.Log()) / (alpha - 1)
	}
}

// rangeDivergence returns the largest divergence of any mechanism whose losses lie within some
// interval of width η, t-η to t. With the loss t at one outcome and t-η at the other,
//
//	A(t) = (e^((α-1)t) (1 - e^-αη) - e^(αt) (e^-η - e^-αη))/(1 - e^-η),
//
// which is the greatest, e^((α-1)t) (1 - e^-αη)/(α (1 - e^-η)), at e^t = e^η (1 - 1/α) (1 -
// e^-αη)/(1 - e^-(α-1)η) (Dong, Durfee, Rogers 2020, arXiv:1909.13830). It is at most αη²/8 (Cesar,
// Rogers 2021, arXiv:2004.07223), and that is the answer where rounding might put it above.
func rangeDivergence(eta float64) divergence {
	return func(alpha float64) float64 {
		all := math.Log(-math.Expm1(-alpha * eta))
		t := eta + math.Log1p(-1/alpha) + all - math.Log(-math.Expm1(-(alpha-1)*eta))
		size := all - math.Log(alpha) - math.Log(-math.Expm1(-eta))
		rounding := 4e-15 * (1 + eta + (1+math.Abs(all)+math.Abs(size))/(alpha-1))
		return min(t+size/(alpha-1)+rounding, alpha*eta*eta/8, eta)
	}
}
