package release

import (
	"slices"

	"dpsgd/clip"
)

// Ranks are processes that add up the contributions to a release together. Rank 0 has the door, and
// with it sampler, journal and noise; the others add up their parts of its samples with [AddPart].
type Ranks interface {
	// Rank is the number of this process, below Size.
	Rank() int
	Size() int
	// Bounds are the first record of each rank, and the number of all records at the end, where each
	// rank has records of its own; nil where all have all. They are the same on all ranks.
	Bounds() []int
	// Share tells the others the sample of release number step. Rank 0 calls it.
	Share(step int, sample []int) error
	// Reduce replaces the values of rank 0 by the sum over all ranks.
	Reduce(values []int64) error
}

// Among lets later releases add up their sums together with other ranks.
func (d *Door) Among(r Ranks) { d.ranks = r }

// AddPart adds the contributions of all records of a sample into the sum of rank 0; each rank
// computes its part. A rank without a record takes part like any other. On other ranks nothing is
// left in sum that could be released.
func AddPart(sum *clip.Sum, sample []int, source Contributor, r Ranks) error {
	if err := AddUp(sum, part(sample, r), source); err != nil {
		return err
	}
	return sum.Merge(r.Reduce)
}

// part returns the records of a sorted sample that a rank adds: every record is in the part of one
// rank.
func part(sample []int, r Ranks) []int {
	from, to := len(sample)*r.Rank()/r.Size(), len(sample)*(r.Rank()+1)/r.Size()
	if bounds := r.Bounds(); bounds != nil {
		from, _ = slices.BinarySearch(sample, bounds[r.Rank()])
		to, _ = slices.BinarySearch(sample, bounds[r.Rank()+1])
	}
	return sample[from:to]
}
