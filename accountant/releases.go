package accountant

import (
	"fmt"
	"math"
)

// releases is a ledger in its simplest form: the same releases, for any accountant
// under any relation.
type releases struct {
	entries  []Entry // of distinct events, each of which costs something
	infinite bool    // one of the releases has no guarantee at all
}

// simplify takes compositions apart, leaves out what touches no record, and adds up
// equal events. What remains in the entries are
//
//	Gaussian, Laplace, RandomizedResponse, ApproxDP, ZCDP, TreeAggregation,
//	FixedSizeSampled, TruncatedPoissonSampled, RepeatAndSelect of anything, and
//	PoissonSampled and PoissonSampledGroup with a probability above 0,
//
// their noise above 0; a Poisson sample with probability 1 is taken for the event in
// it.
func simplify(l *Ledger) (releases, error) {
	if l == nil {
		return releases{}, fmt.Errorf("%w: ledger is nil", ErrInvalid)
	}
	s := simplifier{index: map[Event]int{}}
	for _, entry := range l.entries {
		if err := s.add(entry.Event, entry.Count); err != nil {
			return releases{}, err
		}
	}
	return s.releases, nil
}

type simplifier struct {
	releases
	index map[Event]int // of an event in the entries
}

func (s *simplifier) add(e Event, count int) error {
	if count == 0 {
		return nil
	}
	switch e := e.(type) {
	case SelfComposed:
		total, err := product(count, e.Count)
		if err != nil {
			return err
		}
		return s.add(e.Event, total)
	case Composed:
		for _, part := range e.Events() {
			if err := s.add(part, count); err != nil {
				return err
			}
		}
		return nil
	}
	e, err := simplest(e)
	if err != nil {
		return err
	}
	switch e {
	case nil:
		return nil
	case Event(NonPrivate{}):
		s.infinite = true
		return nil
	}
	if i, ok := s.index[e]; ok {
		if s.entries[i].Count > math.MaxInt-count {
			return fmt.Errorf("%w: the count of %v overflows", ErrInvalid, e)
		}
		s.entries[i].Count += count
		return nil
	}
	s.index[e] = len(s.entries)
	s.entries = append(s.entries, Entry{e, count})
	return nil
}

// simplest returns an event that costs the same as e, which is not a composition, or
// nil if e costs nothing.
func simplest(e Event) (Event, error) {
	nonPrivateIf := func(noNoise bool) (Event, error) {
		if noNoise {
			return NonPrivate{}, nil
		}
		return e, nil
	}
	switch e := e.(type) {
	case Gaussian:
		return nonPrivateIf(e.NoiseMultiplier == 0)
	case Laplace:
		return nonPrivateIf(e.Scale == 0)
	case TreeAggregation:
		return nonPrivateIf(e.NoiseMultiplier == 0)
	case RandomizedResponse:
		if e.Buckets == 1 || e.NoiseProbability == 1 {
			return nil, nil // the answer says nothing
		}
		return nonPrivateIf(e.NoiseProbability == 0)
	case ApproxDP:
		if e.Epsilon == 0 && e.Delta == 0 {
			return nil, nil
		}
		return nonPrivateIf(e.Delta == 1)
	case ZCDP:
		if e.Rho == 0 {
			return nil, nil
		}
	case PoissonSampled:
		return simplestSampled(e)
	case PoissonSampledGroup:
		if e.GroupSize == 1 {
			return simplestSampled(PoissonSampled{e.SamplingProbability, e.Event})
		}
		inside, err := sampledEvent(e.Event)
		if err != nil || inside == nil || e.SamplingProbability == 0 {
			return nil, err
		}
		if inside == Event(NonPrivate{}) {
			return NonPrivate{}, nil
		}
		if e.SamplingProbability == 1 { // all of them, in every sample
			return groupEvent(inside, e.GroupSize)
		}
		return PoissonSampledGroup{e.SamplingProbability, e.GroupSize, inside}, nil
	case FixedSizeSampled:
		inside, err := sampledEvent(e.Event)
		if err != nil || inside == nil || e.BatchSize == 0 {
			return nil, err
		}
		if inside == Event(NonPrivate{}) {
			return NonPrivate{}, nil
		}
		return FixedSizeSampled{e.DatasetSize, e.BatchSize, inside}, nil
	case TruncatedPoissonSampled:
		inside, err := sampledEvent(e.Event)
		if err != nil || inside == nil || e.SamplingProbability == 0 || e.MaxBatchSize == 0 {
			return nil, err
		}
		if inside == Event(NonPrivate{}) {
			return NonPrivate{}, nil
		}
		return TruncatedPoissonSampled{e.DatasetSize, e.SamplingProbability, e.MaxBatchSize, inside}, nil
	}
	return e, nil
}

func simplestSampled(e PoissonSampled) (Event, error) {
	inside, err := sampledEvent(e.Event)
	if err != nil || inside == nil || e.SamplingProbability == 0 {
		return nil, err
	}
	if e.SamplingProbability == 1 || inside == Event(NonPrivate{}) {
		return inside, nil
	}
	return PoissonSampled{e.SamplingProbability, inside}, nil
}

// sampledEvent returns the one event that costs the same as everything that is done to a
// sample, or nil if that is nothing. Several Gaussian releases of one sample are as one of
// noise (Σ 1/σ²)^(-1/2): the sum of the releases, weighted by 1/σ², says all that they say
// together.
func sampledEvent(e Event) (Event, error) {
	var l Ledger
	if err := l.Add(e, 1); err != nil {
		return nil, err
	}
	inside, err := simplify(&l)
	switch {
	case err != nil:
		return nil, err
	case inside.infinite:
		return NonPrivate{}, nil
	case len(inside.entries) == 0:
		return nil, nil
	case len(inside.entries) == 1 && inside.entries[0].Count == 1:
		return inside.entries[0].Event, nil
	}
	return joinGaussians(e, inside.entries)
}

// joinGaussians returns the one Gaussian release that says as much as all entries of e.
func joinGaussians(e Event, entries []Entry) (Event, error) {
	least := math.Inf(1)
	for _, entry := range entries {
		g, ok := entry.Event.(Gaussian)
		if !ok {
			return nil, fmt.Errorf("%w: several releases of one sample, want Gaussian ones: %v", ErrUnsupported, e)
		}
		least = min(least, g.NoiseMultiplier)
	}
	precision := 0.0 // in units of that of the least noise: neither end of float64 is near
	for _, entry := range entries {
		ratio := least / entry.Event.(Gaussian).NoiseMultiplier
		precision += float64(entry.Count) * ratio * ratio
	}
	// Rounded down, so that the noise is not overstated.
	slop := float64(len(entries)+8) * 0x1p-52
	sigma := math.Nextafter(least/math.Sqrt(precision)*(1-slop), 0)
	if !(sigma > 0) {
		return NonPrivate{}, nil
	}
	return Gaussian{sigma}, nil
}

func product(a, b int) (int, error) {
	if b != 0 && a > math.MaxInt/b {
		return 0, fmt.Errorf("%w: %d compositions of %d releases overflow", ErrInvalid, a, b)
	}
	return a * b, nil
}
