package accountant

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant/internal/pld"
)

const (
	namePLD   = "pld"
	methodPLD = methodPairs + "privacy loss distributions discretised pessimistically (connect-the-dots, " +
		"Doroshenko et al. 2022), composed by FFT"
)

// PLD is the accountant by privacy loss distributions: the losses of the dominating pairs of a
// ledger, discretised so that no answer is below the truth, and composed by fast Fourier
// transforms. It is independent of the numerics of Exact, a little looser, and
// analyses every event of which a dominating pair is known: Gaussian and Laplace, both
// also Poisson-sampled, RandomizedResponse and FixedSizeSampled under ReplaceOne,
// PoissonSampledGroup and TruncatedPoissonSampled under the other relations,
// TreeAggregation under ZeroOut, ApproxDP, and compositions. It holds no state.
type PLD struct {
	relation Relation
	options  pld.Options
}

var _ Bracketing = (*PLD)(nil)

// NewPLD returns the accountant for relation r. Interval is the spacing of the grid of
// losses; 0 chooses one for each question, such that answers are within about 0.1 % of
// the truth.
func NewPLD(r Relation, interval float64) (*PLD, error) {
	if err := validateRelation(r); err != nil {
		return nil, err
	}
	if !(interval >= 0 && interval <= 1) {
		return nil, fmt.Errorf("%w: interval of losses is %v, must be in [0, 1]", ErrInvalid, interval)
	}
	return &PLD{r, pld.Options{Interval: interval}}, nil
}

// Name returns "pld".
func (a *PLD) Name() string { return namePLD }

// Relation returns the relation that a was made for.
func (a *PLD) Relation() Relation { return a.relation }

// Guarantee returns epsilon at delta, the upper end of EpsilonInterval.
func (a *PLD) Guarantee(l *Ledger, delta float64) (Guarantee, error) {
	i, err := a.EpsilonInterval(l, delta)
	return Guarantee{Epsilon: i.Upper, Delta: delta, Relation: a.relation, Method: methodPLD}.orNone(err)
}

// Delta returns delta at epsilon, the upper end of DeltaInterval.
func (a *PLD) Delta(l *Ledger, epsilon float64) (Guarantee, error) {
	i, err := a.DeltaInterval(l, epsilon)
	return Guarantee{Epsilon: epsilon, Delta: i.Upper, Relation: a.relation, Method: methodPLD}.orNone(err)
}

// EpsilonInterval returns bounds of the exact epsilon at delta of the dominating pairs.
func (a *PLD) EpsilonInterval(l *Ledger, delta float64) (Interval, error) {
	if err := validateDelta(delta); err != nil {
		return Interval{}, err
	}
	p, err := dominatingPairs(l, a.relation)
	switch {
	case err != nil:
		return Interval{}, err
	case p.infinite:
		return Interval{math.Inf(1), math.Inf(1)}, nil
	}
	i, err := pldEpsilon(p.removed, delta, a.options)
	if err == nil && p.added != nil && !dominated(p.added, i.Lower, delta) {
		var other Interval
		other, err = pldEpsilon(p.added, delta, a.options)
		i = larger(i, other)
	}
	return p.capped(i, err)
}

// DeltaInterval returns bounds of the exact delta at epsilon of the dominating pairs.
func (a *PLD) DeltaInterval(l *Ledger, epsilon float64) (Interval, error) {
	if err := validateEpsilon(epsilon); err != nil {
		return Interval{}, err
	}
	p, err := dominatingPairs(l, a.relation)
	switch {
	case err != nil:
		return Interval{}, err
	case p.infinite:
		return Interval{1, 1}, nil
	}
	i, err := pldDelta(p.removed, epsilon, a.options)
	if err != nil || p.added == nil || dominated(p.added, epsilon, i.Lower) {
		return i, err
	}
	other, err := pldDelta(p.added, epsilon, a.options)
	if err != nil {
		return Interval{}, err
	}
	return larger(i, other), nil
}

// pldEpsilon answers in one direction. An upper end of +Inf is an answer only where the lower
// end is as well.
func pldEpsilon(rs []releasePair, delta float64, o pld.Options) (Interval, error) {
	i, err := pldOne(rs, func(parts []pld.Part) (pld.Interval, error) { return pld.Epsilon(parts, delta, o) })
	if err == nil && math.IsInf(i.Upper, 1) && !math.IsInf(i.Lower, 1) {
		return Interval{}, fmt.Errorf("%w: pld: δ = %v is below what rounding leaves of it", ErrUncertified, delta)
	}
	return i, err
}

// pldDelta answers in one direction.
func pldDelta(rs []releasePair, epsilon float64, o pld.Options) (Interval, error) {
	return pldOne(rs, func(parts []pld.Part) (pld.Interval, error) { return pld.Delta(parts, epsilon, o) })
}

// pldOne asks in one direction.
func pldOne(rs []releasePair, ask func([]pld.Part) (pld.Interval, error)) (Interval, error) {
	if len(rs) == 0 {
		return Interval{}, nil
	}
	var parts []pld.Part
	for _, r := range rs {
		parts = append(parts, pld.Part{Pair: r.pair, Count: r.count})
	}
	i, err := ask(parts)
	if errors.Is(err, pld.ErrTooFine) {
		err = fmt.Errorf("%w: %w", ErrUncertified, err)
	}
	if err != nil {
		return Interval{}, err
	}
	return Interval(i), nil
}
