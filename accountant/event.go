package accountant

import (
	"fmt"
	"math"
)

// Event describes one release of a run. The set of events is closed: the types of
// this package that say so, used as values (not pointers), so that two events
// are equal by == exactly when an accountant cannot tell them apart.
//
// Parameters of noise are ratios to the bound on what one record contributes,
// the same under every relation: whether a neighbour lacks the record or holds
// another one, which moves a sum twice as far, is the accountant's business.
type Event interface {
	// String writes the event like its formula.
	String() string

	isEvent()
	validate(depth int) error
	encode() (name string, parameters any)
}

// NonPrivate is a release without any guarantee: every accountant answers
// ε = +Inf for a ledger that holds one.
type NonPrivate struct{}

// Gaussian is the release of a sum of contributions plus normal noise. If every
// contribution has L2 norm at most C and the noise has standard deviation s in
// every coordinate, NoiseMultiplier is s/C, under every relation. It is finite
// and at least 0; 0 means no noise, which costs ε = +Inf.
type Gaussian struct {
	NoiseMultiplier float64 `json:"noise_multiplier"` // σ = s/C
}

func (NonPrivate) isEvent()     {}
func (Gaussian) isEvent()       {}
func (PoissonSampled) isEvent() {}

// String names the event.
func (NonPrivate) String() string { return "NonPrivate" }

// String writes the event like its formula.
func (e Gaussian) String() string { return fmt.Sprintf("Gaussian(σ=%v)", e.NoiseMultiplier) }

// Validate reports whether every parameter of e is in its range. Its error
// matches ErrInvalid.
func Validate(e Event) error { return validate(e, 0) }

// maxNesting bounds how deep events wrap events, so that hostile input cannot
// make the recursion deep. Real events nest three times.
const maxNesting = 16

func validate(e Event, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("%w: events nest more than %d deep", ErrInvalid, maxNesting)
	}
	switch e.(type) {
	case nil:
		return fmt.Errorf("%w: event is nil, want one of the event types", ErrInvalid)
	case NonPrivate, Gaussian, Laplace, RandomizedResponse, ApproxDP, ZCDP, TreeAggregation,
		PoissonSampled, PoissonSampledGroup, FixedSizeSampled, TruncatedPoissonSampled,
		RepeatAndSelect, SelfComposed, Composed:
		return e.validate(depth)
	}
	// A pointer to an event has the methods of the event.
	return fmt.Errorf("%w: event has type %T, want an event value (not a pointer)", ErrInvalid, e)
}

func (NonPrivate) validate(int) error { return nil }

func (e Gaussian) validate(int) error { return atLeastZero("noise multiplier", e.NoiseMultiplier) }

func atLeastZero(name string, x float64) error {
	if !(x >= 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%w: %s is %v, must be finite and at least 0", ErrInvalid, name, x)
	}
	return nil
}

func probability(name string, x float64) error {
	if !(x >= 0 && x <= 1) {
		return fmt.Errorf("%w: %s is %v, must be in [0, 1]", ErrInvalid, name, x)
	}
	return nil
}

// PoissonSampled is Event applied to a random subset of the records: each
// record is in the subset independently of all others and of earlier subsets
// with probability SamplingProbability, in [0, 1]. Shuffled or fixed-size
// batches are not Poisson samples and must not be described as such.
type PoissonSampled struct {
	SamplingProbability float64 // q
	Event               Event
}

// String writes the event like its formula.
func (e PoissonSampled) String() string {
	return fmt.Sprintf("PoissonSampled(q=%v, %v)", e.SamplingProbability, e.Event)
}

func (e PoissonSampled) validate(depth int) error {
	if err := probability("sampling probability", e.SamplingProbability); err != nil {
		return err
	}
	return validate(e.Event, depth+1)
}
