package accountant

import (
	"math"

	"dpsgd/accountant/internal/pair"
)

// truncatedDivergence is that of a Gaussian release on a Poisson sample that is cut
// down to at most MaxBatchSize records. The pair that dominates it begins with a public
// coin (Ganesh, McKenna, McMahan, Smith, Wu 2025, arXiv:2508.15089; the accountant of
// dp_accounting 0.6.0 uses the same one): if the sample of the others is full, the
// record pushes another one out and the pair is that of a replaced record at noise σ/2, sampled
// with the chance that it stays; else it is the Poisson pair. A_α of such a pair is the
// weighted sum of both.
//
// The noise of σ/2 covers more than the replacement asks for, so this is an upper
// bound, not the exact divergence of the mechanism.
func truncatedDivergence(e TruncatedPoissonSampled, sigma float64) divergence {
	q := e.SamplingProbability
	full, stays := truncation(e)
	poisson := func(alpha float64) float64 { return logExcessPoisson(q, sigma, alpha) }
	if full == 0 {
		return func(alpha float64) float64 { return log1pExp(poisson(alpha)) / (alpha - 1) }
	}
	replaced := pair.Replaced(stays, sigma/2)
	return func(alpha float64) float64 {
		var sum logSum
		sum.add(math.Log(full) + logExcessMixtures(replaced, alpha))
		if full < 1 {
			sum.add(math.Log1p(-full) + poisson(alpha))
		}
		return log1pExp(sum.log()) / (alpha - 1)
	}
}

// logExcessPoisson is log(A_α - 1) of a Poisson-sampled Gaussian release, 0 < q ≤ 1.
func logExcessPoisson(q, sigma, alpha float64) float64 {
	if q == 1 {
		return logExpm1((alpha - 1) * gaussianDivergence(sigma)(alpha))
	}
	return logExcessPoissonGaussian(q, sigma, alpha)
}

// truncation returns the probability that MaxBatchSize or more of the other records are
// sampled, and the one that a record is then in the batch: both rounded up.
func truncation(e TruncatedPoissonSampled) (full, stays float64) {
	const slack = 1 + 1e-12
	n, most := float64(e.DatasetSize), float64(e.MaxBatchSize)
	full = binomialTail(n-1, e.SamplingProbability, most)
	if full == 0 {
		return 0, 0
	}
	stays = binomialTail(n, e.SamplingProbability, most+1) * most / n / full
	return min(1, full*slack), min(1, stays*slack)
}

// binomialTail returns P[Bin(n, q) ≥ k], with a small relative error also where it is
// tiny: by adding up the side of the mean that k is on.
func binomialTail(n, q, k float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n || q == 0:
		return 0
	case q == 1:
		return 1
	case k <= n*q: // fewer than k successes are more than n-k failures
		return 1 - binomialSum(n, 1-q, q, n-k+1)
	}
	return binomialSum(n, q, 1-q, k)
}

// binomialSum is P[Bin(n, q) ≥ k] for a k above the mean, with notQ = 1 - q.
func binomialSum(n, q, notQ, k float64) float64 {
	term := binomialProbability(n, q, notQ, k)
	sum := term
	for i := k; i < n && term > 1e-18*sum; i++ {
		term *= (n - i) / (i + 1) * q / notQ
		sum += term
	}
	return min(1, sum)
}

// binomialProbability returns P[Bin(n, q) = k], 0 < k ≤ n, by Loader's saddle-point formula, which
// unlike the logarithms of factorials loses no digits for large n (Loader 2000, "Fast
// and Accurate Computation of Binomial Probabilities").
func binomialProbability(n, q, notQ, k float64) float64 {
	if k == n {
		if notQ < 0.5 {
			return math.Exp(n * math.Log1p(-notQ))
		}
		return math.Exp(n * math.Log(q))
	}
	exponent := stirlingError(n) - stirlingError(k) - stirlingError(n-k) -
		deviance(k, n*q) - deviance(n-k, n*notQ)
	return math.Exp(exponent) * math.Sqrt(n/(2*math.Pi*k*(n-k)))
}

// stirlingError is log n! - log(√(2πn) (n/e)^n).
func stirlingError(n float64) float64 {
	if n < 16 {
		logFactorial, _ := math.Lgamma(n + 1)
		return logFactorial - (n+0.5)*math.Log(n) + n - math.Log(2*math.Pi)/2
	}
	// http://dlmf.nist.gov/5.11#E1
	s := 1 / (n * n)
	return (1.0/12 - s*(1.0/360-s*(1.0/1260-s*(1.0/1680-s/1188)))) / n
}

// deviance is x log(x/m) + m - x.
func deviance(x, m float64) float64 {
	if math.Abs(x-m) > 0.1*(x+m) {
		return x*math.Log(x/m) + m - x
	}
	v := (x - m) / (x + m)
	sum, term := (x-m)*v, 2*x*v
	for j := 3.0; ; j += 2 {
		term *= v * v
		next := sum + term/j
		if next == sum {
			return sum
		}
		sum = next
	}
}
