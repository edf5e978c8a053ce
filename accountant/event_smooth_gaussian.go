package accountant

import (
	"fmt"
	"math"
)

// SmoothGaussian is the release of one number plus normal noise that is scaled to a smooth bound S
// on its local sensitivity, which changes by a factor of e^Beta at most between neighbours under
// the relation that is asked about (GNSS of Papernot et al. 2018, arXiv:1802.08908).
// NoiseMultiplier is the standard deviation divided by S, and Beta is above 0. Only its Rényi
// divergences are known, of orders up to about 1 + 1/(2·Beta).
type SmoothGaussian struct{ Beta, NoiseMultiplier float64 }

func (e SmoothGaussian) String() string {
	return fmt.Sprintf("SmoothGaussian(β=%v, σ=%v)", e.Beta, e.NoiseMultiplier)
}

// Divergence bounds the Rényi divergence of order alpha > 1 between any two neighbours: +Inf where
// there is no bound.
//
// The results of neighbours are N(f, (S·σ)²) and N(f', (r·S·σ)²) with |f - f'| ≤ min(1, r)·S and r
// in [e^-β, e^β]. Their divergence is in Gil, Alajaji, Linder 2013, Table 2, where the two
// variances make the term V = α - (α-1)/r² for r ≤ 1,
//
//	α/(2σ²V) + ln r - ln V/(2(α-1)),
//
// which is largest at r = e^-β: both parts fall in r. For r ≥ 1 the distance counts α/(2σ²) at
// most, and the other part is largest at e^β. Theorem 23 of Papernot et al. has e^(2β) in place of
// 1/(2V), and is below the divergence for β near 1/(2α).
func (e SmoothGaussian) Divergence(alpha float64) float64 {
	narrower := alpha - (alpha-1)*math.Exp(2*e.Beta)
	if !(narrower > 0) {
		return math.Inf(1)
	}
	wider := alpha - (alpha-1)*math.Exp(-2*e.Beta)
	half := alpha / (2 * e.NoiseMultiplier * e.NoiseMultiplier)
	return max(
		half/narrower-e.Beta-math.Log(narrower)/(2*(alpha-1)),
		half+e.Beta-math.Log(wider)/(2*(alpha-1)),
	)
}

func (e SmoothGaussian) simplest() (Event, error)       { return nonPrivateIf(e.NoiseMultiplier == 0, e) }
func (e SmoothGaussian) seenBy(size int) (Event, error) { return noGroups(e, size) }

func (e *SmoothGaussian) parameters() []parameter {
	return []parameter{within("beta", &e.Beta, aboveZero), within("noise_multiplier", &e.NoiseMultiplier, atLeastZero)}
}

func aboveZero(name string, x float64) error {
	if x == 0 {
		return fmt.Errorf("%w: %s is 0, must be above 0", ErrInvalid, name)
	}
	return atLeastZero(name, x)
}
