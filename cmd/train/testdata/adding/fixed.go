package release

import (
	"fmt"

	"dpsgd/accountant"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// FixedSize draws batches of one size, uniformly. Its event is defined where a record is replaced
// by another one.
type FixedSize struct{}

// Name returns "fixed_size".
func (FixedSize) Name() string { return "fixed_size" }

// Sized implements [Sampling].
func (FixedSize) Sized() bool { return true }

// Sampler implements [Sampling].
func (FixedSize) Sampler(batchSize float64, n int) Sampler { return fixedSize{int(batchSize), n} }

type fixedSize struct{ batch, n int }

func (s fixedSize) Sampled(e accountant.Event) accountant.Event {
	return accountant.FixedSizeSampled{DatasetSize: s.n, BatchSize: s.batch, Event: e}
}

func (s fixedSize) Validate() error { return nil }

func (s fixedSize) Varies() bool { return false }

func (s fixedSize) Excess(int) float64 { return 0 }

func (s fixedSize) Name() string { return "fixed size" }

func (s fixedSize) String() string {
	return fmt.Sprintf("fixed size: every batch is %d of %d examples, drawn uniformly", s.batch, s.n)
}

// Sample goes through all records, each of which is drawn with the chance that is left for it.
func (s fixedSize) Sample(dst []int, n int, src *random.Source) []int {
	dst = dst[:0]
	for i := range n {
		if int(noise.Below(uint64(n-i), src)) < s.batch-len(dst) {
			dst = append(dst, i)
		}
	}
	return dst
}
