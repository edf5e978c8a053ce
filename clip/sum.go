package clip

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"dpsgd/internal/kernel"
)

// Errors of a [Sum], to match with errors.Is.
var (
	ErrReleased  = errors.New("sum already released")
	ErrNotFinite = errors.New("value not finite")
	ErrLength    = errors.New("wrong length")
)

// Sum is the sum of the clipped gradients of one logical batch, before noise: a secret that knows its bound. It takes
// partial sums, one per physical batch, and leaves once, through [Sum.Release]. A logical batch without examples is
// a Sum without partials: zeros, released and noised like any other.
//
// Errors stick: after the first one every Add and the Release return it, so that a sum with something wrong in it is
// never released. [Sum.Reset] begins the next logical batch. A Sum is not safe for concurrent use.
//
// A Sum that is reset after each release needs no new memory if whoever took the values gives their memory back with
// [Sum.Recycle] when it has done with them. Until then Reset finds nothing to reuse and makes new memory, so the
// next sum is never written to where a released one is still read.
type Sum struct {
	dim     int
	bound   float64
	pool    *kernel.Pool
	invalid error // of NewSum; Reset does not mend it
	err     error // the answer to everything; nil while the sum takes partials

	values []float64 // of length dim; nil after Release and after an error
	begun  bool      // whether values hold a partial; before, they hold anything
	spare  []float64 // memory for the next sum, holding anything, or nil

	// The Add in progress.
	parts     [][]float32
	notFinite atomic.Bool
	addRange  func(worker, from, to int) // s.add, made once
}

// NewSum returns the empty sum of dim values to which one example adds at most bound in the L2 norm: the Bound of the
// [Policy] that scales them. If bound is not positive and finite, or dim is not positive, the sum is one that only
// returns errors.
func NewSum(bound float64, dim int) *Sum { return NewParallelSum(bound, dim, nil) }

// NewParallelSum is [NewSum] for a sum that adds on the threads of pool; nil is the caller's thread alone. The values
// do not depend on the number of threads.
func NewParallelSum(bound float64, dim int, pool *kernel.Pool) *Sum {
	s := &Sum{bound: bound, dim: dim, pool: pool}
	switch {
	case !(bound > 0) || math.IsInf(bound, 1):
		s.invalid = fmt.Errorf("clip: bound of a sum is %g, must be positive and finite", bound)
	case dim <= 0:
		s.invalid = fmt.Errorf("clip: sum of %d values, must have at least 1: %w", dim, ErrLength)
	}
	s.addRange = s.add
	s.Reset()
	return s
}

// Format keeps the values out of logs, whatever the verb.
func (s *Sum) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "clip.Sum(%d values, bound %g)", s.dim, s.bound)
}

// Reset makes s the empty sum of the next logical batch, whatever it held before: a sum that was not released is
// dropped, the error of a broken one is forgotten. Bound and length stay, and so does an error of [NewSum].
func (s *Sum) Reset() {
	s.err, s.begun = s.invalid, false
	if s.invalid != nil || s.values != nil {
		return
	}
	s.values, s.spare = s.spare, nil
	if s.values == nil {
		s.values = make([]float64, s.dim)
	}
}

// Recycle gives the memory of released values back for use after the next [Sum.Reset]. The caller keeps no reference to
// it: the next sum will be there, without noise. Memory of another length is not taken.
func (s *Sum) Recycle(values []float64) {
	if len(values) == s.dim {
		s.spare = values
	}
}

// Add adds the clipped sum of one physical batch, in float64. The sum may come in parts, one after the other in the
// order of the coordinates, straight from where they were computed: together they must have the sum's length, so that
// every coordinate is added exactly once. They must be finite: clipping guarantees that they are, so anything else means
// that it did not happen. The slices are not kept.
func (s *Sum) Add(parts ...[]float32) error {
	if s.err != nil {
		return s.err
	}
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	if length != s.dim {
		s.fail(fmt.Errorf("clip: partial sum has %d values, expected %d: %w", length, s.dim, ErrLength))
		return s.err
	}
	s.parts = append(s.parts[:0], parts...) // a copy, so that the caller's list of parts need not be on the heap
	s.notFinite.Store(false)
	s.pool.Run(s.dim, addBlock, s.addRange)
	clear(s.parts)
	s.begun = true
	if s.notFinite.Load() {
		s.fail(fmt.Errorf("clip: partial sum of clipped gradients: %w; a row of factor 0 was multiplied, not zeroed, "+
			"or the batch overflowed float32", ErrNotFinite))
	}
	return s.err
}

// addBlock values are checked and added at a time, so that the second pass finds them in the first-level cache.
const addBlock = 1 << 11

// add adds the coordinates [from, to) of the parts. The first partial of a sum finds anything in the values.
func (s *Sum) add(_, from, to int) {
	start := 0 // of the part
	for _, part := range s.parts {
		end := start + len(part)
		for at := max(from, start); at < min(to, end); at += addBlock {
			block := part[at-start : min(at+addBlock, to, end)-start]
			values := s.values[at : at+len(block)]
			if !s.begun {
				clear(values)
			}
			kernel.AccumulateFloat64(values, block)
			// Squares of finite float32 and their sums are finite in float64. Infinities and NaN stay in a sum of squares.
			if squares := kernel.SumSquares(block); squares-squares != 0 {
				s.notFinite.Store(true)
			}
		}
		start = end
	}
}

// Release returns the sum and the bound on one example's part in it, and empties s: until the next [Sum.Reset], a second
// Release and any Add return [ErrReleased]. The values belong to the caller, s keeps no reference to them. The
// caller is the mechanism that adds noise; nothing else has business here.
func (s *Sum) Release() (values []float64, bound float64, err error) {
	if s.err != nil {
		return nil, 0, s.err
	}
	if !s.begun {
		clear(s.values)
	}
	values = s.values
	s.fail(errReleased)
	return values, s.bound, nil
}

var errReleased = fmt.Errorf("clip: %w", ErrReleased)

// fail makes err the answer to everything until the next Reset and lets go of the values.
func (s *Sum) fail(err error) { s.values, s.err = nil, err }
