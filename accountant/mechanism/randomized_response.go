package mechanism

import (
	"fmt"
	"math"
)

// responseSlack bounds the relative error of what is computed for randomized response.
const responseSlack = 6 // ulp

// RandomizedResponseEpsilon returns the pure ε of randomized response over so many buckets:
// the answer is the true one with probability truth, and each of the k-1 others with
// probability (1-truth)/(k-1) (Warner 1965 for k = 2; Kairouz, Bonawitz, Ramage 2016,
// arXiv:1602.07387, for any k). Two people with different answers are told apart by at most
//
//	ε = |ln(truth (k-1)/(1-truth))|,
//
// rounded up by at most 1e-14 of it: 0 if the answer is uniform, truth = 1/k, and +Inf for
// a truth of 1, or of 0. Of the mechanism that answers uniformly with probability γ and
// truly else, truth is 1 - γ + γ/k. Truth must be in [0, 1] and buckets at least 2; else
// the error matches ErrInvalid.
func RandomizedResponseEpsilon(truth float64, buckets int) (float64, error) {
	if err := validateResponse(truth, buckets); err != nil {
		return 0, err
	}
	return roundUp(math.Abs(responseLoss(truth, buckets)), responseSlack), nil
}

// RandomizedResponseRenyi returns the Rényi divergence of order alpha between the
// answers of two people, under replace-one. With the p = truth, q = (1-p)/(k-1) of
// RandomizedResponseEpsilon it is
//
//	D_α = ln(p^α q^(1-α) + q^α p^(1-α) + (k-2) q)/(α-1),
//
// Proposition 5 of Mironov 2017 for k = 2. It is rounded up by at most 2e-14 of it,
// and at most ε. Alpha = +Inf asks for ε. Alpha must be above 1, truth in [0, 1] and
// buckets at least 2; else the error matches ErrInvalid.
func RandomizedResponseRenyi(truth float64, buckets int, alpha float64) (float64, error) {
	pure, err := RandomizedResponseEpsilon(truth, buckets)
	if err != nil {
		return 0, err
	}
	if err := validateAlpha(alpha); err != nil {
		return 0, err
	}
	if math.IsInf(alpha, 1) || math.IsInf(pure, 1) {
		return pure, nil
	}
	loss := math.Abs(responseLoss(truth, buckets))
	likeliest := max(truth, (1-truth)/float64(buckets-1))
	return min(pure, roundUp(ResponseRenyi(loss, likeliest, alpha), 2*responseSlack)), nil
}

// ResponseRenyi is the Rényi divergence of order alpha, not rounded up, between two distributions
// of which one outcome is e^L times as likely under the first as under the second, another the
// other way round, and the rest equally likely. likeliest is the chance of the first outcome under
// the first. Loss and likeliest are above 0. The divergence is log(A)/(α-1), A being 1 plus the
// product of three positive numbers
//
//	likeliest (exp((α-1) L) - 1) (1 - exp(-α L)),
//
// so that no digit is lost where L is small.
func ResponseRenyi(loss, likeliest, alpha float64) float64 {
	factor := -likeliest * math.Expm1(-alpha*loss)
	if up := (alpha - 1) * loss; up < 700 {
		return math.Log1p(factor*math.Expm1(up)) / (alpha - 1)
	}
	// The 1 is below 1e-280 of the rest: likeliest is the chance of one of at most 2^53 answers.
	return loss + math.Log(factor)/(alpha-1)
}

// responseLoss is ln(p/q). Near p = 1/k, where it is 0, it is written as
// ln(1 + (kp-1)/(1-p)), which loses nothing there.
func responseLoss(truth float64, buckets int) float64 {
	k := float64(buckets)
	excess := math.FMA(k, truth, -1) / (1 - truth)
	if math.Abs(excess) > 0.5 {
		return math.Log(truth * ((k - 1) / (1 - truth)))
	}
	return math.Log1p(excess)
}

// RandomizedResponseTruth returns the largest probability of a true answer over so many
// buckets that is epsilon-differentially private, exp(ε)/(exp(ε) + k - 1), rounded down.
// RandomizedResponseEpsilon of the result is at most epsilon; the result is below 1, also
// where epsilon is so large that the true value is closer to 1 than any float64. Epsilon
// must be finite and above 0 and buckets at least 2, and some float64 must be that close to
// 1/k, as one is for epsilon ≥ 1e-15; else the error matches ErrInvalid.
func RandomizedResponseTruth(epsilon float64, buckets int) (float64, error) {
	if err := validatePositive("epsilon", epsilon); err != nil {
		return 0, err
	}
	if err := validateResponse(0, buckets); err != nil {
		return 0, err
	}
	truth := 1 / (1 + float64(buckets-1)*math.Exp(-epsilon))
	truth = min(truth*(1+4*ulp), math.Nextafter(1, 0))
	for range 1024 {
		if got, err := RandomizedResponseEpsilon(truth, buckets); err != nil || got <= epsilon {
			return truth, err
		}
		truth = math.Nextafter(truth, 0)
	}
	return 0, fmt.Errorf("%w: epsilon is %v, too small for a probability near 1/%d", ErrInvalid, epsilon, buckets)
}

// maxBuckets is where int stops to convert to float64 exactly.
const maxBuckets = 1 << 53

func validateResponse(truth float64, buckets int) error {
	if buckets < 2 || int64(buckets) > maxBuckets {
		return fmt.Errorf("%w: %d buckets, must be in [2, 2^53]", ErrInvalid, buckets)
	}
	if !(truth >= 0 && truth <= 1) {
		return fmt.Errorf("%w: probability of truth is %v, must be in [0, 1]", ErrInvalid, truth)
	}
	return nil
}
