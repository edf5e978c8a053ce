package clip

import (
	"errors"
	"fmt"
	"slices"

	"dpsgd/internal/kernel"
)

// Errors of a [Sum], to match with errors.Is.
var (
	ErrReleased = errors.New("sum already released")
	ErrLength   = errors.New("wrong length")
)

// Sum is the sum of the bounded contributions of one logical batch, before noise: a secret vector
// of integers, in units of the spacing of its [Lattice]. [Sum.Add] takes physical batches;
// [Sum.Release] hands the sum out, once. A logical batch without examples is a Sum without batches:
// zeros, released and noised like any other.
//
// Errors stick: after the first one every Add and the Release return it, so that a sum with
// something wrong in it is never released. [Sum.Reset] begins the next logical batch. A Sum is not
// safe for concurrent use.
type Sum struct {
	policy  Policy
	lattice Lattice
	dim     int
	pool    *kernel.Pool
	err     error // what Add, Merge and Release return; nil while the sum takes batches

	values         []int64 // undefined until begun
	begun, waiting bool    // whether values hold a sum, and whether a group waits to be added to it

	parts   []placed  // of the batch in progress; their memory is used again
	factors []float32 // of its examples
	squares []float64 // squared norms of the rounded contributions of its examples
	group   group
	grain   int // examples that are worth handing to a worker

	roundRange, settleRange func(worker, lo, hi int) // s.round and s.settleStrips, made once
	integers                Integers                 // s.read, made once
}

// NewSum returns the empty sum of dim coordinates, of contributions that the policy scales. It is
// computed on the threads of pool, or on the caller's alone if pool is nil. It refuses a
// bound that is no valid clip norm, and a dim that is not positive.
func NewSum(policy Policy, dim int, pool *kernel.Pool) (*Sum, error) {
	bound := policy.Bound()
	if !validClipNorm(bound) {
		return nil, fmt.Errorf("clip: bound of a sum is %g, expected a number from %g to %g: %w", bound, MinClipNorm, MaxClipNorm, ErrClipNorm)
	}
	if dim <= 0 {
		return nil, fmt.Errorf("clip: sum of %d values, must have at least 1: %w", dim, ErrLength)
	}
	s := &Sum{policy: policy, lattice: latticeOf(bound, 0), dim: dim, pool: pool, values: make([]int64, dim), grain: 1 + 1<<13/dim}
	s.roundRange, s.settleRange, s.integers = s.round, s.settleStrips, s.read
	return s, nil
}

// Format prints the number of values and the bound for all verbs but %w, to keep values out of logs.
func (s *Sum) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "clip.Sum(%d values, bound %g)", s.dim, s.lattice.Bound)
}

// Dim returns the number of coordinates.
func (s *Sum) Dim() int { return s.dim }

// Lattice returns the lattice to which the sum's contributions are rounded.
func (s *Sum) Lattice() Lattice { return s.lattice }

// Refine makes the lattice as fine as sums of so many examples have room for. It must come before
// the first Add of a logical batch.
func (s *Sum) Refine(examples int) { s.lattice = latticeOf(s.lattice.Bound, digitsFor(examples)) }

// Reset makes s the empty sum of the next logical batch, whatever it held before: a sum that was
// not released is dropped, the error of a broken one is forgotten.
func (s *Sum) Reset() { s.err, s.begun, s.waiting = nil, false, false }

// groupExamples returns how many rows are rounded before the sum takes them: few enough for a
// float64, as each adds at most C/g < 2^(21+Digits) to a coordinate (proofs/partial.v).
func (l Lattice) groupExamples() int { return min(1<<10, 1<<(53-latticeBits-1-l.Digits)) }

// Add adds the contributions of the first so many examples of a batch, each bounded by itself: an
// example that has several rows adds up to C for each of them. Add keeps nothing of the batch.
func (s *Sum) Add(b Batch, examples int) error {
	if s.err == nil {
		s.err = b.check(s.dim, examples)
	}
	if s.err != nil {
		return s.err
	}
	s.settle()
	s.factors, s.squares = grown(s.factors, examples), grown(s.squares, examples)
	s.policy.Factors(s.factors, b.SquaredNorms[:examples])
	s.open(b, examples)
	for lo, size := 0, s.lattice.groupExamples(); lo < examples; lo += size {
		s.group = group{lo, min(lo+size, examples)}
		s.addGroup()
	}
	for _, p := range s.parts {
		p.multiply(examples)
	}
	return nil
}

// group is the range [lo, hi) of the batch's examples that are rounded together.
type group struct{ lo, hi int }

// addGroup rounds the contributions of a group, measures them, and leaves out those that are too
// long. The group is added to values together with the next one, or with the noise.
func (s *Sum) addGroup() {
	s.settle()
	for refused := true; refused; {
		for _, p := range s.parts {
			p.forget()
		}
		s.pool.Run(s.group.hi-s.group.lo, s.grain, s.roundRange)
		refused = s.refuse()
	}
	s.waiting = true
}

// round makes integers of the contributions of examples [lo, hi) of the group.
func (s *Sum) round(worker, lo, hi int) {
	for i := s.group.lo + lo; i < s.group.lo+hi; i++ {
		scale, squares := s.factors[i]*float32(1/s.lattice.Spacing), 0.0
		for _, p := range s.parts {
			squares += p.round(worker, i, scale)
		}
		s.squares[i] = squares
	}
}

// settle adds the rounded contributions of the group that waits, if one does, to values.
func (s *Sum) settle() {
	if s.waiting {
		s.pool.Run(s.dim, strip, s.settleRange)
		s.begun, s.waiting = true, false
		for _, p := range s.parts {
			p.forget()
		}
	}
}

// strip is the number of coordinates that stay in the first-level cache while they are added to.
const strip = 2048

func (s *Sum) settleStrips(_, lo, hi int) {
	for ; lo < hi; lo += strip {
		s.read(s.values[lo:min(lo+strip, hi)], lo)
	}
}

// read writes the sum in coordinates from, from+1, … to dst, which may be that part of values.
func (s *Sum) read(dst []int64, from int) {
	if s.begun && &dst[0] != &s.values[from] {
		copy(dst, s.values[from:])
	} else if !s.begun && !s.waiting {
		clear(dst)
	}
	if !s.waiting {
		return
	}
	for _, p := range s.parts { // which have all coordinates
		if lo, hi := max(from, p.first), min(from+len(dst), p.first+p.size); lo < hi {
			p.add(dst[lo-from:hi-from], lo-p.first, !s.begun)
		}
	}
}

// Merge lets add replace the integers of s by their sum over several processes, on one lattice.
// Only the process that releases needs the sum: elsewhere add may leave anything, and s is of no
// use until the next Reset.
func (s *Sum) Merge(add func(merged []int64) error) error {
	if s.err == nil {
		s.settle()
		s.begin()
		s.err = add(s.values)
	}
	return s.err
}

// begin sets values to zeros unless they hold a sum.
func (s *Sum) begin() {
	if !s.begun {
		clear(s.values)
		s.begun = true
	}
}

// refuse sets the factors of contributions that are too long, or not finite, to zero, and reports
// whether there were any. The norms of the others do not change, so the second call finds none.
func (s *Sum) refuse() (refused bool) {
	longest := s.lattice.longest()
	for i := s.group.lo; i < s.group.hi; i++ {
		// Written so that NaN, for which every comparison is false, is refused.
		if !(s.squares[i] <= longest) {
			s.factors[i], refused = 0, true
		}
	}
	return refused
}

// Integers writes the sum in coordinates from, from+1, … to dst; goroutines may share it.
type Integers func(dst []int64, from int)

// Release calls consume once with the integers of the sum, which last until consume returns, and
// empties s: until the next [Sum.Reset] a second Release and any Add return [ErrReleased]. The
// caller is the mechanism that adds noise; nothing else has business here.
func (s *Sum) Release(consume func(Integers, Lattice)) error {
	if s.err != nil {
		return s.err
	}
	s.err = errReleased
	consume(s.integers, s.lattice)
	return nil
}

// errReleased is made once: a step allocates nothing.
var errReleased = fmt.Errorf("clip: %w", ErrReleased)

// grown returns a buffer of n values, which hold anything: buffer's memory if it is large enough.
func grown[T any](buffer []T, n int) []T { return slices.Grow(buffer[:0], n)[:n] }
