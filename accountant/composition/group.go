package composition

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Group returns what a mechanism that satisfies g for one record satisfies for k
// of them, say all records of one person:
//
//	kε,  δ (e^{kε} - 1)/(e^ε - 1),
//
// the delta at most 1, and kδ for ε = 0. The relation is the one of g, applied k
// times. It is the sum δ(1 + e^ε + … + e^{(k-1)ε}) in the proof of Lemma 2.2 in Vadhan
// 2017, "The Complexity of Differential Privacy"; k e^{(k-1)ε} δ is its looser form.
func Group(g Guarantee, k int) (Guarantee, error) {
	if k < 1 || k > maxCount {
		return Guarantee{}, fmt.Errorf("%w: group size is %d, must be from 1 to %d", ErrInvalid, k, maxCount)
	}
	if err := g.validate(); err != nil {
		return Guarantee{}, err
	}
	epsilon, delta := numeric.Group(g.Epsilon, g.Delta, k)
	return Guarantee{epsilon, delta}, nil
}

// GroupRDP returns what a mechanism of Rényi divergence at most rdp at order alpha
// satisfies for groups of 2^c records: divergence 3^c·rdp at order alpha/2^c. It
// holds for alpha ≥ 2^{c+1}; less is an error.
//
// Proposition 2 of Mironov 2017 (arXiv:1702.07476v3), for a 2^c-stable
// transformation.
func GroupRDP(alpha, rdp float64, c int) (groupAlpha, groupRDP float64, err error) {
	if c < 0 || c > 1000 {
		return 0, 0, fmt.Errorf("%w: c is %d, must be from 0 to 1000", ErrInvalid, c)
	}
	if !(rdp >= 0) {
		return 0, 0, fmt.Errorf("%w: Rényi divergence is %v, must be at least 0", ErrInvalid, rdp)
	}
	if least := math.Ldexp(1, c+1); c > 0 && !(alpha >= least) || !(alpha > 1) || math.IsInf(alpha, 1) {
		return 0, 0, fmt.Errorf("%w: order is %v, must be finite, above 1, and at least %v for groups of 2^%d", ErrInvalid, alpha, least, c)
	}
	groupRDP = rdp
	for range c {
		groupRDP = numeric.MulUp(3, groupRDP)
	}
	return math.Ldexp(alpha, -c), groupRDP, nil
}
