package data

import (
	"slices"

	"dpsgd/accountant"
	"dpsgd/internal/random"
)

// Full puts every record into every batch: a release costs the mechanism's event itself, without
// amplification by sampling. Nothing is drawn at random, and so nothing is hidden: which records a
// release is computed from is public.
type Full struct{}

// Validate returns nil: there is no setting that could be wrong.
func (Full) Validate() error { return nil }

// Excess returns 0 and Varies false: nothing is drawn, and every batch has all records.
func (Full) Excess(int) float64 { return 0 }
func (Full) Varies() bool       { return false }

// Name returns "full".
func (Full) Name() string { return "full" }

// String says how records take part, for a privacy statement.
func (Full) String() string { return "full: every example is in every batch" }

// Sampled returns e, the event of what is done to all records, unchanged.
func (Full) Sampled(e accountant.Event) accountant.Event { return e }

// Sample returns 0 … n-1, in the memory of dst if n fits there. It panics on a negative n.
func (Full) Sample(dst []int, n int, _ *random.Source) []int {
	dst = slices.Grow(dst[:0], n)
	for i := range n {
		dst = append(dst, i)
	}
	return dst
}
