package pair

import "math"

// Truncation is about a Poisson sample of n records with probability q that is cut down to at most
// so many: the probability that the sample of the others is full, and the one that a record is
// then in the batch, both rounded up.
func Truncation(records int, q float64, atMost int) (full, stays float64) {
	const slack = 1 + 1e-12
	n, most := float64(records), float64(atMost)
	full = binomialTail(n-1, q, most)
	if full == 0 {
		return 0, 0
	}
	stays = binomialTail(n, q, most+1) * most / n / full
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
