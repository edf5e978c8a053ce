package release

import (
	"slices"

	"dpsgd/clip"
)

// Ranks connects a process, a rank, with the others that add up the contributions to a release
// together. Rank 0 has the door, and with it sampler, journal and noise; the other ranks add up
// their parts of its samples with [AddPart].
type Ranks interface {
	// Rank returns the number of this process, from 0; Size returns how many processes there are.
	Rank() int
	Size() int
	// Bounds says which records each rank has: rank i those from Bounds()[i] up to, not including,
	// Bounds()[i+1]. It is nil where every rank has all records. It is the same on all ranks.
	Bounds() []int
	// Share tells the other ranks the sample of release number step. Rank 0 calls it.
	Share(step int, sample []int) error
	// Reduce adds up the values of all ranks, coordinate by coordinate, in the values of rank 0.
	// All ranks call it.
	Reduce(values []int64) error
}

// Among makes the other ranks take part in all later releases of this door, which is that of rank
// 0.
func (d *Door) Among(r Ranks) { d.ranks = r }

// AddPart adds up this rank's part of a sample, and then the parts of all ranks in the sum of rank
// 0. All ranks call it with the same sample, also a rank whose part is empty. On other ranks than 0
// nothing is left in sum that could be released.
func AddPart(sum *clip.Sum, sample []int, source Contributor, r Ranks) error {
	if err := AddUp(sum, part(sample, r), source); err != nil {
		return err
	}
	return sum.Merge(r.Reduce)
}

// part returns this rank's part of a sorted sample. Every record is in exactly one rank's part.
func part(sample []int, r Ranks) []int {
	from, to := len(sample)*r.Rank()/r.Size(), len(sample)*(r.Rank()+1)/r.Size()
	if bounds := r.Bounds(); bounds != nil {
		from, _ = slices.BinarySearch(sample, bounds[r.Rank()])
		to, _ = slices.BinarySearch(sample, bounds[r.Rank()+1])
	}
	return sample[from:to]
}
