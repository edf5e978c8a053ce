package pair

import (
	"math"
	"math/cmplx"

	"dpsgd/accountant/internal/numeric"
)

// Weighted is a pair and the probability that a coin chooses it.
type Weighted struct {
	Weight float64
	Pair   Transformer
}

// Combination is the pair of a release that begins with a publicly visible coin, which chooses the
// pair that is used: the disjoint union of the pairs. The weights are above 0 and add up to 1. It
// dominates what one of the pairs, chosen in secret, dominates (Ganesh, McKenna, McMahan, Smith, Wu
// 2025, arXiv:2508.15089, use it for truncated Poisson batches).
type Combination []Weighted

var _ Transformer = Combination{}

func (c Combination) Above(l float64) (p, q float64) {
	return c.sum(func(w Transformer) (float64, float64) { return w.Above(l) })
}

func (c Combination) Below(l float64) (p, q float64) {
	return c.sum(func(w Transformer) (float64, float64) { return w.Below(l) })
}

func (c Combination) sum(tails func(Transformer) (p, q float64)) (p, q float64) {
	for _, w := range c {
		wp, wq := tails(w.Pair)
		p += w.Weight * wp
		q += w.Weight * wq
	}
	return p, q
}

// Support returns the least and the greatest finite loss of any of the pairs.
func (c Combination) Support() (least, greatest float64) {
	least, greatest = math.Inf(1), math.Inf(-1)
	for _, w := range c {
		l, g := w.Pair.Support()
		least, greatest = min(least, l), max(greatest, g)
	}
	return least, greatest
}

func (c Combination) Infinite() float64 {
	sum := 0.0
	for _, w := range c {
		sum += w.Weight * w.Pair.Infinite()
	}
	return sum
}

func (c Combination) Cumulant() func(at float64) (k, k1, k2 float64) {
	var cumulants []func(float64) (k, k1, k2 float64)
	for _, w := range c {
		cumulants = append(cumulants, w.Pair.Cumulant())
	}
	return func(at float64) (k, k1, k2 float64) {
		const direct = 30 // M beyond e^30 needs no M - 1
		var excess, m, m1, m2, scale float64
		for i, cumulant := range cumulants {
			k, k1, k2 := cumulant(at)
			if next := max(scale, k); next > scale {
				shrink := math.Exp(scale - next)
				m, m1, m2, scale = m*shrink, m1*shrink, m2*shrink, next
			}
			e := c[i].Weight * math.Exp(k-scale)
			excess += c[i].Weight * math.Expm1(k)
			m, m1, m2 = m+e, m1+e*k1, m2+e*(k2+k1*k1)
		}
		k = math.Log1p(excess)
		if scale > direct {
			k = scale + math.Log(m)
		}
		return k, m1 / m, m2/m - m1/m*m1/m
	}
}

// Line returns the weighted sum of the lines of the pairs.
func (c Combination) Line(at, step float64, count int) Line {
	sum := Line{Values: make([]complex128, count), Errors: make([]float64, count)}
	var lines []Line
	for _, w := range c {
		l := w.Pair.Line(at, step, count)
		sum.Scale = max(sum.Scale, l.Scale)
		lines = append(lines, l)
	}
	for i, l := range lines {
		shift := c[i].Weight * math.Exp(l.Scale-sum.Scale)
		for j := range count {
			value, size := l.Values[j], l.Errors[j]
			if l.Scale == 0 && sum.Scale > 0 { // M rather than M - 1
				value += 1
				size += ulp
			}
			sum.Values[j] += complex(shift, 0) * value
			sum.Errors[j] += shift * (size + 4*ulp*cmplx.Abs(value))
		}
	}
	return sum
}

// Tail returns the logarithm of the weighted sum of the bounds of the pairs.
func (c Combination) Tail(at, reach float64) float64 {
	var sum numeric.LogSum
	for _, w := range c {
		sum.Add(math.Log(w.Weight) + w.Pair.Tail(at, reach))
	}
	return sum.Log()
}

// Truncation returns two probabilities, rounded up, of a Poisson sample of records with probability
// q that is cut down to at most atMost: full, that the records other than one fill it, and stays,
// that the one record is in the batch if they do.
func Truncation(records int, q float64, atMost int) (full, stays float64) {
	const slack = 1 + 1e-12
	full = numeric.Binomial{N: records - 1, P: q, Q: 1 - q}.Tail(atMost)
	if full == 0 {
		return 0, 0
	}
	longer := numeric.Binomial{N: records, P: q, Q: 1 - q}.Tail(atMost + 1)
	stays = longer * float64(atMost) / float64(records) / full
	return min(1, full*slack), min(1, stays*slack)
}

// Symmetric is the pair for a relation that is symmetric (replace-one) when the
// hockey-stick divergence of the mechanism is known to be at most H_γ(P‖Q) of
// Dominating for γ ≥ 1 only. Symmetry gives the rest: for γ < 1
//
//	H_γ(M(D)‖M(D′)) = 1 - γ + γ H_{1/γ}(M(D′)‖M(D)) ≤ 1 - γ + γ H_{1/γ}(P‖Q) = H_γ(Q‖P).
//
// So the privacy profile of Symmetric equals the one of Dominating for ε ≥ 0, and the one of the
// reversed pair for ε < 0. Such a profile belongs to a pair (Zhu, Dong, Wang 2022, Proposition 8):
// it is convex in γ wherever H_γ(Q‖P) ≤ H_γ(P‖Q) at γ ≥ 1, as for [Removed], for then the slopes at
// γ = 1, -P[L < 0] on the left and -Q[L > 0] on the right, do not fall, and their difference is an
// atom at L = 0.
//
// Batches of m of n records without replacement have Dominating = Removed(m/n, σ/2)
// (Balle, Barthe, Gaboardi 2018, arXiv:1807.01647, Theorems 2 and 11; Zhu, Dong, Wang
// 2022, Theorem 11): a replaced record moves the sum by twice the clipping norm.
type Symmetric struct{ Dominating Pair }

var _ Pair = Symmetric{}

// Above returns P[L > l] = H_γ + γ Q[L > l] and Q[L > l] = -dH_γ/dγ at γ = e^l.
func (s Symmetric) Above(l float64) (p, q float64) {
	if l >= 0 {
		return s.Dominating.Above(l)
	}
	q, p = s.Dominating.Below(before(-l)) // Q and P of L < -l
	return p, q
}

func (s Symmetric) Below(l float64) (p, q float64) {
	if l >= 0 {
		return s.Dominating.Below(l)
	}
	q, p = s.Dominating.Above(before(-l)) // Q and P of L ≥ -l
	return p, q
}

// before returns the next smaller float: L < l exactly if L ≤ before(l).
func before(l float64) float64 { return math.Nextafter(l, math.Inf(-1)) }

// Support returns minus the greatest loss of Dominating, and that loss.
func (s Symmetric) Support() (least, greatest float64) {
	_, greatest = s.Dominating.Support()
	return -greatest, greatest
}

func (s Symmetric) Infinite() float64 { return s.Dominating.Infinite() }
