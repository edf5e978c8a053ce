package rdp

import (
	"math"
	"sync"

	"dpsgd/accountant/internal/numeric"
)

// mostAllocated is the largest order at which the divergence of an epoch of balls in bins is
// computed. At larger orders the divergence of steps that all records take part in stands for it.
const mostAllocated = 256

// allocationDivergence returns the divergence of one epoch of bins Gaussian releases, in a secret
// one of which each record takes part: the larger one of both directions. The likelihood ratio is
// the mean S of bins independent log-normal numbers Y with E[Y^k] = e^((k²-k)/(2σ²)), see
// pair.BallsInBins, so that at whole orders n
//
//	e^((n-1) D_n(P‖Q)) = E[S^n] = n!/bins^n · [x^n] (Σ_k E[Y^k] x^k/k!)^bins
//	e^((n-1) D_n(Q‖P)) = E[S^(1-n)] = bins^(n-1)/Γ(n-1) ∫ z^(n-2) E[e^(-zY)]^bins dz
//
// (the first one is Feldman, Shenfeld 2025, arXiv:2502.08202v4, Theorem 4.6, added up another way).
// The logarithm of either is convex in n, so in between its chord bounds it.
func allocationDivergence(bins int, sigma float64) divergence {
	removed := sync.OnceValue(func() []float64 { return logMoments(bins, sigma) })
	added := func(n int) float64 { return logNegativeMoment(bins, sigma, float64(n-1)) }
	at := func(n int) float64 { // (n-1) D_n
		if n < 2 {
			return 0
		}
		return max(removed()[n], added(n))
	}
	return func(alpha float64) float64 {
		if alpha > mostAllocated {
			return math.NaN()
		}
		low, part := math.Modf(alpha)
		k := at(int(low))
		if part > 0 {
			k += part * (at(int(low)+1) - k)
		}
		return k / (alpha - 1)
	}
}

// slackOfMoments bounds the error of the logarithms below, as a part of the largest terms that make
// them up. They are rounded up by it.
const slackOfMoments = 1e-12

// logMoments returns log E[S^n] for n up to mostAllocated, rounded up.
func logMoments(bins int, sigma float64) []float64 {
	series := make([]float64, mostAllocated+1) // of logarithms of coefficients
	for k := range series {
		n := float64(k)
		series[k] = (n*n-n)/(2*sigma*sigma) - logFactorial(n)
	}
	power := make([]float64, len(series))
	for k := range power {
		power[k] = math.Inf(-1)
	}
	power[0] = 0
	for rest := bins; ; series = logProduct(series, series) {
		if rest&1 == 1 {
			power = logProduct(power, series)
		}
		if rest >>= 1; rest == 0 {
			break
		}
	}
	for k := range power {
		n := float64(k)
		scale := n * math.Log(float64(bins))
		power[k] += logFactorial(n) - scale + slackOfMoments*(1+scale+logFactorial(n))
	}
	return power
}

// logProduct returns the product of two power series, up to the order that they have. All three are
// given by the logarithms of their coefficients.
func logProduct(a, b []float64) []float64 {
	product := make([]float64, len(a))
	for n := range product {
		var sum numeric.LogSum
		for k := range n + 1 {
			sum.Add(a[k] + b[n-k])
		}
		product[n] = sum.Log()
	}
	return product
}

// logNegativeMoment returns log E[S^-p] for p ≥ 1, rounded up, NaN where it takes too many nodes.
// The integral is over u = log z.
func logNegativeMoment(bins int, sigma, p float64) float64 {
	n, s := float64(bins), 1/sigma
	logLaplace := func(u float64) float64 { // log E[e^(-zY)], z = e^u
		f := func(x float64) float64 { return -x*x/2 - math.Exp(u+s*x-s*s/2) }
		return logIntegral(f, -max(u, 0)/s, 0) - math.Log(2*math.Pi)/2
	}
	// Where the integrand is greatest z is at least p, for E[S] = 1, and at most what it is if all
	// numbers are at their least.
	right := math.Log(p) + 8 + p*s*s/n + s*s
	integral := logIntegral(func(u float64) float64 { return p*u + n*min(logLaplace(u), 0) }, -60, right)
	gamma := logFactorial(p - 1)
	return integral + p*math.Log(n) - gamma + slackOfMoments*(1+p*math.Log(n)+gamma+n)
}

func logFactorial(n float64) float64 { l, _ := math.Lgamma(n + 1); return l }
