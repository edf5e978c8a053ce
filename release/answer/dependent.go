package answer

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant/votes"
	"dpsgd/internal/random"
)

// finest is the number of lattice steps in 1 of a released divergence. Its noise has a deviation of
// at least 2^-20, which is 1,024 steps.
const finest = 1 << 30

// DataDependent asks for a bound on the data-dependent Rényi divergence of the answers that
// teachers gave, with noise scaled to its smooth sensitivity (GNSS of Papernot et al. 2018). cast
// holds the votes for each question, in their order; answered says which questions passed their
// check, and is nil without checks. One training example changes one vote for each question. The
// event is accountant.SmoothGaussian. The error matches votes.ErrConditions where no smooth
// sensitivity is known.
func DataDependent(a votes.Aggregation, cast []*Votes, answered []bool, s votes.Smooth) (Question[float64], error) {
	var none Question[float64]
	if err := s.Validate(); err != nil {
		return none, err
	}
	if len(cast) == 0 || a.Check != nil && len(answered) != len(cast) {
		return none, fmt.Errorf("answer: found %d votes and %d answers, expected votes and an answer for each", len(cast), len(answered))
	}
	questions, teachers, answers := make([]votes.Question, len(cast)), 0, 0
	for i, v := range cast {
		counts, sum := make([]int, len(v.counts)), 0
		for class, n := range v.counts {
			counts[class] = int(n)
			sum += int(n)
		}
		if len(counts) < 2 || i > 0 && sum != teachers {
			return none, errors.New("answer: found votes of other teachers, expected those of the same in every question")
		}
		teachers = sum
		questions[i] = votes.Question{Votes: counts, Answered: a.Check == nil || answered[i]}
		if questions[i].Answered {
			answers++
		}
	}
	if err := Releasable(a, len(cast), answers, s); err != nil {
		return none, err
	}
	local, err := a.LocalSensitivity(questions, teachers, s.Order)
	if err != nil {
		return none, err
	}
	private := s.Of(a.Divergence(questions, s.Order), local)
	return Question[float64]{s.Event(), func(src *random.Source) float64 {
		steps := addGaussian([]int64{int64(math.Ceil(private.Centre * finest))}, private.Deviation*finest, src)
		return float64(steps[0]) / finest
	}}, nil
}

// Releasable refuses what [DataDependent] could not release for some votes in so many questions and
// answers: to refuse it for the votes that there are would tell of them.
func Releasable(a votes.Aggregation, questions, answers int, s votes.Smooth) error {
	worst := 1.001 * a.Lost(questions, answers, s.Order) // more than rounding adds
	if most := s.Of(worst, []float64{worst}); !(most.Deviation*finest < 1<<40 && most.Centre*finest < 1<<50) {
		return fmt.Errorf("answer: found a divergence of up to %.4g to be released, expected less: more noise on votes, or fewer answers", worst)
	}
	return nil
}
