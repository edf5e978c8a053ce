package theorems

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// LastIterate is projected noisy gradient descent that publishes the last iterate alone. It makes
// Passes over the data, each in the same Batches, with the steps
//
//	w ← Π(w - η·(mean gradient of the batch + Z)),  Z ~ N(0, (NoiseMultiplier·L/b)²·I),
//
// with learning rate η, batches of b records and a projection Π to a convex set, or none.
//
// It is assumed, and nothing here can check it, that every loss is convex, L-Lipschitz and M-smooth
// on that set, that η·M ≤ 2, that no gradient is clipped, and that no iterate but the last, nor
// anything computed from one, leaves the program.
type LastIterate struct {
	NoiseMultiplier float64 // above 0: the deviation of the noise on a sum of gradients, over L
	Passes          int     // at least 1
	Batches         int     // of a pass, at least 1: 1 is the whole data in each step
	// Reach is the diameter of the set divided by η·L/b, the distance that one record moves a step:
	// at least 0, and +Inf where the set is unbounded.
	Reach float64
}

// Rho returns a ρ, rounded up, such that LastIterate's Rényi divergence of every order α is at most
// ρ·α, wherever in a pass the record is. moves is how far one record moves a step, in units of
// η·L/b: 1 if it is taken away and its place left empty, 2 if it is replaced. Other values are
// errors that match ErrInvalid. Below, s is moves, D is Reach, and ρ is the price over 2σ².
//
// A step whose batch does not have the record is the same contraction on both sides, as η·M ≤ 2,
// and one that has it moves the two at most s apart (Feldman, Mironov, Talwar, Thakurta 2018,
// arXiv:1808.06651, on contractions). Noise of deviation σ on each step may take any part a of a
// distance for the price α·a²/(2σ²) (their shift-reduction lemma). So the price is the least for
// which all of it is taken by the end, never more than is there (Theorem 22). The worst place is
// the last of a pass: the last move has one step, for s², and each of the others has all steps up
// to the next,
//
//	s²·(1 + (passes-1)/batches).
//
// Two points of the set are never more than its diameter apart, so the count may begin at any step,
// at that distance (Altschuler, Talwar 2022, arXiv:2205.13710): k passes before the last move cost
// (D + k·s)²/(k·batches) in equal parts, and s² for that move; or, with the last move among them,
// no s² more, if no part takes what is not there yet: k·(batches-1)·s ≤ D.
func (l LastIterate) Rho(moves float64) (float64, error) {
	switch {
	case !(l.NoiseMultiplier > 0) || math.IsInf(l.NoiseMultiplier, 1):
		return 0, fmt.Errorf("%w: noise multiplier is %v, must be finite and above 0", accountant.ErrInvalid, l.NoiseMultiplier)
	case l.Passes < 1 || l.Passes > maxCount || l.Batches < 1 || l.Batches > maxCount:
		return 0, fmt.Errorf("%w: there are %d passes of %d batches, must be from 1 to %d of each", accountant.ErrInvalid, l.Passes, l.Batches, maxCount)
	case !(l.Reach >= 0) || !(moves == 1 || moves == 2):
		return 0, fmt.Errorf("%w: reach is %v and moves is %v, must be at least 0, and 1 or 2", accountant.ErrInvalid, l.Reach, moves)
	}
	passes, batches, reach := float64(l.Passes), float64(l.Batches), l.Reach/moves
	price := 1 + (passes-1)/batches
	from := func(k float64) float64 { return (reach + k) * (reach + k) / (k * batches) }
	for _, best := range []float64{math.Floor(reach), math.Ceil(reach)} {
		if k := min(max(1, best), passes-1); k >= 1 {
			price = min(price, 1+from(k))
		}
		k := min(max(1, best), passes)
		if l.Batches > 1 {
			k = min(k, math.Floor(reach/(batches-1)))
		}
		if k >= 1 && k*(batches-1) <= reach {
			price = min(price, from(k))
		}
	}
	return numeric.Up(price*(moves/l.NoiseMultiplier)*(moves/l.NoiseMultiplier)/2, 16), nil
}
