package pair

import "math"

// Symmetric is the pair for a relation that is symmetric (replace-one) when the
// hockey-stick divergence of the mechanism is known to be at most H_γ(P‖Q) of
// Dominating for γ ≥ 1 only. Symmetry gives the rest: for γ < 1
//
//	H_γ(M(D)‖M(D′)) = 1 - γ + γ H_{1/γ}(M(D′)‖M(D)) ≤ 1 - γ + γ H_{1/γ}(P‖Q) = H_γ(Q‖P).
//
// So its privacy profile is that of Dominating for ε ≥ 0 and that of the reversed
// pair for ε < 0. That is the profile of a pair (Zhu, Dong, Wang 2022, Proposition
// 8): it is convex in γ wherever H_γ(Q‖P) ≤ H_γ(P‖Q) at γ ≥ 1, as for [Removed], for
// then the slopes at γ = 1, -P[L < 0] on the left and -Q[L > 0] on the right, do not
// fall, and their difference is an atom at L = 0.
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
