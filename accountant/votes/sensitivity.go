package votes

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dpsgd/accountant/internal/numeric"
)

// ErrConditions is matched where no smooth sensitivity is known at a noise, order and class count.
var ErrConditions = errors.New("pate: no smooth sensitivity is known")

// LocalSensitivity bounds, for d = 0, 1, …, teachers, how much the divergence of order alpha
// differs between votes in which at most d teachers vote otherwise than in questions, and
// neighbours of such votes. The bounds are NOT PRIVATE. The error matches ErrConditions.
func (a Aggregation) LocalSensitivity(questions []Question, teachers int, alpha float64) ([]float64, error) {
	total := make([]float64, teachers+1)
	add := func(local []float64) {
		most := 0.0
		for d := range total {
			// A set at distance d may lie nearer in this question than in another: what counts is
			// the largest up to there.
			most = max(most, local[min(d, len(local)-1)])
			total[d] += most
		}
	}
	var answers *maxSensitivity
	for _, q := range questions {
		if a.Check != nil {
			add(a.Check.localSensitivity(q.Votes, teachers, alpha))
		}
		if !a.answered(q) {
			continue
		}
		if answers == nil {
			var err error
			if answers, err = newMaxSensitivity(a.Max, len(q.Votes), alpha); err != nil {
				return nil, err
			}
		}
		add(answers.around(q.Votes, teachers))
	}
	return total, nil
}

// localSensitivity returns the local sensitivity of the check at each distance d from 0 to teachers
// (2018, Appendix B.5). It depends on the largest count alone, which one vote moves by at most 1.
func (m Threshold) localSensitivity(votes []int, teachers int, alpha float64) []float64 {
	largest := votes[winner(votes)]
	step := func(count int) float64 { // the change to the neighbours of a count
		if count < 0 || count > teachers {
			return 0
		}
		here, most := m.divergence(count, alpha), 0.0
		for _, other := range []int{count - 1, count + 1} {
			if other >= 0 && other <= teachers {
				most = max(most, math.Abs(m.divergence(other, alpha)-here))
			}
		}
		return most
	}
	local := make([]float64, teachers+1)
	for d := range local {
		local[d] = max(step(largest-d), step(largest+d))
	}
	return local
}

// maxSensitivity computes the local sensitivity of GNMax at one order: Appendix B.4 of the 2018
// paper. The divergence of votes is a function β of q = e^LogQ alone, from q0 on α/σ². The
// neighbours of votes with q have bounds between lower(q) and upper(q).
type maxSensitivity struct {
	sigma, alpha float64
	classes      int
	logQ0, logQ1 float64 // q1 = lower(q0)
}

func newMaxSensitivity(m Mechanism, classes int, alpha float64) (*maxSensitivity, error) {
	g, ok := m.(GaussianMax)
	if !ok {
		return nil, fmt.Errorf("%w for %T, expected the Gaussian noisy maximum", ErrConditions, m)
	}
	s := &maxSensitivity{sigma: g.Sigma, alpha: alpha, classes: classes}
	if err := s.findQ0(); err != nil {
		return nil, err
	}
	s.logQ1 = s.lower(s.logQ0)
	return s, s.check()
}

// findQ0 sets logQ0 by bisection: from q0 on, the divergence is no longer below α/σ².
func (s *maxSensitivity) findQ0() error {
	independent := s.alpha / (s.sigma * s.sigma)
	helps := func(logQ float64) bool { return gaussianAt(logQ, s.sigma, s.alpha) < independent }
	most := math.Log1p(-1 / float64(s.classes))
	lo := most - 1
	for !helps(lo) {
		if lo *= 2; lo < -1e6 {
			return fmt.Errorf("%w: no votes make GNMax with σ = %v cheaper at order %v", ErrConditions, s.sigma, s.alpha)
		}
	}
	_, s.logQ0 = numeric.Bisect(helps, lo, most, 0, 0)
	return nil
}

// beta returns the divergence of votes whose bound is q = e^logQ.
func (s *maxSensitivity) beta(logQ float64) float64 {
	if logQ >= s.logQ0 {
		return s.alpha / (s.sigma * s.sigma)
	}
	return gaussianAt(logQ, s.sigma, s.alpha)
}

// lower and upper return the logarithms of B_L and B_U (2018, Proposition 12), the least and
// greatest q of a neighbour: a gap to the winner moves by at most 2, and equal gaps make q extreme.
func (s *maxSensitivity) lower(logQ float64) float64 { return s.moved(logQ, math.Sqrt2/s.sigma) }
func (s *maxSensitivity) upper(logQ float64) float64 { return s.moved(logQ, -math.Sqrt2/s.sigma) }

func (s *maxSensitivity) moved(logQ, by float64) float64 {
	others := math.Log(float64(s.classes - 1))
	return min(0, others+logTail(tailAt(logQ-others)+by))
}

// check returns an error unless the conditions C5 and C6 of the appendix hold: up to q0 the
// divergence rises with q, and up to q1 so does its change to upper(q). Above q0 it has to be α/σ².
// The numbers are public, and looked at on a fine grid, as the authors do.
func (s *maxSensitivity) check() error {
	const points = 1000
	least := s.logQ0
	for s.beta(least) > 1e-14 { // below, divergences are rounding
		least *= 1.25
	}
	beforeBeta, beforeChange := 0.0, 0.0
	for i := range points {
		logQ := least + (s.logQ0-least)*float64(i)/points
		beta := s.beta(logQ)
		if beta < beforeBeta-1e-13 {
			return fmt.Errorf("%w for GNMax with σ = %v at order %v (condition C5 of the paper fails)", ErrConditions, s.sigma, s.alpha)
		}
		beforeBeta = beta
		if logQ > s.logQ1 {
			continue
		}
		change := s.beta(s.upper(logQ)) - beta
		if change < beforeChange-1e-13 {
			return fmt.Errorf("%w for GNMax with σ = %v at order %v (condition C6 of the paper fails); a smaller order may do", ErrConditions, s.sigma, s.alpha)
		}
		beforeChange = change
	}
	most := math.Log1p(-1 / float64(s.classes))
	for i := range points {
		logQ := s.logQ0 + (most-s.logQ0)*float64(i+1)/points
		if logQ > s.logQ0 && gaussianAt(logQ, s.sigma, s.alpha) < s.alpha/(s.sigma*s.sigma) {
			return fmt.Errorf("%w for GNMax with σ = %v at order %v (votes help above q0)", ErrConditions, s.sigma, s.alpha)
		}
	}
	return nil
}

// at returns by Algorithm 3 the most that the divergence changes from votes of q to a neighbour.
func (s *maxSensitivity) at(logQ float64) float64 {
	if logQ >= s.logQ1 && logQ <= s.logQ0 {
		logQ = s.logQ1
	}
	beta := s.beta(logQ)
	return max(s.beta(s.upper(logQ))-beta, beta-s.beta(s.lower(logQ)))
}

// around returns the local sensitivity of an answer at distances 0, 1, … from votes (Algorithms 4
// and 5); its last number holds for all greater ones. It is largest between q1 and q0. Votes
// outside come nearer by the moves that change q most: one vote from the second class to the first
// lowers q, one from the first to the second raises it.
func (s *maxSensitivity) around(votes []int, teachers int) []float64 {
	local := make([]float64, teachers+1)
	for d := range local {
		local[d] = s.at(s.logQ1)
	}
	g := GaussianMax{s.sigma}
	sorted := slices.Clone(votes)
	logQ := g.LogQ(sorted)
	if logQ >= s.logQ1 && logQ <= s.logQ0 {
		return local
	}
	lowers := logQ > s.logQ0
	for d := range local {
		local[d] = s.at(logQ)
		slices.SortFunc(sorted, func(a, b int) int { return b - a })
		if lowers {
			if sorted[1] == 0 {
				return local[:d+1]
			}
			sorted[0], sorted[1] = sorted[0]+1, sorted[1]-1
		} else {
			sorted[0], sorted[1] = sorted[0]-1, sorted[1]+1
		}
		logQ = g.LogQ(sorted)
		if lowers && logQ <= s.logQ0 || !lowers && logQ >= s.logQ1 {
			break // the rest are the plateau
		}
	}
	return local
}
