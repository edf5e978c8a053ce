package accountant

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Group returns the ledger as size records see it that belong together, such as all
// pictures of one person: what any accountant answers for it holds for datasets that
// differ in all of them, each in the way the relation names. The entries are
//
//	Gaussian, Laplace         with 1/size of the noise: together they move a sum size
//	                          times as far
//	TreeAggregation           likewise: a path of nodes for each record, worst where all
//	                          are in one sum and the paths coincide
//	PoissonSampled            PoissonSampledGroup: of the records each is in the sample
//	                          or not independently (Ganesh 2024, arXiv:2401.10294)
//	RandomizedResponse        size of them: every record gives its own answer
//	ApproxDP                  sizeε and δ(e^{sizeε}-1)/(e^ε-1), see composition.Group
//	ZCDP                      size²ρ (Bun, Steinke 2016, arXiv:1605.02065, Proposition 1.9)
//	RepeatAndSelect           of what the group sees of its event: the theorem is about
//	                          any two datasets
//
// and compositions part by part. Size is at least 1; for 1 the ledger is copied. An error
// matches ErrUnsupported if an event is of another kind, and ErrInvalid if an argument is
// out of range.
func Group(l *Ledger, size int) (*Ledger, error) {
	if l == nil {
		return nil, fmt.Errorf("%w: ledger is nil", ErrInvalid)
	}
	if size < 1 {
		return nil, fmt.Errorf("%w: group size is %d, must be at least 1", ErrInvalid, size)
	}
	if size == 1 {
		return l.Clone(), nil
	}
	var seen Ledger
	for i, entry := range l.entries {
		e, err := groupEvent(entry.Event, size)
		if err != nil {
			return nil, fmt.Errorf("ledger entry %d: %w", i, err)
		}
		if err := seen.Add(e, entry.Count); err != nil {
			return nil, fmt.Errorf("ledger entry %d for groups of %d: %w", i, size, err)
		}
	}
	return &seen, nil
}

// groupEvent returns what size ≥ 2 records see of e.
func groupEvent(e Event, size int) (Event, error) {
	switch e := e.(type) {
	case NonPrivate:
		return e, nil
	case Gaussian:
		return Gaussian{shareDown(e.NoiseMultiplier, size)}, nil
	case Laplace:
		return Laplace{shareDown(e.Scale, size)}, nil
	case TreeAggregation:
		return TreeAggregation{shareDown(e.NoiseMultiplier, size), e.Steps}, nil
	case RandomizedResponse:
		return SelfComposed{e, size}, nil
	case ApproxDP:
		return groupApproxDP(e, size), nil
	case ZCDP:
		return groupZCDP(e, size), nil
	case PoissonSampled:
		return PoissonSampledGroup{e.SamplingProbability, size, e.Event}, nil
	case PoissonSampledGroup: // a group of groups
		total, err := product(e.GroupSize, size)
		return PoissonSampledGroup{e.SamplingProbability, total, e.Event}, err
	case SelfComposed:
		part, err := groupEvent(e.Event, size)
		return SelfComposed{part, e.Count}, err
	case Composed:
		return groupComposed(e, size)
	case RepeatAndSelect:
		part, err := groupEvent(e.Event, size)
		return RepeatAndSelect{part, e.Mean, e.Shape}, err
	}
	return nil, fmt.Errorf("%w: groups of %d records in %v", ErrUnsupported, size, e)
}

func groupComposed(e Composed, size int) (Event, error) {
	var parts []Event
	for _, part := range e.Events() {
		seen, err := groupEvent(part, size)
		if err != nil {
			return nil, err
		}
		parts = append(parts, seen)
	}
	return Compose(parts...)
}

func groupApproxDP(e ApproxDP, size int) Event {
	epsilon, delta := numeric.Group(e.Epsilon, e.Delta, size)
	if math.IsInf(epsilon, 1) {
		return NonPrivate{}
	}
	return ApproxDP{epsilon, delta}
}

func groupZCDP(e ZCDP, size int) Event {
	n := float64(size)
	rho := e.Rho * n * n
	switch {
	case e.Rho == 0:
		return e
	case math.IsInf(rho, 1):
		return NonPrivate{}
	}
	return ZCDP{math.Nextafter(rho*(1+0x1p-50), math.Inf(1))}
}

// shareDown is x/n rounded down, so that no noise is overstated.
func shareDown(x float64, n int) float64 {
	share := x / float64(n)
	if math.FMA(share, float64(n), -x) > 0 || n > 1<<53 || share < 0x1p-900 && share > 0 {
		return math.Nextafter(share*(1-0x1p-50), 0)
	}
	return share
}
