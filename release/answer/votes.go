package answer

import (
	"cmp"
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// Votes count the teachers who vote for each class. The record that they protect is a training
// example of one teacher: without it that teacher may vote for another class, which takes one vote
// from one class and gives one to another. They are secret, and cannot be changed.
type Votes struct{ counts []int64 }

// NewVotes counts votes, the class of each teacher. A vote for a class that is not in [0, classes)
// is not counted.
func NewVotes(votes []int, classes int) (*Votes, error) {
	counts, err := NewCounts(votes, classes)
	if err != nil {
		return nil, err
	}
	return &Votes{counts.values}, nil
}

// Sums returns the votes as sums, one for each class. One training example moves two of them by 1.
func (v *Votes) Sums() *Sums {
	return &Sums{v.counts, reach{l1: 2, l2: math.Nextafter(math.Sqrt2, 2), width: 2, alone: len(v.counts) == 1}}
}

// Format hides the votes from all verbs but %w and, of a copy, %p.
func (v Votes) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "secret votes for %d classes", len(v.counts))
}

// finer is the number of lattice steps in one vote, where noisy votes are compared.
const finer = 1 << 20

// GaussianMax asks for the class with the most votes after Gaussian noise of deviation sigma, in
// votes, was added to the votes of each: GNMax of Papernot et al. 2018 (arXiv:1802.08908, section
// 4.1). It is a function of the votes with that noise, whose L2 sensitivity is √2: the event is
// accountant.Gaussian with the noise multiplier sigma/√2, a Rényi divergence of α/sigma²
// (Proposition 8 there). The noise is rounded to 2^-20 of a vote; the first class wins a tie.
func GaussianMax(v *Votes, sigma float64) (Question[int], error) {
	overRoot2 := math.Nextafter(math.Nextafter(sigma/math.Sqrt2, 0), 0) // rounded down
	return ask(inVotes(sigma), accountant.Gaussian{NoiseMultiplier: overRoot2}, func(src *random.Source) int {
		return greatest(addGaussian(v.fine(), sigma*finer, src))
	})
}

// LaplaceMax asks for the class with the most votes after Laplace noise of that scale, in votes,
// was added to the votes of each: LNMax of Papernot et al. 2017 (arXiv:1610.05755). It is a
// function of the votes with that noise, whose L1 sensitivity is 2: the event is accountant.Laplace
// of half the scale, ε is 2/scale. The noise is rounded to 2^-20 of a vote; the first class wins a
// tie.
func LaplaceMax(v *Votes, scale float64) (Question[int], error) {
	ratio, err := times(scale, finer, noise.MaxScale)
	return ask(cmp.Or(inVotes(scale), err), accountant.Laplace{Scale: scale / 2}, func(src *random.Source) int {
		return greatest(noisy(v.fine(), ratio, noise.RoundedLaplace, src))
	})
}

// Agreement asks whether the most votes that a class has reach a threshold, after Gaussian noise of
// deviation sigma, in votes: the check of Confident-GNMax (Papernot et al. 2018, Algorithm 1),
// where only a yes is followed by GaussianMax. One training example moves the most votes by at most
// 1: the event is accountant.Gaussian with the noise multiplier sigma.
func Agreement(v *Votes, threshold int, sigma float64) (Question[bool], error) {
	err := inVotes(sigma)
	if err == nil && !(threshold >= 0 && threshold <= maxContribution) {
		err = fmt.Errorf("answer: found a threshold of %d votes, expected 0 to %d", threshold, int64(maxContribution))
	}
	return ask(err, accountant.Gaussian{NoiseMultiplier: sigma}, func(src *random.Source) bool {
		fine := v.fine()
		most := []int64{fine[greatest(fine)]}
		return addGaussian(most, sigma*finer, src)[0] >= int64(threshold)*finer
	})
}

// fine returns the votes times finer. They do not overflow: no memory holds 2^43 votes.
func (v *Votes) fine() []int64 {
	fine := make([]int64, len(v.counts))
	for i, n := range v.counts {
		fine[i] = n * finer
	}
	return fine
}

// inVotes refuses noise of a size, in votes, that is not from 2^-20 to 2^20.
func inVotes(size float64) error {
	if !(size >= 1.0/finer && size <= finer) {
		return fmt.Errorf("answer: found noise of %v votes, expected 2^-20 to 2^20", size)
	}
	return nil
}
