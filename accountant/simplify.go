package accountant

import (
	"fmt"
	"math"
)

// Releases is a ledger in its simplest form: the same releases, for any accountant under any
// relation.
type Releases struct {
	Entries    []Entry // of distinct events, each of which costs something
	NonPrivate bool    // one of the releases has no guarantee at all
}

// Simplify takes compositions apart, leaves out what touches no record, adds up equal events, and
// puts what the worst-off record sees of turns in their place. Every accountant begins with it. The
// entries that remain are
//
//	Gaussian, DiscreteGaussian, Laplace, DiscreteLaplace, BoundedRange, RandomizedResponse,
//	ApproxDP, AddOrRemoveDP, ZCDP, TreeAggregation, SmoothGaussian, FixedSizeSampled,
//	TruncatedPoissonSampled, RepeatAndSelect of anything, BallsInBins with at least 2 bins,
//	of which the count is that of epochs, and
//	PoissonSampled and PoissonSampledGroup with a probability above 0,
//
// each with noise above 0. A Poisson sample with probability 1 becomes the event in it. The error
// for a nil ledger matches ErrInvalid; that for several releases on one sample, of which one is not
// Gaussian, matches ErrUnsupported.
func Simplify(l *Ledger) (Releases, error) {
	if l == nil {
		return Releases{}, fmt.Errorf("%w: ledger is nil", ErrInvalid)
	}
	s := simplifier{index: map[Event]int{}}
	for _, entry := range l.inRounds() {
		if err := s.add(entry, 1); err != nil {
			return Releases{}, err
		}
	}
	return s.Releases, nil
}

type simplifier struct {
	Releases
	index map[Event]int // at which index of Entries an event is
}

// add adds the entry so many times. Turns are counted within the entry, before that multiplies them.
func (s *simplifier) add(entry Entry, times int) error {
	entry = entry.ofOneRecord()
	count, err := product(entry.Count, times)
	if err != nil || count == 0 {
		return err
	}
	if composition, ok := entry.Event.(interface{ parts() []Entry }); ok {
		for _, part := range composition.parts() {
			if err := s.add(part, count); err != nil {
				return err
			}
		}
		return nil
	}
	e, err := entry.Event.simplest()
	if err != nil {
		return err
	}
	switch e {
	case nil:
		return nil
	case Event(NonPrivate{}):
		s.NonPrivate = true
		return nil
	}
	if i, ok := s.index[e]; ok {
		if s.Entries[i].Count > math.MaxInt-count {
			return fmt.Errorf("%w: the count of %v overflows", ErrInvalid, e)
		}
		s.Entries[i].Count += count
		return nil
	}
	s.index[e] = len(s.Entries)
	s.Entries = append(s.Entries, Entry{e, count})
	return nil
}

func nonPrivateIf(noNoise bool, e Event) (Event, error) {
	if noNoise {
		return NonPrivate{}, nil
	}
	return e, nil
}

// nilIf returns nil if free, that is if e costs nothing, else e.
func nilIf(free bool, e Event) (Event, error) {
	if free {
		return nil, nil
	}
	return e, nil
}

// simplestSample returns s with the simplest form of the event that s applies to its sample. It
// returns nil if that event costs nothing or if never, that is if no record is ever in the sample,
// and NonPrivate if that event has no guarantee.
func simplestSample(s sample, never bool) (Event, error) {
	inside, err := sampledEvent(s.sampled())
	if err != nil || inside == nil || never {
		return nil, err
	}
	if inside == Event(NonPrivate{}) {
		return inside, nil
	}
	return s.holding(inside), nil
}

// sampledEvent returns one event that costs the same as e, all that is released of one sample, or
// nil if e costs nothing. Several Gaussian releases of one sample are as one of noise (Σ
// 1/σ²)^(-1/2): the sum of the releases, weighted by 1/σ², says all that they say together.
func sampledEvent(e Event) (Event, error) {
	var l Ledger
	if err := l.Add(e, 1); err != nil {
		return nil, err
	}
	inside, err := Simplify(&l)
	switch {
	case err != nil:
		return nil, err
	case inside.NonPrivate:
		return NonPrivate{}, nil
	case len(inside.Entries) == 0:
		return nil, nil
	case len(inside.Entries) == 1 && inside.Entries[0].Count == 1:
		return inside.Entries[0].Event, nil
	}
	return joinGaussians(e, inside.Entries)
}

// joinGaussians returns one Gaussian release that says as much as the entries, all releases in e.
func joinGaussians(e Event, entries []Entry) (Event, error) {
	for _, entry := range entries {
		if _, ok := entry.Event.(Gaussian); !ok {
			return nil, fmt.Errorf("%w: several releases of one sample, want Gaussian ones: %v", ErrUnsupported, e)
		}
	}
	sigma := JoinedNoise(entries)
	return nonPrivateIf(!(sigma > 0), Gaussian{sigma})
}

// JoinedNoise returns the noise multiplier of one Gaussian release that says as much as the entries,
// Gaussian releases, together: (Σ count/σ²)^(-1/2), rounded down. It is 0 if that underflows.
func JoinedNoise(entries []Entry) float64 {
	least := math.Inf(1)
	for _, entry := range entries {
		least = min(least, entry.Event.(Gaussian).NoiseMultiplier)
	}
	precision := 0.0 // in units of the least noise, far from either end of float64
	for _, entry := range entries {
		ratio := least / entry.Event.(Gaussian).NoiseMultiplier
		precision += float64(entry.Count) * ratio * ratio
	}
	slop := float64(len(entries)+8) * 0x1p-52
	return math.Nextafter(least/math.Sqrt(precision)*(1-slop), 0)
}

func product(a, b int) (int, error) {
	if b != 0 && a > math.MaxInt/b {
		return 0, fmt.Errorf("%w: %d compositions of %d releases overflow", ErrInvalid, a, b)
	}
	return a * b, nil
}

// NonPrivate is a release without any guarantee: every accountant answers ε = +Inf for a ledger
// that holds one.
type NonPrivate struct{}

func (NonPrivate) String() string              { return "NonPrivate" }
func (e NonPrivate) simplest() (Event, error)  { return e, nil }
func (e NonPrivate) seenBy(int) (Event, error) { return e, nil }
func (*NonPrivate) parameters() []parameter    { return nil }
