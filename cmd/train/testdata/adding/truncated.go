package release

import (
	"fmt"
	"slices"

	"dpsgd/accountant"
	"dpsgd/data"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
	"dpsgd/internal/setting"
)

// TruncatedPoisson is Poisson sampling of which a batch that is too large keeps some records, drawn
// uniformly.
type TruncatedPoisson struct{ Most int }

// Name returns "truncated_poisson".
func (*TruncatedPoisson) Name() string { return "truncated_poisson" }

// Arguments are what a configuration can set.
func (s *TruncatedPoisson) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "max_batch_size", Doc: "Most examples of a step.", Format: setting.Integer{Min: 1, Max: 1e7}, Value: &s.Most}}
}

// Sized implements [Sampling].
func (*TruncatedPoisson) Sized() bool { return true }

// Sampler implements [Sampling].
func (s *TruncatedPoisson) Sampler(batchSize float64, n int) Sampler {
	return truncated{data.Poisson{SamplingProbability: batchSize / float64(n)}, n, s.Most}
}

type truncated struct {
	data.Poisson
	n, most int
}

func (s truncated) Sampled(e accountant.Event) accountant.Event {
	return accountant.TruncatedPoissonSampled{DatasetSize: s.n, SamplingProbability: s.SamplingProbability, MaxBatchSize: s.most, Event: e}
}

func (s truncated) Name() string { return "truncated Poisson" }

func (s truncated) String() string {
	return fmt.Sprintf("truncated %s, of whom %d at most stay", s.Poisson, s.most)
}

func (s truncated) Sample(dst []int, n int, src *random.Source) []int {
	dst = s.Poisson.Sample(dst, n, src)
	for len(dst) > s.most {
		at := int(noise.Below(uint64(len(dst)), src))
		dst = slices.Delete(dst, at, at+1)
	}
	return dst
}
