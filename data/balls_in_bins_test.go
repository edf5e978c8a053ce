package data

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/battery"
	"dpsgd/internal/random"
)

const (
	binsN, binsT, binsEpochs = 600, 12, 400
)

// Every record is in one sample of each epoch, uniformly and independently: a battery of at most 8
// statements, each of which the right law breaks with a chance of 1e-5. Seeds make results repeat.
func TestBallsInBinsPassTheBattery(t *testing.T) {
	for _, c := range []struct{ n, bins, epochs int }{{binsN, binsT, binsEpochs}, {1001, 3, 300}, {64, 64, 2000}} {
		src, b := random.Seeded(11), &BallsInBins{Bins: c.bins}
		var dst []int
		bad := battery.BallsInBins(c.n, c.bins, c.epochs, func(int) []int {
			if dst = b.sample(dst, c.n, src); !slices.IsSorted(dst) {
				t.Fatalf("found a sample out of order: %v", dst)
			}
			return dst
		})
		if len(bad) > 0 {
			t.Errorf("%+v: rejected by %v", c, bad)
		}
	}
}

// Samplers that are broken in the ways of real code are rejected.
func TestTheBatteryOfBinsRejectsBrokenTwins(t *testing.T) {
	rng := rand.New(random.Seeded(12))
	allot := func(bin func(i int) int) func(int) []int { // bin of record i, asked anew for each epoch
		bins := make([]int, binsN)
		return func(step int) (batch []int) {
			for i := range bins {
				if step%binsT == 0 {
					bins[i] = bin(i)
				}
				if bins[i] == step%binsT {
					batch = append(batch, i)
				}
			}
			return batch
		}
	}
	order := rng.Perm(binsN)
	kept := make([]int, binsN)
	for i := range kept {
		kept[i] = rng.IntN(binsT)
	}
	right := allot(func(int) int { return rng.IntN(binsT) })
	for name, c := range map[string]struct {
		sample func(step int) []int
		by     string
	}{
		"a record in two bins": {func(step int) []int {
			batch := right(step)
			if step%binsT == 3 && !slices.Contains(batch, 5) {
				batch = append(batch, 5)
			}
			return batch
		}, "two samples"},
		"an allocation for every step": {func() func(int) []int {
			b, src := BallsInBins{Bins: binsT}, random.Seeded(13)
			return func(int) []int { return b.At(0).sample(nil, binsN, src) }
		}(), "two samples"},
		"a bin left out": {func(step int) []int {
			if step%binsT == 4 {
				return nil
			}
			return right(step)
		}, "no sample"},
		"shuffled": {func() func(int) []int {
			return func(step int) []int {
				if step%binsT == 0 {
					rng.Shuffle(binsN, func(i, j int) { order[i], order[j] = order[j], order[i] })
				}
				return order[step%binsT*binsN/binsT : (step%binsT+1)*binsN/binsT]
			}
		}(), "sizes of bins"},
		"one allocation for all epochs": {allot(func(i int) int { return kept[i] }), "bins of each record"},
		"the last bin half as often":    {allot(func(int) int { return min(rng.IntN(2*binsT-1)/2, binsT-1) }), "bins of each record"},
		"neighbours share a bin at times": {allot(func() func(i int) int {
			last := 0
			return func(int) int {
				if rng.IntN(20) > 0 {
					last = rng.IntN(binsT)
				}
				return last
			}
		}()), "pairs at distance 1"},
		"the bin of the last epoch at times": {allot(func(i int) int {
			if rng.IntN(20) > 0 {
				kept[i] = rng.IntN(binsT)
			}
			return kept[i]
		}), "next epoch"},
	} {
		if bad := battery.BallsInBins(binsN, binsT, binsEpochs, c.sample); !strings.Contains(fmt.Sprint(bad), c.by) {
			t.Errorf("%s: rejected by %v, expected %q", name, bad, c.by)
		}
	}
}

// Each bin has as many words as any other: of 2^64 words the one that is left over of three bins is
// passed over, and no other.
func TestBinsShareTheWords(t *testing.T) {
	words := script{0, 0xAAAAAAAAAAAAAAAB, 7} // three times the second one is 2·2^64 + 1
	if bin := below(3, &words); bin != 2 || len(words) != 1 {
		t.Errorf("found bin %d with %d words left, expected bin 2 and 1", bin, len(words))
	}
}

// An epoch whose beginning was not drawn does not go on: neither after a kill nor with other records.
func TestBinsOfAnotherEpoch(t *testing.T) {
	src := random.ForTest(1)
	refuses := func(what string, b *BallsInBins, n int) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: found a sample, expected none", what)
			}
		}()
		b.Sample(nil, n, src)
	}
	refuses("a new process", (&BallsInBins{Bins: 5}).At(3), 10)
	refuses("no bins", &BallsInBins{}, 10)
	b := &BallsInBins{Bins: 5}
	b.At(10).Sample(nil, 10, src)
	refuses("another epoch", b.At(16), 10)
	refuses("other records", b.At(11), 11)
	if found := b.At(14).Sample(nil, 10, src); found == nil {
		t.Error("found nil, expected a sample of the same epoch")
	}
	if found := (&BallsInBins{Bins: 1}).Sample(nil, 3, src); !slices.Equal(found, []int{0, 1, 2}) {
		t.Errorf("one bin holds %v, expected all records", found)
	}
	want := accountant.BallsInBins{Bins: 5, Event: accountant.Gaussian{NoiseMultiplier: 2}}
	if found := b.Sampled(want.Event); found != accountant.Event(want) {
		t.Errorf("found %v, expected %v", found, want)
	}
}
