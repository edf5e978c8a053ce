package gradients

import (
	"slices"

	"dpsgd/clip"
	"dpsgd/release"
)

// counts is the last coordinate of contributions under a policy that counts examples.
type counts struct {
	policy clip.Counting
	values []float32 // one for each example
	parts  []clip.Part
}

// newCounts counts batches of so many examples whose gradients are in these parts.
func newCounts(policy clip.Counting, gradients []clip.Part, batch int) *counts {
	c := &counts{policy: policy, values: make([]float32, batch)}
	c.parts = append(slices.Clone(gradients), clip.Stored(c.values, 1))
	return c
}

// add is the batch with the counts of its first n examples, each made of the example's norm alone.
func (c *counts) add(b clip.Batch, n int) clip.Batch {
	c.policy.Counts(c.values[:n], b.SquaredNorms[:n])
	b.Parts = c.parts
	return b
}

// SplitCount is a consumer of releases of which each has a coordinate more than there are
// parameters: that one goes to count, and the others to consume. count is there when the release
// has returned.
func SplitCount(parameters int, count *float64, consume func(release.Noisy)) func(release.Noisy) {
	return func(n release.Noisy) {
		if at := parameters - n.From(); at >= 0 && at < len(n.Values()) {
			*count = n.Values()[at]
		}
		if n = n.Before(parameters); len(n.Values()) > 0 {
			consume(n)
		}
	}
}
