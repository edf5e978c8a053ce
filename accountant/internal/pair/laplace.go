package pair

import "math"

// SampledLaplace is the pair of a Laplace release of L1 sensitivity 1, Poisson-sampled
// with SamplingProbability 0 < q ≤ 1: P = (1-q) Lap(0, b) + q Lap(1, b) against
// Q = Lap(0, b), b = Scale; reversed if Added. Its losses have atoms at both ends of
// the support, where x is outside of (0, 1).
type SampledLaplace struct {
	Scale               float64
	SamplingProbability float64
	Added               bool
}

var _ Pair = SampledLaplace{}

// Laplace is the pair of one Laplace release: Lap(1, scale) against Lap(0, scale).
// It serves both directions.
func Laplace(scale float64) SampledLaplace { return LaplaceRemoved(1, scale) }

// LaplaceRemoved is the pair of a Poisson-sampled Laplace release when D has the
// record and D′ has not.
func LaplaceRemoved(q, scale float64) SampledLaplace { return SampledLaplace{scale, q, false} }

// LaplaceAdded is LaplaceRemoved in the other direction.
func LaplaceAdded(q, scale float64) SampledLaplace { return SampledLaplace{scale, q, true} }

// Reversed is the pair (Q, P).
func (s SampledLaplace) Reversed() SampledLaplace {
	s.Added = !s.Added
	return s
}

// Support returns the losses of the two atoms.
func (s SampledLaplace) Support() (least, greatest float64) {
	least, greatest = s.removedSupport()
	if s.Added {
		return -greatest, -least
	}
	return least, greatest
}

// removedSupport is log(1 - q + q e^u) at u = ∓1/b.
func (s SampledLaplace) removedSupport() (least, greatest float64) {
	return s.removedLoss(-1 / s.Scale), s.removedLoss(1 / s.Scale)
}

func (s SampledLaplace) removedLoss(u float64) float64 {
	q := s.SamplingProbability
	switch {
	case q == 1:
		return u
	case u > 1:
		return u + math.Log(q) + math.Log1p((1-q)/q*math.Exp(-u))
	}
	return math.Log1p(q * math.Expm1(u))
}

// Infinite returns 0: Laplace distributions have the same support.
func (SampledLaplace) Infinite() float64 { return 0 }

// Above returns P[L > l] and Q[L > l].
func (s SampledLaplace) Above(l float64) (p, q float64) {
	if s.Added { // -L of the removed pair: below -l, the atoms at -l excluded
		q, p = s.removedBelow(-l, false)
		return p, q
	}
	return s.removedAbove(l, false)
}

// Below returns P[L ≤ l] and Q[L ≤ l].
func (s SampledLaplace) Below(l float64) (p, q float64) {
	if s.Added {
		q, p = s.removedAbove(-l, true)
		return p, q
	}
	return s.removedBelow(l, true)
}

// removedAbove returns the chances of L > l, or of L ≥ l, of the removed pair.
func (s SampledLaplace) removedAbove(l float64, orEqual bool) (p, q float64) {
	least, greatest := s.removedSupport()
	switch {
	case l < least || l == least && orEqual:
		return 1, 1
	case l > greatest || l == greatest && !orEqual:
		return 0, 0
	}
	x := s.removedInverse(l) // in [0, 1]
	at0 := math.Exp(-x/s.Scale) / 2
	at1 := 1 - math.Exp((x-1)/s.Scale)/2
	return s.mix(at0, at1), at0
}

// removedBelow returns the chances of L < l, or of L ≤ l, of the removed pair.
func (s SampledLaplace) removedBelow(l float64, orEqual bool) (p, q float64) {
	least, greatest := s.removedSupport()
	switch {
	case l < least || l == least && !orEqual:
		return 0, 0
	case l > greatest || l == greatest && orEqual:
		return 1, 1
	}
	x := s.removedInverse(l)
	at0 := 1 - math.Exp(-x/s.Scale)/2
	at1 := math.Exp((x-1)/s.Scale) / 2
	return s.mix(at0, at1), at0
}

func (s SampledLaplace) mix(at0, at1 float64) float64 {
	return (1-s.SamplingProbability)*at0 + s.SamplingProbability*at1
}

// removedInverse returns the x in [0, 1] at which the removed pair's loss is l:
// u = (2x - 1)/b there.
func (s SampledLaplace) removedInverse(l float64) float64 {
	u := removedExponent(s.SamplingProbability, l)
	return min(max((u*s.Scale+1)/2, 0), 1)
}

// removedExponent solves log(1 - q + q e^u) = l.
func removedExponent(q, l float64) float64 {
	switch {
	case q == 1:
		return l
	case l > 1: // e^l = q e^u + 1 - q
		return l + math.Log1p(-(1-q)*math.Exp(-l)) - math.Log(q)
	}
	return math.Log1p(max(-1, math.Expm1(l)/q)) // rounding may pass the end of the support
}
