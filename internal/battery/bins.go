package battery

import (
	"fmt"
	"math"
)

// BallsInBins looks at the samples of so many epochs, of bins steps each, of records 0 to n-1, which
// are to come from balls in bins, and returns the statements that they break, at most
// [BinsStatements]. That a record is not in exactly one sample of an epoch is broken for sure; the
// others are as in [Poisson].
func BallsInBins(n, bins, epochs int, sample func(step int) []int) []string {
	of := make([][]int, epochs) // the bin of every record in every epoch
	for e := range of {
		of[e] = make([]int, n)
		for bin := range bins {
			for _, i := range sample(e*bins + bin) {
				if i < 0 || i >= n || of[e][i] != 0 {
					return []string{fmt.Sprintf("record %d is in two samples of an epoch, or not there", i)}
				}
				of[e][i] = bin + 1
			}
		}
		for i, bin := range of[e] {
			if bin == 0 {
				return []string{fmt.Sprintf("record %d is in no sample of an epoch", i)}
			}
		}
	}
	b := allotted{of, n, bins}
	var out broken
	out.chiSquare("bins of each record", b.uniform(), n*(bins-1))
	out.chiSquare("sizes of bins", b.sizes(), epochs*(bins-1))
	for _, distance := range []int{1, 2, 7, n / 2} {
		out.deviate(fmt.Sprintf("pairs at distance %d in one bin", distance), b.together(distance, 0))
	}
	out.deviate("the same bin in the next epoch", b.together(0, 1))
	out.deviate("the bin of the neighbour in the next epoch", b.together(1, 1))
	return out
}

// BinsStatements is how many statements [BallsInBins] makes at most that the right law can break.
const BinsStatements = 8

// allotted holds the bins of records, counted from 1, in each epoch.
type allotted struct {
	of      [][]int
	n, bins int
}

// uniform returns the chi-square of how often each record was in each bin.
func (b allotted) uniform() (x float64) {
	expected := float64(len(b.of)) / float64(b.bins)
	for i := range b.n {
		counts := make([]float64, b.bins)
		for _, bins := range b.of {
			counts[bins[i]-1]++
		}
		for _, c := range counts {
			x += (c - expected) * (c - expected) / expected
		}
	}
	return x
}

// sizes returns the chi-square of the sizes of all samples, which pairs that share bins too often
// or too seldom move.
func (b allotted) sizes() (x float64) {
	expected := float64(b.n) / float64(b.bins)
	for _, bins := range b.of {
		counts := make([]float64, b.bins)
		for _, bin := range bins {
			counts[bin-1]++
		}
		for _, c := range counts {
			x += (c - expected) * (c - expected) / expected
		}
	}
	return x
}

// together compares how often record i and record i+distance (mod n), so many epochs later, were in
// the same bin with a chance of 1/bins for each pair, as a normal deviate. Pairs are independent of
// each other; at distance n/2 of one epoch each of them is there twice, for an even n.
func (b allotted) together(distance, later int) float64 {
	same, pairs := 0.0, 0.0
	for e := range len(b.of) - later {
		for i, bin := range b.of[e] {
			pairs++
			if b.of[e+later][(i+distance)%b.n] == bin {
				same++
			}
		}
	}
	q, twice := 1/float64(b.bins), 1.0
	if later == 0 && 2*distance == b.n {
		twice = 2
	}
	return (same - pairs*q) / math.Sqrt(twice*pairs*q*(1-q))
}
