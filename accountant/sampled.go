package accountant

import "fmt"

// sample is an event that applies another event to a random sample of the records.
type sample interface {
	Event
	sampled() Event        // the event that is applied to the sample
	holding(e Event) Event // the same sample, with e applied to it instead
}

// NoiseMultiplier returns the noise multiplier of a Gaussian release, on a sample or not: 0 if e is
// another event.
func NoiseMultiplier(e Event) float64 {
	switch e := e.(type) {
	case Gaussian:
		return e.NoiseMultiplier
	case sample:
		return NoiseMultiplier(e.sampled())
	}
	return 0
}

// WithNoiseMultiplier returns e, a Gaussian release on a sample or not, with noise multiplier
// sigma. The error for any other event matches ErrUnsupported.
func WithNoiseMultiplier(e Event, sigma float64) (Event, error) {
	switch e := e.(type) {
	case Gaussian:
		return Gaussian{NoiseMultiplier: sigma}, nil
	case sample:
		inner, err := WithNoiseMultiplier(e.sampled(), sigma)
		return e.holding(inner), err
	}
	return nil, fmt.Errorf("%w: %v has no noise multiplier", ErrUnsupported, e)
}

// SamplingProbability returns the part of the records that is expected in the sample of a Poisson
// sampled release; 0 if e is another event. Blocks that take turns share theirs: it is divided by
// their number.
func SamplingProbability(e Event) float64 {
	switch e := e.(type) {
	case PoissonSampled:
		return e.SamplingProbability
	case TruncatedPoissonSampled:
		return e.SamplingProbability
	case CyclicSampled:
		return SamplingProbability(e.Event) / float64(e.Blocks)
	}
	return 0
}

// WithSamplingProbability returns e with another [SamplingProbability]. The error for an event that
// has none matches ErrUnsupported.
func WithSamplingProbability(e Event, q float64) (Event, error) {
	switch e := e.(type) {
	case PoissonSampled:
		e.SamplingProbability = q
		return e, nil
	case TruncatedPoissonSampled:
		e.SamplingProbability = q
		return e, nil
	case CyclicSampled:
		inner, err := WithSamplingProbability(e.Event, min(1, q*float64(e.Blocks)))
		return e.holding(inner), err
	}
	return nil, fmt.Errorf("%w: %v has no sampling probability", ErrUnsupported, e)
}

// RelationOf returns the relation to account for e under: ReplaceOne if e, or an event inside it,
// is defined for ReplaceOne alone, else ZeroOut.
func RelationOf(e Event) Relation {
	switch e := e.(type) {
	case interface{ relation() Relation }:
		return e.relation()
	case sample:
		return RelationOf(e.sampled())
	case RepeatAndSelect:
		return RelationOf(e.Event)
	case interface{ parts() []Entry }:
		return relationOf(e.parts())
	}
	return ZeroOut
}

// Relation returns the relation to account for all releases of the ledger under. A record that may
// be replaced by any other one may be replaced by one that contributes nothing: what holds under
// ReplaceOne holds under ZeroOut too.
func (l *Ledger) Relation() Relation { return relationOf(l.entries) }

func relationOf(entries []Entry) Relation {
	for _, entry := range entries {
		if RelationOf(entry.Event) == ReplaceOne {
			return ReplaceOne
		}
	}
	return ZeroOut
}
