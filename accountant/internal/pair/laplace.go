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
	return RemovedLoss(s.SamplingProbability, -1/s.Scale), RemovedLoss(s.SamplingProbability, 1/s.Scale)
}

// RemovedLoss returns log(1 - q + q e^u), the loss of a sample with the record against one without,
// where that of the release itself is u.
func RemovedLoss(q, u float64) float64 {
	switch w := q * math.Expm1(u); {
	case q == 1:
		return u
	case u > 700: // e^u is near the end of float64
		return u + math.Log(q) + math.Log1p((1-q)/q*math.Exp(-u))
	case w < -0.5:
		return math.Log(1 - q + q*math.Exp(u))
	default:
		return math.Log1p(w)
	}
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

// removedExponent returns the u at which [RemovedLoss] is l. Rounding may pass the end of the support.
func removedExponent(q, l float64) float64 {
	switch {
	case q == 1:
		return l
	case l > 1: // e^l = q e^u + 1 - q
		return l + math.Log1p(-(1-q)*math.Exp(-l)) - math.Log(q)
	case l < -0.5:
		return math.Log(max(0, (math.Exp(l)-(1-q))/q))
	}
	return math.Log1p(max(-1, math.Expm1(l)/q))
}

// mostSteps bounds the number of losses of the pairs of discrete noise. Where there are more, each
// is split between its two neighbours among about mostSteps of them: see upward.
const mostSteps = 1024

// DiscreteLaplace returns the pair of sums of integers with discrete Laplace noise, Pr[N = n] ∝
// a^|n|, a = exp(-epsilon/distance), that move by distance in L1 norm, an integer above 0. It
// serves both directions. With d the distance, it is a sum that moves by d alone: N against d + N,
// where outcomes below 0 are as good as 0, and those above d as d,
//
//	P[k] = a^k/(1+a) · (1, 1-a, …, 1-a, 1),   L = ε (1 - 2k/d),   k = 0 … d.
//
// It dominates one that moves in two coordinates, by c and d-c. There L = ε (1 - 2k/d) too, of k
// the sum of two such outcomes. The chance under P of k = 0 is that of P[0] less by a factor 1+a,
// and so is that of k = d. In between it is greater: for k < min(c, d-c) it is a^k (1-a)/(1+a)²
// times 2 + (k-1)(1-a), which is at least 1+a; beyond, the smaller of c and d-c stands for k, with
// more where k is one of them; and the other half is the mirror image. Both distributions of e^-L
// have the same mean, and their difference is positive, negative and positive again. So one of them
// is larger for every convex function of e^-L (Karlin, Novikoff 1963), hence for every hockey-stick
// divergence. More coordinates follow one by one, and so do sums that move less.
func DiscreteLaplace(epsilon, distance float64) *Ladder {
	groups := min(distance, mostSteps)
	e := epsilon / distance
	inside := -math.Expm1(-e)                                                                       // 1-a
	mass := func(k, factor float64) float64 { return factor * math.Exp(-k*e) / (1 + math.Exp(-e)) } // of k, if factor is 1 or 1-a
	place := func(group float64) float64 { return math.Floor(group * (distance / groups)) }
	steps := make(atoms, int(groups)+1)
	for i := range steps {
		k := place(float64(i))
		factor := inside
		if i == 0 || i == len(steps)-1 {
			factor = 1
		}
		if i == len(steps)-1 {
			k = distance
		}
		steps[i] = atom{mass(k, factor), epsilon * (1 - 2*k/distance)}
	}
	for i := range int(groups) { // what lies between two places
		from, to := place(float64(i)), place(float64(i+1))
		if i == int(groups)-1 {
			to = distance
		}
		if to-from < 2 {
			continue
		}
		between := to - from - 1
		p := mass(from+1, -math.Expm1(-between*e))
		// With losses y above that of to, p·Σ(1 - e^-y) is p less Q's part.
		high, low := steps[i].loss, steps[i+1].loss
		q := mass(distance-to+1, -math.Expm1(-between*e)) // mirrored
		part := (p - math.Exp(low)*q) / (-math.Expm1(low-high) * p)
		part = min(1, max(0, part+1e-15*(1+epsilon)/(high-low))) // rounded to the side that tells more
		steps[i].p += p * part
		steps[i+1].p += p * (1 - part)
	}
	return newLadder(steps, 0)
}

// MaxDiscreteSigma is the largest σ that DiscreteGaussian takes: it computes every outcome.
const MaxDiscreteSigma = 1 << 15

// DiscreteGaussian returns the pair of an integer that moves by distance, with discrete Gaussian
// noise, Pr[N = n] ∝ exp(-n²/(2σ²)), σ at most MaxDiscreteSigma: N against distance + N, with the
// loss (d² - 2dn)/(2σ²). It serves both directions. The outcomes left out, of a probability below
// 1e-300, count as an infinite loss.
func DiscreteGaussian(sigma float64, distance int) *Ladder {
	const reach = 37.2 // exp(-37.2²/2) is 3e-301
	d := float64(distance)
	variance := sigma * sigma
	first, last := -math.Ceil(reach*sigma), math.Ceil(reach*sigma)
	total := 0.0
	for n := first; n <= last; n++ {
		total += math.Exp(-n * n / (2 * variance))
	}
	loss := func(n float64) float64 { return d / variance * (d/2 - n) }
	width := max(1, math.Ceil((last-first)/mostSteps)) // of the outcomes that are told apart as two
	var steps atoms
	for from := first; from <= last; from += width {
		low, high, top := loss(from+width), loss(from), 0.0
		var up, down float64
		for n := from; n < from+width; n++ {
			p := math.Exp(-n*n/(2*variance)) / total
			if n == from {
				top = p
				continue
			}
			part := upward(loss(n), low, high)
			up, down = up+p*part, down+p*(1-part)
		}
		if len(steps) == 0 {
			steps = append(steps, atom{loss: high})
		}
		steps[len(steps)-1].p += top + up
		steps = append(steps, atom{p: down, loss: low})
	}
	return newLadder(steps, 1e-300)
}
