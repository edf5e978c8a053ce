package accountant

import (
	"fmt"
	"math"
)

// PlainEpsilon bounds epsilon at delta of a ledger of Gaussian releases, Poisson-sampled or not, by
// turns or not, under AddOrRemoveOne and ZeroOut, by the shortest proof that there is: the Rényi
// divergence at a few integer orders n, added up and converted. For sampling probability q, noise σ:
//
//	release   D_n = 1/(n-1) · log Σ_k C(n,k) (1-q)^(n-k) q^k exp((k²-k)/(2σ²))
//	ledger    D_n = Σ count · D_n of the release
//	ε         min over n of D_n + log(1-1/n) - log(δ·n)/(n-1)
//
// by Mironov, Talwar, Zhang 2019 (arXiv:1908.10530v1, section 3.3; both directions by 3.1),
// Mironov 2017 (arXiv:1702.07476v3, Proposition 1) and Canonne, Kamath, Steinke 2020
// (arXiv:2004.00010v4, Proposition 12).
//
// It is looser than the accountants by the orders that it leaves out, and shares no code with them:
// statements print it beside the claimed ε. It is 0 for an empty ledger and +Inf where noise is
// missing. The error for other events matches ErrUnsupported.
func PlainEpsilon(l *Ledger, delta float64) (float64, error) {
	if err := ValidateDelta(delta); err != nil || l.Count() == 0 {
		return 0, err
	}
	best := math.Inf(1)
	for n := 2; n <= 1024; n += 1 + n/16 {
		divergence := 0.0
		for _, entry := range l.inRounds() {
			entry = entry.ofOneRecord()
			d, err := plainDivergence(entry.Event, n)
			if err != nil {
				return 0, err
			}
			divergence += float64(entry.Count) * d
		}
		order, logDelta := float64(n), logOf(delta)
		rounding := ulps * (divergence*float64(len(l.Entries())+1) + order - logDelta)
		best = min(best, divergence+math.Log1p(-1/order)-(logDelta+math.Log(order))/(order-1)+rounding)
	}
	return max(best, 0), nil
}

// plainDivergence bounds the Rényi divergence of order n of the release e from above.
func plainDivergence(e Event, n int) (float64, error) {
	q := 1.0
	if sampled, ok := e.(PoissonSampled); ok {
		q, e = sampled.SamplingProbability, sampled.Event
	}
	gaussian, ok := e.(Gaussian)
	if !ok {
		return 0, fmt.Errorf("%w: the plain formula cannot analyse %v", ErrUnsupported, e)
	}
	sigma := min(gaussian.NoiseMultiplier, 1e100) // the square of more overflows
	switch {
	case q == 0:
		return 0, nil
	case q == 1 || sigma == 0: // one term of the sum is left, or infinite
		return float64(n) / (2 * sigma * sigma), nil
	}
	// Of Σ p_k e^(y_k) with binomial p_k, the p_k add up to 1, and y_0 = y_1 = 0: it is 1 plus the
	// sum of the p_k (e^(y_k) - 1) from k = 2, none of which is negative. The usual sum has no
	// digits left of its distance from 1, which is all that counts where q is small and releases
	// are many.
	terms, largest := make([]float64, n+1), -1000.0 // whatever is less is no float
	for k := 2; k <= n; k++ {
		stay, join := float64(n-k)*math.Log1p(-q), float64(k)*math.Log(q)
		y := float64(k*k-k) / (2 * sigma * sigma)
		choices, size := logBinomial(n, k)
		more := logExpm1(y)
		terms[k] = choices + stay + join + more + ulps*(size-stay-join+y+math.Abs(more)+1)
		largest = max(largest, terms[k])
	}
	if math.IsInf(largest, 1) {
		return largest, nil
	}
	sum := 0.0
	for _, t := range terms[2:] {
		sum += math.Exp(t - largest)
	}
	excess := largest + math.Log(sum) + (float64(n)+math.Abs(largest))*ulps
	return (max(excess, 0) + math.Log1p(math.Exp(-math.Abs(excess)))) / float64(n-1) * (1 + ulps), nil
}

// ulps times the sizes of a result's terms exceeds its rounding error: a logarithm, exponential or
// factorial of package math is off by less than two units in the last place, a sum or product by
// half of one, with fewer than sixteen in a row. Every bound below is rounded up by that.
const ulps = 0x1p-49

// logOf returns log x of an x below 1. [math.Log] may be wrong below 2^-1022. The accountants have a
// logarithm of their own: nothing here is shared with them.
func logOf(x float64) float64 {
	fraction, exponent := math.Frexp(x)
	return math.Log(fraction) + float64(exponent)*math.Ln2
}

// logExpm1 returns log(e^y - 1) for y above 0. Nothing is lost where y is small or e^y overflows.
func logExpm1(y float64) float64 {
	if y < 1 {
		return math.Log(math.Expm1(y))
	}
	return y + math.Log1p(-math.Exp(-y))
}

// logBinomial returns log C(n,k), and as size the sum of the three logarithms that make it up.
func logBinomial(n, k int) (choices, size float64) {
	logFactorial := func(n int) float64 { l, _ := math.Lgamma(float64(n) + 1); return l }
	all, chosen, rest := logFactorial(n), logFactorial(k), logFactorial(n-k)
	return all - chosen - rest, all + chosen + rest
}
