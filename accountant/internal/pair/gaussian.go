package pair

import (
	"cmp"
	"math"
	"slices"

	"dpsgd/accountant/internal/numeric"
)

// Component is one Gaussian of a mixture, with its mean and weight.
type Component struct{ Mean, Weight float64 }

// Mixtures is a pair (P, Q) of mixtures of Gaussians, all of standard deviation Sigma. The means of
// P are at least 0 and those of Q at most 0, so that the loss L = log(P/Q) grows with x. The
// weights are above 0; those of P add up to 1, and so do those of Q.
type Mixtures struct {
	Sigma float64
	P, Q  []Component
}

// Gaussian returns the pair of one Gaussian release: N(1, σ²) against N(0, σ²). It serves
// both directions.
func Gaussian(sigma float64) Mixtures {
	return Mixtures{Sigma: sigma, P: []Component{{1, 1}}, Q: []Component{{0, 1}}}
}

// Removed returns the pair of a Poisson-sampled Gaussian release when D has the record and D′ has
// not: (1-q) N(0, σ²) + q N(1, σ²) against N(0, σ²), 0 < q ≤ 1 (Zhu, Dong, Wang 2022, Theorem 11).
func Removed(q, sigma float64) Mixtures { return RemovedGroup(q, 1, sigma) }

// RemovedGroup is [Removed] for size records that are added or removed together and sampled
// independently: the mean of P is Bin(size, q) (Ganesh 2024, arXiv:2401.10294).
func RemovedGroup(q float64, size int, sigma float64) Mixtures {
	return Mixtures{Sigma: sigma, P: binomial(q, size), Q: []Component{{0, 1}}}
}

// Replaced returns the pair of a Poisson-sampled Gaussian release when one record of D
// is another one in D′: (1-q) N(0, σ²) + q N(1, σ²) against (1-q) N(0, σ²) + q
// N(-1, σ²). It serves both directions.
func Replaced(q, sigma float64) Mixtures {
	p := binomial(q, 1)
	return Mixtures{Sigma: sigma, P: p, Q: mirror(p)}
}

// Reversed returns the pair (Q, P), mirrored at x = 0 so that L grows with x again.
func (m Mixtures) Reversed() Mixtures {
	return Mixtures{Sigma: m.Sigma, P: mirror(m.Q), Q: mirror(m.P)}
}

func mirror(cs []Component) []Component {
	mirrored := slices.Clone(cs)
	for i := range mirrored {
		mirrored[i].Mean = 0 - mirrored[i].Mean
	}
	return mirrored
}

// binomial returns the distribution of Bin(n, q) as components, without those whose
// probability is 0 as a float64.
func binomial(q float64, n int) []Component {
	if n == 1 {
		return withoutZeros([]Component{{0, 1 - q}, {1, q}})
	}
	count := numeric.Binomial{N: n, P: q, Q: 1 - q}
	var cs []Component
	for k := range n + 1 {
		cs = append(cs, Component{float64(k), math.Exp(count.LogMass(k))})
	}
	return withoutZeros(cs)
}

func withoutZeros(cs []Component) []Component {
	return slices.DeleteFunc(cs, func(c Component) bool { return c.Weight == 0 })
}

// Loss returns the loss L at outcome x, increasing in x, without overflow.
func (m Mixtures) Loss(x float64) float64 {
	logA, _ := LogMixture(m.P, m.Sigma, x)
	logB, _ := LogMixture(m.Q, m.Sigma, x)
	return logA - logB
}

// LogMixture returns log a, where a is the density of the mixture divided by the density of N(0,
// σ²) at x, and log a - (a - 1). Small deviations of a from 1 keep their digits: the weights add up
// to 1, so a - 1 = Σ weight·expm1(…).
func LogMixture(cs []Component, sigma, x float64) (log, linear float64) {
	most, sum := 0.0, 0.0
	for _, c := range cs {
		if c.Mean != 0 {
			e := exponent(c.Mean, sigma, x)
			most = max(most, e)
			sum += c.Weight * math.Expm1(e)
		}
	}
	if most < 100 && sum > -0.5 {
		log = math.Log1p(sum)
		phi, _ := phi2(log, 0, 1+sum)
		return log, -phi
	}
	most = math.Inf(-1)
	for _, c := range cs {
		most = max(most, math.Log(c.Weight)+exponent(c.Mean, sigma, x))
	}
	sum = 0
	for _, c := range cs {
		sum += math.Exp(math.Log(c.Weight) + exponent(c.Mean, sigma, x) - most)
	}
	log = most + math.Log(sum)
	return log, log + 1 - math.Exp(log)
}

// exponent returns the logarithm of the quotient of the densities of N(mean, σ²) and N(0, σ²) at x.
func exponent(mean, sigma, x float64) float64 { return mean / sigma * ((x - mean/2) / sigma) }

// Support returns the limits of L as x goes to ∓∞: the loss between the components
// that are furthest out, which have the same mean or drift apart.
func (m Mixtures) Support() (least, greatest float64) {
	byMean := func(a, b Component) int { return cmp.Compare(a.Mean, b.Mean) }
	limit := func(p, q Component) float64 {
		if p.Mean == q.Mean {
			return logWeight(m.P, p) - logWeight(m.Q, q)
		}
		return math.Inf(1)
	}
	least = limit(slices.MinFunc(m.P, byMean), slices.MinFunc(m.Q, byMean))
	greatest = limit(slices.MaxFunc(m.P, byMean), slices.MaxFunc(m.Q, byMean))
	if math.IsInf(least, 1) {
		least = math.Inf(-1)
	}
	return least, greatest
}

// logWeight returns the logarithm of the weight of c among cs: by the others where these are light,
// for a weight next to 1 has lost its digits.
func logWeight(cs []Component, c Component) float64 {
	others := 0.0
	for _, other := range cs {
		if other != c {
			others += other.Weight
		}
	}
	if others < 0.5 {
		return math.Log1p(-others)
	}
	return math.Log(c.Weight)
}

// Infinite returns 0: Gaussians have the same support.
func (Mixtures) Infinite() float64 { return 0 }

func (m Mixtures) Above(l float64) (p, q float64) {
	x := m.inverse(l)
	return tail(m.P, m.Sigma, x, 1), tail(m.Q, m.Sigma, x, 1)
}

func (m Mixtures) Below(l float64) (p, q float64) {
	x := m.inverse(l)
	return tail(m.P, m.Sigma, x, -1), tail(m.Q, m.Sigma, x, -1)
}

// tail returns the probability of the mixture above x if side is 1, below x if it is -1.
func tail(cs []Component, sigma, x, side float64) float64 {
	sum := 0.0
	for _, c := range cs {
		sum += c.Weight * math.Erfc(side*(x-c.Mean)/sigma/math.Sqrt2) / 2
	}
	return sum
}

// inverse returns the x at which L(x) = l: -Inf where L is above l everywhere, +Inf
// where it is below l everywhere.
func (m Mixtures) inverse(l float64) float64 {
	least, greatest := m.Support()
	switch {
	case l <= least:
		return math.Inf(-1)
	case l >= greatest:
		return math.Inf(1)
	}
	if q, sigma, ok := m.isRemoved(); ok {
		return removedInverse(q, sigma, l)
	}
	if p, sigma, ok := m.Reversed().isRemoved(); ok {
		return -removedInverse(p, sigma, -l)
	}
	return m.search(l)
}

// isRemoved reports whether m is Removed(q, σ), or Gaussian(σ), q = 1: these have a closed inverse.
func (m Mixtures) isRemoved() (q, sigma float64, ok bool) {
	if len(m.Q) != 1 || m.Q[0].Mean != 0 {
		return 0, 0, false
	}
	switch len(m.P) {
	case 1:
		return 1, m.Sigma, m.P[0].Mean == 1
	case 2:
		return m.P[1].Weight, m.Sigma, m.P[0].Mean == 0 && m.P[1].Mean == 1
	}
	return 0, 0, false
}

// removedInverse returns the x at which log(1 - q + q e^u) = l, u = (x - 1/2)/σ².
func removedInverse(q, sigma, l float64) float64 { return removedExponent(q, l)*sigma*sigma + 0.5 }

// search returns the x at which L(x) = l, by doubling a bracket and halving it.
func (m Mixtures) search(l float64) float64 {
	lo, hi := -m.Sigma, m.Sigma
	for m.Loss(lo) > l {
		lo *= 2
	}
	for m.Loss(hi) < l {
		hi *= 2
	}
	_, hi = numeric.Bisect(func(x float64) bool { return m.Loss(x) <= l }, lo, hi, 0, 0)
	return hi
}

// Noise returns the σ for which p has the losses of Gaussian(σ). ok is false if there is none.
func Noise(p Pair) (sigma float64, ok bool) {
	m, ok := p.(Mixtures)
	distance, one := m.shift()
	return 1 / distance, ok && one
}
