package votes

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Mechanism is a noisy answer to a question about votes, with bounds of its Rényi divergence.
type Mechanism interface {
	// Divergence bounds the Rényi divergence of order alpha > 1 between the answer for these votes
	// and for any in which one teacher votes otherwise, in nats. votes is the count of each class:
	// at least two counts, none below 0. The bound is NOT PRIVATE.
	Divergence(votes []int, alpha float64) float64
	// Independent bounds the Rényi divergence of order alpha for all votes, in both directions.
	Independent(alpha float64) float64
}

var (
	_ Mechanism = GaussianMax{}
	_ Mechanism = LaplaceMax{}
	_ Mechanism = Threshold{}
)

// GaussianMax is GNMax: it answers the class whose count is largest after noise N(0, Sigma²) was
// added to each count.
type GaussianMax struct{ Sigma float64 } // in votes

// LogQ bounds from above the logarithm of the probability that the answer is not the class with the
// most votes: a sum over the other classes (2018, Proposition 7). It is below 0.
func (m GaussianMax) LogQ(votes []int) float64 {
	return logOthers(votes, func(behind float64) float64 { return logTail(behind / (math.Sqrt2 * m.Sigma)) })
}

// logOthers returns the logarithm of the summed chances of all classes but the winner. chance gives
// the logarithm of the chance of a class that is so many votes behind.
func logOthers(votes []int, chance func(behind float64) float64) float64 {
	var sum numeric.LogSum
	best := winner(votes)
	for class, count := range votes {
		if class != best {
			sum.Add(chance(float64(votes[best] - count)))
		}
	}
	return min(sum.Log(), math.Log1p(-1/float64(len(votes))))
}

// Divergence bounds the divergence for these votes by Theorem 6 of the 2018 paper.
func (m GaussianMax) Divergence(votes []int, alpha float64) float64 {
	return gaussianAt(m.LogQ(votes), m.Sigma, alpha)
}

// Independent returns α/σ², by Proposition 8 of the 2018 paper: the vote that moves changes two
// counts by 1, a distance of √2.
func (m GaussianMax) Independent(alpha float64) float64 { return alpha / (m.Sigma * m.Sigma) }

// Threshold is the check ahead of an answer: it tells whether the largest count plus noise
// N(0, Sigma²) reaches At votes.
type Threshold struct{ At, Sigma float64 }

// LogPassed returns the logarithm of the probability that the votes pass.
func (m Threshold) LogPassed(votes []int) float64 {
	return logTail((m.At - float64(votes[winner(votes)])) / m.Sigma)
}

// Divergence bounds the divergence for these votes by Theorem 6. One vote moves the largest count
// by at most 1: the check at σ costs what GNMax costs at √2·σ.
func (m Threshold) Divergence(votes []int, alpha float64) float64 {
	return m.divergence(votes[winner(votes)], alpha)
}

func (m Threshold) divergence(largest int, alpha float64) float64 {
	passed := logTail((m.At - float64(largest)) / m.Sigma)
	failed := logTail((float64(largest) - m.At) / m.Sigma)
	return gaussianAt(min(passed, failed), math.Sqrt2*m.Sigma, alpha)
}

// Independent returns α/(2σ²): one vote moves the largest count by at most 1.
func (m Threshold) Independent(alpha float64) float64 { return alpha / (2 * m.Sigma * m.Sigma) }

// LaplaceMax is LNMax: it answers the class whose count is largest after Laplace noise on each.
type LaplaceMax struct{ Scale float64 } // in votes; 1/γ in the papers

// LogQ bounds from above the logarithm of the probability that the answer is not the class with the
// most votes: Lemma 4 of the 2017 paper.
func (m LaplaceMax) LogQ(votes []int) float64 {
	return logOthers(votes, func(behind float64) float64 {
		gap := behind / m.Scale
		return math.Log(2+gap) - math.Log(4) - gap
	})
}

// pure returns the ε of one answer: a vote that moves changes two counts by 1.
func (m LaplaceMax) pure() float64 { return 2 / m.Scale }

// Divergence returns the lesser of Independent and the bound of Theorem 3 of the 2017 paper.
func (m LaplaceMax) Divergence(votes []int, alpha float64) float64 {
	least := m.Independent(alpha)
	logQ, pure := m.LogQ(votes), m.pure()
	if q := math.Exp(logQ); q <= 1/(math.Exp(pure)+1) {
		stays := math.Log1p(-q) + (alpha-1)*(math.Log1p(-q)-log1mExp(pure+logQ))
		least = min(least, numeric.LogAddExp(stays, logQ+pure*(alpha-1))/(alpha-1))
	}
	return max(0, least)
}

// Independent returns the bound for every ε-private mechanism, ε being pure: the lesser of ε²α/2
// (Bun, Steinke 2016, arXiv:1605.02065, Proposition 1.4) and ε.
func (m LaplaceMax) Independent(alpha float64) float64 {
	return min(m.pure()*m.pure()*alpha/2, m.pure())
}

// winner returns the number of the first class with the most votes.
func winner(votes []int) int {
	best := 0
	for class, count := range votes {
		if count > votes[best] {
			best = class
		}
	}
	return best
}

// gaussianAt bounds the divergence of order alpha of a mechanism whose divergences are at most
// α/σ², if some outcome fails to come with probability e^logQ at most: Theorem 6 of the 2018 paper,
// with the two higher orders of Proposition 10. It is at most α/σ².
func gaussianAt(logQ, sigma, alpha float64) float64 {
	independent := alpha / (sigma * sigma)
	if math.IsInf(logQ, -1) {
		return 0
	}
	mu2 := sigma * math.Sqrt(-logQ)
	mu1 := mu2 + 1
	if mu1 <= alpha || mu2 <= 1 {
		return independent
	}
	eps1, eps2 := mu1/(sigma*sigma), mu2/(sigma*sigma)
	// The conditions of the theorem: q is so small that the bound rises with it (Lemma 9), and A is
	// positive.
	if logQ > (mu2-1)*eps2-mu2*(math.Log1p(1/(mu1-1))+math.Log1p(1/(mu2-1))) || -logQ <= eps2 {
		return independent
	}
	stays := log1mExp(logQ)
	logA := (alpha - 1) * (stays - log1mExp((logQ+eps2)*(1-1/mu2)))
	logB := (alpha - 1) * (eps1 - logQ/(mu1-1))
	dependent := numeric.LogAddExp(stays+logA, logQ+logB) / (alpha - 1)
	return min(independent, max(0, dependent))
}
