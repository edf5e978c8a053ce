package answer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sync"

	"dpsgd/accountant"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// ErrSearchOver is wrapped by the error of a search that has ended: it has found as many sums above
// its threshold as was agreed.
var ErrSearchOver = errors.New("the search has found as much as it was paid for")

// Search says of one sum after the other whether it is above a threshold, until it has said yes as
// often as was agreed. All that it says is paid for when the search begins. What it holds is
// secret. A copy refuses to answer, because it could say yes as often once more. Several goroutines
// may use it.
type Search struct {
	mu        sync.Mutex
	self      *Search     // the search itself; a copy has the original here
	threshold int64       // with its noise
	bound     int64       // on what one record adds to a sum
	noise     noise.Ratio // the scale of the noise of each sum
	left      int         // how often it still says yes
	src       *random.Source
}

// maxThreshold bounds the size of thresholds, so that there is room for noise in an int64.
const maxThreshold = 1 << 62

// AboveThreshold asks for a search, by the sparse vector technique: Algorithm 1 of Lyu, Su, Li 2017
// (arXiv:1603.01699v4), with discrete Laplace noise,
//
//	threshold  scale bound/ε₁, drawn once
//	sum        scale 2·found·bound/ε₂, drawn for every sum
//
// and ε₁:ε₂ = 1:(2·found)^(2/3) (section 4.2).
//
// Any number of sums that are below are free; after so many found above the search ends. Sums may
// be chosen by what was found before. One record contributes at most bound to each. It is epsilon-
// differentially private where a record is added or removed (Theorem 2), which is its event: the
// proof shifts the threshold by bound and the noise of each sum found by twice that, and on
// integers a shift costs what it does on the real line.
func AboveThreshold(threshold, bound int64, found int, epsilon float64) (Question[*Search], error) {
	switch {
	case threshold < -maxThreshold || threshold > maxThreshold:
		return Question[*Search]{}, fmt.Errorf("answer: found the threshold %d, expected it within ±2^62", threshold)
	case !(bound >= 1 && bound <= maxContribution):
		return Question[*Search]{}, fmt.Errorf("answer: found a bound of %d on a contribution, expected 1 to %d", bound, int64(maxContribution))
	case found < 1 || found > 1<<20:
		return Question[*Search]{}, fmt.Errorf("answer: found a search that ends after %d, expected 1 to 2^20", found)
	case !(epsilon > 0) || math.IsInf(epsilon, 1):
		return Question[*Search]{}, fmt.Errorf("answer: found epsilon %v, expected finite and above 0", epsilon)
	}
	each := 2 * float64(found)
	share := 1 / (1 + math.Cbrt(each*each)) // of ε₁
	ofThreshold, err := times(float64(bound)/(epsilon*share), 1+1e-12, noise.MaxScale)
	ofSums, errSums := times(each*float64(bound)/(epsilon*(1-share)), 1+1e-12, noise.MaxScale)
	return ask(cmp.Or(err, errSums), accountant.AddOrRemoveDP{Epsilon: epsilon}, func(src *random.Source) *Search {
		noisy := saturated(threshold, noise.Laplace(ofThreshold, src))
		s := &Search{threshold: noisy, bound: bound, noise: ofSums, left: found, src: src}
		s.self = s
		return s
	})
}

// Above reports whether a single sum, with noise, reaches the threshold with its noise. It refuses
// several sums, and a sum to which a record may contribute more than the search's bound. The error
// after the end of the search wraps ErrSearchOver.
func (s *Search) Above(sum *Sums) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.self != s {
		return false, errors.New("answer: found a copy of a search, expected the search itself")
	}
	if s.left == 0 {
		return false, fmt.Errorf("answer: %w", ErrSearchOver)
	}
	if len(sum.values) != 1 || sum.reach.l1 > s.bound {
		return false, fmt.Errorf("answer: found %d sums of contributions up to %d, expected one of at most %d", len(sum.values), sum.reach.l1, s.bound)
	}
	above := saturated(sum.values[0], noise.Laplace(s.noise, s.src)) >= s.threshold
	if above {
		s.left--
	}
	return above, nil
}

// Format hides the threshold with its noise from all verbs but %w.
func (s *Search) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "a search that may find %d more", s.left)
}
