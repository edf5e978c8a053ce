package release

import "dpsgd/clip"

// Ranks are processes that add up the contributions to a release together. Rank 0 has the door, and
// with it sampler, journal and noise; the others add up their parts of its samples with [AddPart].
type Ranks interface {
	// Rank is the number of this process, below Size.
	Rank() int
	Size() int
	// Share tells the others the sample of release number step. Rank 0 calls it.
	Share(step int, sample []int) error
	// Reduce makes values of rank 0 the sum of those of all ranks.
	Reduce(values []int64) error
}

// Among lets later releases add up their sums together with other ranks.
func (d *Door) Among(r Ranks) { d.ranks = r }

// AddPart makes sum, on rank 0, that of the contributions of all records of a sample, to which each
// rank adds those of its part. A rank without a record takes part like any other. Elsewhere than on
// rank 0 nothing is left in sum that could be released.
func AddPart(sum *clip.Sum, sample []int, source Contributor, r Ranks) error {
	if err := AddUp(sum, part(sample, r.Rank(), r.Size()), source); err != nil {
		return err
	}
	return sum.Merge(r.Reduce)
}

// part is what one of so many ranks adds of a sample: every record is in the part of one rank.
func part(sample []int, rank, ranks int) []int {
	return sample[len(sample)*rank/ranks : len(sample)*(rank+1)/ranks]
}
