package rdp

import (
	"math"

	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
)

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
