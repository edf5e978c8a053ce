package data

import (
	"fmt"

	"dpsgd/accountant"
	"dpsgd/internal/random"
)

// Poisson draws logical batches for DP-SGD.
//
// Guarantee. Let q be SamplingProbability, a float64 taken at its exact value. In one call of
// Sample, given what happened to records 0 … i−1, record i joins the batch with a probability in
// (q − 2⁻¹²⁴, q] (proofs/sampler.v: every_record_joins); for q = 0 and 1 it is exactly q. So
//
//   - no record's chance is ever above the q that the accountant is told;
//   - the batch is within total variation distance n·2⁻¹²⁴ of n independent coin flips with
//     probability q (for 2^27 records: 2⁻⁹⁷, negligible beside any δ);
//   - calls are independent of each other as far as the random words are.
//
// Nothing depends on the labels, the pictures or earlier batches; a batch can be empty and is then
// returned empty. The chance is the same for all records: there are no weights. Both the sampler
// and the accountant's event read the one field.
type Poisson struct{ SamplingProbability float64 }

// Validate refuses a probability outside [0, 1].
func (p Poisson) Validate() error {
	if q := p.SamplingProbability; !(q >= 0 && q <= 1) {
		return fmt.Errorf("data: sampling probability is %v, expected a number from 0 to 1", q)
	}
	return nil
}

// Excess returns n·2⁻¹²⁴, the bound on the total variation distance in the guarantee.
func (p Poisson) Excess(n int) float64 { return float64(n) * 0x1p-124 }

// Varies returns true: a batch has any number of records.
func (p Poisson) Varies() bool { return true }

// Name returns "Poisson".
func (p Poisson) Name() string { return "Poisson" }

// String says how records join, for a privacy statement.
func (p Poisson) String() string {
	return fmt.Sprintf("Poisson: every example joins each batch independently with probability q = %v", p.SamplingProbability)
}

// Sampled returns the event of a release that has event e on the batch that this sampler draws.
func (p Poisson) Sampled(e accountant.Event) accountant.Event {
	return accountant.PoissonSampled{SamplingProbability: p.SamplingProbability, Event: e}
}

// Sample draws one batch from records 0 … n−1: distinct indices in increasing order, not nil,
// possibly none. It reuses the memory of dst and ignores its content. It expects to read fewer than
// 16/15·q·n + n/512 + 2 words. The indices are secret. It panics on an invalid probability or a
// negative n.
func (p Poisson) Sample(dst []int, n int, src *random.Source) []int { return p.sample(dst, n, src) }

// words is the part of a random source that the sampler uses.
type words interface{ Uint64() uint64 }

func (p Poisson) sample(dst []int, n int, src words) []int {
	if err := p.Validate(); err != nil {
		panic(err)
	}
	if n < 0 {
		panic(fmt.Sprintf("data: sampling from %d records", n))
	}
	if dst == nil {
		dst = make([]int, 0, int(p.SamplingProbability*float64(n)*1.1)+16)
	}
	dst = dst[:0]
	if p.SamplingProbability < 0x1p-128 {
		return dst // rounds down to 0
	}
	var skips skipTable
	skips.fill(p.SamplingProbability, n)
	for next := 0; ; {
		run, joins := skips.draw(src)
		if run >= n-next {
			return dst
		}
		next += run
		if joins {
			dst = append(dst, next)
			next++
		}
	}
}
