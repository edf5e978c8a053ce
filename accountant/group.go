package accountant

import (
	"fmt"
	"math"
)

// Group returns the ledger as it is seen by size records that belong together, such as all pictures
// of one person: what any accountant answers for it holds for datasets that differ in all of them,
// each in the way the relation names. The entries are
//
//	Gaussian, Laplace,
//	DiscreteLaplace           with 1/size of the noise: together they move a sum size
//	                          times as far
//	TreeAggregation           likewise: a path of nodes for each record, worst where all
//	                          are in one sum and the paths coincide
//	PoissonSampled            PoissonSampledGroup: of the records each is in the sample
//	                          or not independently (Ganesh 2024, arXiv:2401.10294)
//	RandomizedResponse        size of them: every record gives its own answer
//	DiscreteGaussian          with 1/size of the noise, as of records in several coordinates
//	BoundedRange              with size times the Range
//	ApproxDP, AddOrRemoveDP   with size·ε and δ(e^{size·ε}-1)/(e^ε-1), see numeric.Group
//	ZCDP                      with size²·ρ (Bun, Steinke 2016, arXiv:1605.02065, Proposition 1.9)
//	RepeatAndSelect           of what the group sees of its event: the theorem is about
//	                          any two datasets
//
// and compositions part by part; NonPrivate stays. Size is at least 1; for 1 the ledger is copied.
// The error for other events matches ErrUnsupported, that for a wrong argument ErrInvalid.
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
		e, err := entry.Event.seenBy(size)
		if err != nil {
			return nil, fmt.Errorf("ledger entry %d: %w", i, err)
		}
		if err := seen.Add(e, entry.Count); err != nil {
			return nil, fmt.Errorf("ledger entry %d for groups of %d: %w", i, size, err)
		}
	}
	return &seen, nil
}

// noGroups refuses an event whose cost to a group of records is not known.
func noGroups(e Event, size int) (Event, error) {
	return nil, fmt.Errorf("%w: groups of %d records in %v", ErrUnsupported, size, e)
}

// shareDown returns x/n rounded down, so that no noise is overstated.
func shareDown(x float64, n int) float64 {
	share := x / float64(n)
	if math.FMA(share, float64(n), -x) > 0 || n > 1<<53 || share < 0x1p-900 && share > 0 {
		return math.Nextafter(share*(1-0x1p-50), 0)
	}
	return share
}
