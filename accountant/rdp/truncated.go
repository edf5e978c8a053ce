package rdp

import (
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
)

// truncatedDivergence is the divergence of a Gaussian release on a Poisson sample that is cut down
// to at most MaxBatchSize records. The pair that dominates it begins with a public coin (Ganesh,
// McKenna, McMahan, Smith, Wu 2025, arXiv:2508.15089; the accountant of dp_accounting 0.6.0 uses
// the same one): if the sample of the others is full, the record pushes another one out, and the
// pair is a replaced record at noise σ/2, sampled with the chance that it stays; else it is the
// Poisson pair. A_α of such a pair is the weighted sum of both.
//
// The noise of σ/2 covers more than the replacement asks for, so this is an upper
// bound, not the exact divergence of the mechanism.
func truncatedDivergence(e accountant.TruncatedPoissonSampled, sigma float64) divergence {
	poisson := pair.Removed(e.SamplingProbability, sigma)
	full, stays := pair.Truncation(e.DatasetSize, e.SamplingProbability, e.MaxBatchSize)
	if full == 0 {
		return mixtureDivergence(poisson)
	}
	replaced := pair.Replaced(stays, sigma/2)
	return func(alpha float64) float64 {
		var sum numeric.LogSum
		sum.Add(math.Log(full) + logExcessMixtures(replaced, alpha))
		if full < 1 {
			sum.Add(math.Log1p(-full) + logExcessMixtures(poisson, alpha))
		}
		return numeric.Log1pExp(sum.Log()) / (alpha - 1)
	}
}
