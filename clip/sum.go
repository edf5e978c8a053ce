package clip

import (
	"errors"
	"fmt"
	"math"
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
// never released. A Sum is not safe for concurrent use.
type Sum struct {
	values []float64
	bound  float64
	err    error
}

// NewSum returns the empty sum of dim values to which one example adds at most bound in the L2 norm: the Bound of the
// [Policy] that scales them. If bound is not positive and finite, or dim is not positive, the sum is one that only
// returns errors.
func NewSum(bound float64, dim int) *Sum {
	s := &Sum{bound: bound}
	switch {
	case !(bound > 0) || math.IsInf(bound, 1):
		s.err = fmt.Errorf("clip: bound of a sum is %g, must be positive and finite", bound)
	case dim <= 0:
		s.err = fmt.Errorf("clip: sum of %d values, must have at least 1: %w", dim, ErrLength)
	default:
		s.values = make([]float64, dim)
	}
	return s
}

// Add adds the clipped sum of one physical batch, in float64. The partial must have the sum's length and be finite:
// clipping guarantees that it is, so anything else means that it did not happen. The slice is not kept.
func (s *Sum) Add(partial []float32) error {
	if s.err != nil {
		return s.err
	}
	if len(partial) != len(s.values) {
		s.fail(fmt.Errorf("clip: partial sum has %d values, expected %d: %w", len(partial), len(s.values), ErrLength))
		return s.err
	}
	var check float64 // 0, or NaN after a value that is not finite: Inf-Inf and NaN-NaN are NaN
	for i, v := range partial {
		x := float64(v)
		s.values[i] += x
		check += x - x
	}
	if check != 0 {
		s.fail(fmt.Errorf("clip: partial sum of clipped gradients: %w; a row of factor 0 was multiplied, not zeroed, "+
			"or the batch overflowed float32", ErrNotFinite))
	}
	return s.err
}

// Release returns the sum and the bound on one example's part in it, and empties s: a second Release and any later
// Add return [ErrReleased]. The caller is the mechanism that adds noise; nothing else has business here.
func (s *Sum) Release() (values []float64, bound float64, err error) {
	if s.err != nil {
		return nil, 0, s.err
	}
	values = s.values
	s.fail(fmt.Errorf("clip: %w", ErrReleased))
	return values, s.bound, nil
}

// fail makes err the answer to everything from now on and lets go of the values.
func (s *Sum) fail(err error) { s.values, s.err = nil, err }
