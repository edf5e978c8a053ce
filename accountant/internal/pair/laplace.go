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

// Laplace returns the pair of one Laplace release: Lap(1, scale) against Lap(0, scale).
// It serves both directions.
func Laplace(scale float64) SampledLaplace { return LaplaceRemoved(1, scale) }

// LaplaceRemoved returns the pair of a Poisson-sampled Laplace release when D has the
// record and D′ has not.
func LaplaceRemoved(q, scale float64) SampledLaplace { return SampledLaplace{scale, q, false} }

// Reversed returns the pair (Q, P).
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

// removedSupport returns the least and the greatest loss of the pair whose record is removed: the
// loss log(1 - q + q e^u) at u = -1/b and at u = 1/b.
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

func (s SampledLaplace) Above(l float64) (p, q float64) {
	if s.Added { // L is minus the loss of the removed pair, whose P is Q
		_, below := s.removedTails(-l, true)
		return below[1], below[0]
	}
	above, _ := s.removedTails(l, false)
	return above[0], above[1]
}

func (s SampledLaplace) Below(l float64) (p, q float64) {
	if s.Added {
		above, _ := s.removedTails(-l, true)
		return above[1], above[0]
	}
	_, below := s.removedTails(l, false)
	return below[0], below[1]
}

// removedTails returns the probabilities of a loss of the removed pair above l and of one below l,
// each under P and then Q. A loss of exactly l counts as above if atAbove, else as below.
func (s SampledLaplace) removedTails(l float64, atAbove bool) (above, below [2]float64) {
	none, all := [2]float64{0, 0}, [2]float64{1, 1}
	least, greatest := s.removedSupport()
	switch {
	case l < least || l == least && atAbove:
		return all, none
	case l > greatest || l == greatest && !atAbove:
		return none, all
	}
	u := removedExponent(s.SamplingProbability, l)                // (2x - 1)/b
	x := min(max((u*s.Scale+1)/2, 0), 1)                          // the place where the loss is l
	at0, at1 := math.Exp(-x/s.Scale)/2, math.Exp((x-1)/s.Scale)/2 // Lap(0, b) above x, and Lap(1, b) below it
	return [2]float64{s.mix(at0, 1-at1), at0}, [2]float64{s.mix(1-at0, at1), 1 - at0}
}

func (s SampledLaplace) mix(at0, at1 float64) float64 {
	return (1-s.SamplingProbability)*at0 + s.SamplingProbability*at1
}

// removedExponent returns the u at which log(1 - q + q e^u) = l.
func removedExponent(q, l float64) float64 {
	switch {
	case q == 1:
		return l
	case l > 1: // e^l = q e^u + 1 - q
		return l + math.Log1p(-(1-q)*math.Exp(-l)) - math.Log(q)
	}
	return math.Log1p(max(-1, math.Expm1(l)/q)) // rounding may pass the end of the support
}
