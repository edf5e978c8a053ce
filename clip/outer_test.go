package clip

import (
	"math"
	"slices"
	"testing"

	"dpsgd/internal/random"
	"dpsgd/internal/slow"
)

// modelTake is take of proofs/partial.v: it returns how many of rest are in the first run.
func modelTake(first int, sum int64, rest []rounded) int {
	if len(rest) == 0 || rest[0].shift != first {
		return 0
	}
	if sum += int64(rest[0].largest); sum > math.MaxInt32 {
		return 0
	}
	return 1 + modelTake(first, sum, rest[1:])
}

// The runs of outer products are those that proofs/partial.v speaks of, whose definitions the model
// follows line by line, and their sums are what 32 bits hold of sums in an order of its own.
func TestRunsAreThoseOfTheProof(t *testing.T) {
	const in, out, most = 3, 2, 12
	src := random.ForTest(28)
	s := newSumFor(t, 1, Flat{ClipNorm: 1}, in*out, nil)
	a := newOuterAdder(s, Outer{In: in, Out: out}, 0)
	s.parts = []placed{{a, 0, in * out}}
	a.x, a.z = make([]int16, in*most), make([]int16, out*most)
	largest := func(row []int16, below int) (l int) {
		for i := range row {
			row[i] = int16(int(src.Uint64()%uint64(2*below+1)) - below)
			l = max(l, int(row[i]), -int(row[i]))
		}
		return l
	}
	for range slow.Number(t, "DPSGD_RUNS", 5000, 1_000_000) {
		s.Reset()
		n := 1 + int(src.Uint64()%most)
		a.rounded = make([]rounded, n)
		for i := range n {
			bits := src.Uint64()
			below := []int{0, 1, 100, math.MaxInt16}[bits%4|bits/4%4] // mostly the largest
			a.rounded[i].largest = largest(a.x[i*in:(i+1)*in], below) * largest(a.z[i*out:(i+1)*out], below)
			a.rounded[i].shift = int(src.Uint64() % 2 * shiftStep)
		}
		a.multiply(n)

		var rest []rounded
		for _, i := range a.order {
			rest = append(rest, a.rounded[i])
		}
		var last []int
		for at := 0; at < len(rest); at += len(last) {
			last = a.order[at : at+modelTake(rest[at].shift, 0, rest[at:])]
		}
		if !slices.Equal(a.run, last) && len(last) > 0 {
			t.Fatalf("largest %+v: the last run is %v, expected %v", rest, a.run, last)
		}
		s.settle()
		s.begin()
		for j := range s.values {
			var wrapped int32
			var exact int64
			for _, i := range slices.Backward(last) {
				wrapped += int32(a.z[i*out+j/in]) * int32(a.x[i*in+j%in])
			}
			for i, r := range a.rounded {
				exact += int64(a.z[i*out+j/in]) * int64(a.x[i*in+j%in]) << r.shift
			}
			if len(last) > 0 && a.product[j] != wrapped || s.values[j] != exact {
				t.Fatalf("coordinate %d: the last run adds up to %d and all to %d, expected %d and %d", j, a.product[j], s.values[j], wrapped, exact)
			}
		}
	}
}
