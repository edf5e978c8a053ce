// Package attack attacks what is released about drawn people, and the models of runs, to show what
// noise buys, and to check that it does.
//
// An attack that is weaker than it could be looks like privacy. So each is held against what is
// known of the best one: without noise it has to win, and with noise it may not win more often than
// the accountant allows, nor much less often where the best attack is known.
//
// The drawn people are nobody, so what is computed from them without noise may be shown. What
// [Tell] computes from a run's training examples may not.
package attack

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// audit counts guesses about canaries: records of which each was in the training data or not by its
// own toss of a coin.
type audit struct {
	canaries, guesses, right int
}

// likeliness bounds the chance of so many right guesses, or more, about anything that is (epsilon,
// delta)-private with respect to one canary: Steinke, Nasr, Jagielski 2023, arXiv:2305.08846,
// Theorem 5.2, as the code in their appendix computes it. For delta 0 it is the tail of a binomial
// law, and the ε at which it passes a level is the logit of the end of Clopper and Pearson's
// interval.
func (a audit) likeliness(epsilon, delta float64) float64 {
	// A guess about a canary is right as often as randomized response is true, at best.
	law := distuv.Binomial{N: float64(a.guesses), P: 1 / (1 + math.Exp(-epsilon))}
	tail := law.Survival(float64(a.right) - 1)
	if law.P == 1 {
		tail = 1 // every guess may be right
	}
	// With delta, some canaries may be told for certain: i guesses fewer need luck, with a chance
	// that is at most 2·m·δ/i.
	var fewer, slack float64
	for i := 1; i <= a.right && delta > 0; i++ {
		fewer += law.Prob(float64(a.right - i))
		slack = max(slack, fewer/float64(i))
	}
	return min(1, tail+2*float64(a.canaries)*delta*slack)
}

// mostEpsilon ends a search for ε.
const mostEpsilon = 50

// leastEpsilon is the largest ε at which what was guessed right has a chance of at most level, so
// that ε is larger with confidence 1 - level; 0 where there is none.
func (a audit) leastEpsilon(delta, level float64) float64 {
	if a.guesses == 0 || a.likeliness(0, delta) > level {
		return 0
	}
	low, high := 0.0, float64(mostEpsilon)
	for range 60 {
		if middle := (low + high) / 2; a.likeliness(middle, delta) <= level {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
