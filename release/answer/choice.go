package answer

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/accountant"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// Scores say how good candidates are, by integers, the higher the better. They are secret, and
// cannot be changed.
type Scores struct {
	values []int64
	best   int64 // the highest
	width  int64 // the most by which what a record adds to one score differs from what it adds to another
}

func newScores(values []int64, width int64) *Scores {
	return &Scores{values, slices.Max(values), width}
}

// Format hides the scores from all verbs but %w and, of a copy, %p: fmt does not ask it about these.
func (s Scores) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%d secret scores", len(s.values)) }

// Exponential asks for a candidate by the exponential mechanism (McSherry, Talwar 2007): candidate
// j has a chance in proportion to exp(epsilon·score[j]/width). One record changes the difference of
// the logarithms of two chances by at most epsilon; the event is accountant.BoundedRange.
func Exponential(s *Scores, epsilon float64) (Question[int], error) {
	scale, err := s.scale(epsilon)
	return ask(err, accountant.BoundedRange{Range: epsilon}, func(src *random.Source) int {
		for { // a candidate drawn uniformly is taken with the chance that it has beside the best
			if j := int(noise.Below(uint64(len(s.values)), src)); s.falls(j, scale, src) {
				return j
			}
		}
	})
}

// PermuteAndFlip asks for a candidate by permute-and-flip (McKenna, Sheldon 2020, arXiv:2010.12603,
// Algorithm 1), whose candidate is never worse on average than that of the exponential mechanism at
// the same epsilon. It is epsilon-differentially private where a record is added or removed, which
// is its event; its range is not bounded.
//
// It is the noisy maximum with one-sided exponential noise of scale b = width/ε (Ding et al. 2021,
// arXiv:2105.07260). Candidate i wins if its noise exceeds the greatest other noisy score less its
// score; one record, whatever is added to all scores alike, moves that threshold by at most the
// width, and Pr[N > m + width] ≥ e^-ε Pr[N > m].
func PermuteAndFlip(s *Scores, epsilon float64) (Question[int], error) {
	scale, err := s.scale(epsilon)
	return ask(err, accountant.AddOrRemoveDP{Epsilon: epsilon}, func(src *random.Source) int {
		order := make([]int, len(s.values))
		for i := range order { // Fisher and Yates, as far as needed
			order[i] = i
		}
		for i := range order {
			j := i + int(noise.Below(uint64(len(order)-i), src))
			order[i], order[j] = order[j], order[i]
			if s.falls(order[i], scale, src) {
				return order[i]
			}
		}
		panic("answer: the best candidate was not taken")
	})
}

// NoisyMax asks for the candidate whose score with discrete Laplace noise of scale width/ε is the
// greatest, the first of several; nothing else of the noisy scores is published ("report noisy
// max", Dwork, Roth 2014, section 3.3). It is epsilon-differentially private where a record is
// added or removed, by the proof of PermuteAndFlip: a tie, which the place of the candidate breaks,
// is a threshold too.
func NoisyMax(s *Scores, epsilon float64) (Question[int], error) {
	scale, err := s.scale(epsilon)
	return ask(err, accountant.AddOrRemoveDP{Epsilon: epsilon}, func(src *random.Source) int {
		return greatest(noisy(s.values, scale, noise.Laplace, src))
	})
}

// falls draws true with probability exp(-(best - score of candidate j)/scale).
func (s *Scores) falls(j int, scale noise.Ratio, src *random.Source) bool {
	// The difference of two int64s is a uint64.
	behind := uint64(s.best) - uint64(s.values[j])
	return noise.ExpCoin(behind, scale.Den, scale.Num, src)
}

// scale returns width/epsilon, rounded up. It refuses an epsilon that is not above 0 and finite.
func (s *Scores) scale(epsilon float64) (noise.Ratio, error) {
	if !(epsilon > 0) || math.IsInf(epsilon, 1) {
		return noise.Ratio{}, fmt.Errorf("answer: found epsilon %v, expected finite and above 0", epsilon)
	}
	scale := float64(s.width) / epsilon
	if math.FMA(scale, epsilon, -float64(s.width)) < 0 {
		scale = math.Nextafter(scale, math.Inf(1))
	}
	return times(scale, 1, noise.MaxScale)
}
