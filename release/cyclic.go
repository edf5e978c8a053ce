package release

import (
	"fmt"

	"dpsgd/accountant"
	"dpsgd/data"
	"dpsgd/internal/random"
	"dpsgd/internal/setting"
)

// Rotating is an optional interface of a [Sampler] whose samples depend on the turn: how many such
// releases the ledger of the run holds before this one, repeated ones and those that a kill left
// unfinished too ([accountant.Ledger.Turns]). It is public.
type Rotating interface {
	// At returns the sampler of the release at that turn.
	At(turn int) Sampler
}

// At returns the sampler of a release at a turn: s itself unless it is [Rotating].
func At(s Sampler, turn int) Sampler {
	if r, ok := s.(Rotating); ok {
		return r.At(turn)
	}
	return s
}

// Separated is an optional interface of a [Sampler]. Separation returns the least distance between
// the turns of two samples with the same record, where they follow each other; without it, 1.
type Separated interface{ Separation() int }

// Cyclic is the [Sampling] in which blocks of records take turns.
type Cyclic struct {
	Blocks int // at least 1
}

func (*Cyclic) Name() string { return "cyclic" }
func (*Cyclic) Sized() bool  { return true }

func (s *Cyclic) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "blocks", Doc: "Blocks of examples that take turns: example i is in block i modulo their number.",
		Format: setting.Integer{Min: 1, Max: MostBlocks}, Value: &s.Blocks}}
}

// MostBlocks is the most blocks that a configuration can name.
const MostBlocks = 1 << 16

func (s *Cyclic) Sampler(batchSize float64, n int) Sampler {
	return cyclic{data.Poisson{SamplingProbability: batchSize * float64(s.Blocks) / float64(n)}, s.Blocks, -1}
}

// cyclic draws a Poisson sample from one block of the records, those whose number modulo blocks is
// block. The blocks are disjoint and take turns, so that two samples with one record are at least
// so many turns apart, and of n turns in a row no record is in the block of more than ⌈n/blocks⌉.
type cyclic struct {
	data.Poisson // within the block
	blocks       int
	block        int // -1 before At
}

func (s cyclic) At(turn int) Sampler { s.block = turn % s.blocks; return s }
func (s cyclic) Separation() int     { return s.blocks }
func (s cyclic) Name() string        { return "cyclic" }

func (s cyclic) String() string {
	return fmt.Sprintf("cyclic: example i is in block i modulo %d, in an order that stays as long as the run goes on; the blocks take turns, and every example of the block whose turn it is joins the batch independently with probability q = %v", s.blocks, s.SamplingProbability)
}

func (s cyclic) Validate() error {
	if !(s.SamplingProbability <= 1) {
		return fmt.Errorf("release: batches are %.4g times as large as one of %d blocks, expected training.blocks of at most %d, or a smaller batch", s.SamplingProbability, s.blocks, int(float64(s.blocks)/s.SamplingProbability*(1+1e-12)))
	}
	return s.Poisson.Validate()
}

func (s cyclic) Sampled(e accountant.Event) accountant.Event {
	return accountant.CyclicSampled{Blocks: s.blocks, Event: s.Poisson.Sampled(e)}
}

// Sample panics before At.
func (s cyclic) Sample(dst []int, n int, src *random.Source) []int {
	if s.block < 0 {
		panic("release: a cyclic sample without its turn")
	}
	dst = s.Poisson.Sample(dst, (n-s.block+s.blocks-1)/s.blocks, src)
	for i := range dst {
		dst[i] = s.block + s.blocks*dst[i]
	}
	return dst
}
