package data

import (
	"slices"

	"dpsgd/accountant"
	"dpsgd/internal/random"
)

// Full draws every record every time: what the full batch costs is the mechanism's event itself,
// without amplification by sampling. Nothing is drawn, and so nothing is hidden: which records a
// release is computed from is public.
type Full struct{}

// Validate reports nothing: there is nothing to get wrong.
func (Full) Validate() error { return nil }

// Excess returns 0, Varies false.
func (Full) Excess(int) float64 { return 0 }
func (Full) Varies() bool       { return false }

// Name returns "full".
func (Full) Name() string { return "full" }

// String says how records take part, for a privacy statement.
func (Full) String() string { return "full: every example is in every batch" }

// Sampled is the event of what is done to all records, unchanged.
func (Full) Sampled(e accountant.Event) accountant.Event { return e }

// Sample returns 0 … n-1 in the memory of dst. It panics on a negative n.
func (Full) Sample(dst []int, n int, _ *random.Source) []int {
	dst = slices.Grow(dst[:0], n)
	for i := range n {
		dst = append(dst, i)
	}
	return dst
}
