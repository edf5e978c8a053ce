package pair

import "math"

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
