package accountant

import (
	"fmt"
	"math"
)

// Event describes one release of a run. The set of events is closed: Gaussian,
// PoissonSampled and NonPrivate, used as values (not pointers), so that two
// events are equal by == exactly when an accountant cannot tell them apart.
type Event interface{ isEvent() }

// Gaussian is the release of a sum of contributions plus normal noise. If every
// contribution has L2 norm at most C and the noise has standard deviation s in
// every coordinate, NoiseMultiplier is s/C, under every relation. It is finite
// and at least 0; 0 means no noise, which costs ε = +Inf.
type Gaussian struct {
	NoiseMultiplier float64 // σ = s/C
}

// PoissonSampled is Event applied to a random subset of the records: each
// record is in the subset independently of all others and of earlier subsets
// with probability SamplingProbability, in [0, 1]. Shuffled or fixed-size
// batches are not Poisson samples and must not be described as such.
type PoissonSampled struct {
	SamplingProbability float64 // q
	Event               Event
}

// NonPrivate is a release without any guarantee: every accountant answers
// ε = +Inf for a ledger that holds one.
type NonPrivate struct{}

func (Gaussian) isEvent()       {}
func (PoissonSampled) isEvent() {}
func (NonPrivate) isEvent()     {}

// String writes the event like its formula.
func (e Gaussian) String() string { return fmt.Sprintf("Gaussian(σ=%v)", e.NoiseMultiplier) }

// String writes the event like its formula.
func (e PoissonSampled) String() string {
	return fmt.Sprintf("PoissonSampled(q=%v, %v)", e.SamplingProbability, e.Event)
}

// String names the event.
func (NonPrivate) String() string { return "NonPrivate" }

// maxNesting bounds how deep events wrap events, so that hostile input cannot
// make the recursion deep. Real events nest twice.
const maxNesting = 16

// Validate reports whether every parameter of e is in its range. Its error
// matches ErrInvalid.
func Validate(e Event) error { return validate(e, 0) }

func validate(e Event, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("%w: events nest more than %d deep", ErrInvalid, maxNesting)
	}
	switch e := e.(type) {
	case nil:
		return fmt.Errorf("%w: event is nil, want one of the event types", ErrInvalid)
	case Gaussian:
		if !(e.NoiseMultiplier >= 0) || math.IsInf(e.NoiseMultiplier, 1) {
			return fmt.Errorf("%w: noise multiplier is %v, must be finite and at least 0", ErrInvalid, e.NoiseMultiplier)
		}
		return nil
	case PoissonSampled:
		if !(e.SamplingProbability >= 0 && e.SamplingProbability <= 1) {
			return fmt.Errorf("%w: sampling probability is %v, must be in [0, 1]", ErrInvalid, e.SamplingProbability)
		}
		return validate(e.Event, depth+1)
	case NonPrivate:
		return nil
	default:
		return fmt.Errorf("%w: event has type %T, want an event value (not a pointer)", ErrInvalid, e)
	}
}
