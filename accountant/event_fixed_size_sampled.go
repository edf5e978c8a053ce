package accountant

import "fmt"

// FixedSizeSampled is Event applied to a subset of exactly BatchSize records, drawn uniformly
// without replacement from DatasetSize, independently of earlier subsets. It is defined for
// ReplaceOne: the size of the dataset counts as known.
type FixedSizeSampled struct {
	DatasetSize int
	BatchSize   int
	Event       Event
}

func (e FixedSizeSampled) String() string {
	return fmt.Sprintf("FixedSizeSampled(%d of %d, %v)", e.BatchSize, e.DatasetSize, e.Event)
}

func (e FixedSizeSampled) simplest() (Event, error) {
	return simplestSample(e, e.BatchSize == 0)
}

func (e FixedSizeSampled) sampled() Event             { return e.Event }
func (e FixedSizeSampled) holding(inside Event) Event { e.Event = inside; return e }

func (FixedSizeSampled) relation() Relation { return ReplaceOne }

func (e FixedSizeSampled) seenBy(size int) (Event, error) { return noGroups(e, size) }

func (e FixedSizeSampled) batch(name string, size int) error {
	if size < 0 || size > e.DatasetSize {
		return fmt.Errorf("%w: %s is %d, must be from 0 to the dataset size %d", ErrInvalid, name, size, e.DatasetSize)
	}
	return nil
}

func (e *FixedSizeSampled) parameters() []parameter {
	return []parameter{
		within("dataset_size", &e.DatasetSize, atLeast(1)),
		within("batch_size", &e.BatchSize, e.batch),
		inside(&e.Event),
	}
}
