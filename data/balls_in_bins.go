package data

import (
	"fmt"
	"math/bits"

	"dpsgd/accountant"
	"dpsgd/internal/random"
)

// BallsInBins shares out the records among the steps of an epoch.
//
// Guarantee. At the first of every Bins samples each record is put into one of them, each with the
// same chance, independently of all other records and of all epochs, and it is in that sample and
// in no other of the epoch. Chances are exact as far as the random words are. Where a record is
// stays secret: no checkpoint holds it, and nothing else depends on it. A sample can be empty.
//
// It draws the sample of a turn, see [BallsInBins.At]. Turns of one epoch follow each other. One that
// comes without the turns before, as after a kill, belongs to an epoch that cannot go on: a second
// allocation would put a record into two of its steps.
type BallsInBins struct {
	Bins int

	turn    int   // of the next sample
	epoch   int   // of the allocation, from 1; 0 where there is none
	records []int // in the order of their bins
	first   []int // the place in records of the first one of each bin, and their number
}

// Validate refuses a number of bins below 1.
func (b *BallsInBins) Validate() error {
	if b.Bins < 1 {
		return fmt.Errorf("data: found %d bins, expected at least 1", b.Bins)
	}
	return nil
}

// Excess returns 0: every chance is exact.
func (b *BallsInBins) Excess(int) float64 { return 0 }

// Varies returns true: a bin has any number of records.
func (b *BallsInBins) Varies() bool { return true }

// Name returns "balls in bins".
func (b *BallsInBins) Name() string { return "balls in bins" }

// String says how records take part, for a privacy statement.
func (b *BallsInBins) String() string {
	return fmt.Sprintf("balls in bins: of every %d steps, an epoch, each example takes part in one, drawn uniformly and independently of all others and kept secret", b.Bins)
}

// Sampled returns the event of a release that has event e on the sample that this sampler draws.
func (b *BallsInBins) Sampled(e accountant.Event) accountant.Event {
	return accountant.BallsInBins{Bins: b.Bins, Event: e}
}

// Epoch returns the number of bins: an epoch begins at every turn that it divides.
func (b *BallsInBins) Epoch() int { return b.Bins }

// At sets the turn of the next sample, counted from 0, and returns b.
func (b *BallsInBins) At(turn int) *BallsInBins { b.turn = turn; return b }

// Sample returns the records of 0 … n-1 in the bin of its turn, in order, not nil, in the memory of
// dst if they fit there. The next turn is the one behind it. It panics on a negative n, and on a
// turn of an epoch whose beginning it has not drawn, for as many records.
func (b *BallsInBins) Sample(dst []int, n int, src *random.Source) []int {
	return b.sample(dst, n, src)
}

func (b *BallsInBins) sample(dst []int, n int, src words) []int {
	if err := b.Validate(); err != nil {
		panic(err)
	}
	bin := b.turn % b.Bins
	if bin == 0 {
		b.allocate(n, src)
		b.epoch = b.turn/b.Bins + 1
	}
	if b.epoch != b.turn/b.Bins+1 || len(b.records) != n {
		panic(fmt.Sprintf("data: step %d of an epoch of %d, %d records, whose beginning was not drawn", bin+1, b.Bins, n))
	}
	b.turn++
	if dst == nil {
		dst = []int{}
	}
	return append(dst[:0], b.records[b.first[bin]:b.first[bin+1]]...)
}

func (b *BallsInBins) allocate(n int, src words) {
	bins := make([]int, n)
	b.records, b.first = make([]int, n), make([]int, b.Bins+1)
	for i := range bins {
		bins[i] = below(b.Bins, src)
		b.first[bins[i]]++
	}
	for k, sum := 0, 0; k <= b.Bins; k++ {
		sum += b.first[k]
		b.first[k] = sum // the end of the bin
	}
	for i := n - 1; i >= 0; i-- {
		b.first[bins[i]]--
		b.records[b.first[bins[i]]] = i
	}
}

// below returns a number from 0 to n-1, each with the same chance. Of the products of a word and n
// it takes the upper half, without the words of which a number would have one more than others have
// (Lemire 2019, arXiv:1805.10941).
func below(n int, src words) int {
	least := -uint64(n) % uint64(n)
	for {
		if number, rest := bits.Mul64(src.Uint64(), uint64(n)); rest >= least {
			return int(number)
		}
	}
}
