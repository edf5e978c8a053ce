package accountant

import (
	"fmt"
	"math"
)

// PlainEpsilon is epsilon at delta of a ledger of Gaussian releases, Poisson-sampled or not, under
// AddOrRemoveOne and ZeroOut, by the shortest proof that there is: the Rényi divergence at a few
// integer orders, added up, and converted.
//
//	release   D_n = 1/(n-1) · log Σ_k C(n,k) (1-q)^(n-k) q^k exp((k²-k)/(2σ²))
//	ledger    D_n = Σ count · D_n of the release
//	ε         min over n of D_n + log(1-1/n) - log(δ·n)/(n-1)
//
// by Mironov, Talwar, Zhang 2019 (arXiv:1908.10530v1, section 3.3; both directions by 3.1),
// Mironov 2017 (arXiv:1702.07476v3, Proposition 1) and Canonne, Kamath, Steinke 2020
// (arXiv:2004.00010v4, Proposition 12).
//
// It is an upper bound, looser than the accountants' by the orders that it leaves out, and shares
// no code with them: statements print it beside what they say. It is 0 for an empty ledger and +Inf
// where noise is missing. Other events are ErrUnsupported.
func PlainEpsilon(l *Ledger, delta float64) (float64, error) {
	if err := ValidateDelta(delta); err != nil || l.Count() == 0 {
		return 0, err
	}
	best := math.Inf(1)
	for n := 2; n <= 1024; n += 1 + n/16 {
		divergence := 0.0
		for _, entry := range l.Entries() {
			d, err := plainDivergence(entry.Event, n)
			if err != nil {
				return 0, err
			}
			divergence += float64(entry.Count) * d
		}
		order := float64(n)
		best = min(best, divergence+math.Log1p(-1/order)-(math.Log(delta)+math.Log(order))/(order-1))
	}
	// Rounding of some thousand operations is far below a part in 10^9.
	return max(best*(1+1e-9), 0), nil
}

// plainDivergence is the Rényi divergence of order n of one release.
func plainDivergence(e Event, n int) (float64, error) {
	q := 1.0
	if sampled, ok := e.(PoissonSampled); ok {
		q, e = sampled.SamplingProbability, sampled.Event
	}
	gaussian, ok := e.(Gaussian)
	if !ok {
		return 0, fmt.Errorf("%w: the plain formula cannot analyse %v", ErrUnsupported, e)
	}
	sigma := gaussian.NoiseMultiplier
	switch {
	case q == 0:
		return 0, nil
	case q == 1 || sigma == 0: // one term of the sum is left, or infinite
		return float64(n) / (2 * sigma * sigma), nil
	}
	terms, largest := make([]float64, n+1), math.Inf(-1)
	for k := range terms {
		x := float64(k)
		terms[k] = logBinomial(n, k) + (float64(n)-x)*math.Log1p(-q) + x*math.Log(q) + (x*x-x)/(2*sigma*sigma)
		largest = max(largest, terms[k])
	}
	sum := 0.0
	for _, t := range terms {
		sum += math.Exp(t - largest)
	}
	return max(largest+math.Log(sum), 0) / float64(n-1), nil
}

// logBinomial is the logarithm of n over k.
func logBinomial(n, k int) float64 {
	logFactorial := func(n int) float64 { l, _ := math.Lgamma(float64(n) + 1); return l }
	return logFactorial(n) - logFactorial(k) - logFactorial(n-k)
}
