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

func (e FixedSizeSampled) simplest() (Event, error)       { return simplestSample(e, e.BatchSize == 0) }
func (e FixedSizeSampled) sampled() Event                 { return e.Event }
func (e FixedSizeSampled) holding(inside Event) Event     { e.Event = inside; return e }
func (FixedSizeSampled) relation() Relation               { return ReplaceOne }
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

// TruncatedPoissonSampled is PoissonSampled on DatasetSize records, except that a subset of more
// than MaxBatchSize records is replaced by MaxBatchSize of them, drawn uniformly at random.
type TruncatedPoissonSampled struct {
	DatasetSize         int
	SamplingProbability float64
	MaxBatchSize        int
	Event               Event
}

func (e TruncatedPoissonSampled) String() string {
	return fmt.Sprintf("TruncatedPoissonSampled(q=%v, n=%d, at most %d, %v)", e.SamplingProbability, e.DatasetSize, e.MaxBatchSize, e.Event)
}

func (e TruncatedPoissonSampled) simplest() (Event, error) {
	return simplestSample(e, e.SamplingProbability == 0 || e.MaxBatchSize == 0)
}

func (e TruncatedPoissonSampled) sampled() Event                 { return e.Event }
func (e TruncatedPoissonSampled) holding(inside Event) Event     { e.Event = inside; return e }
func (e TruncatedPoissonSampled) seenBy(size int) (Event, error) { return noGroups(e, size) }

func largestBatch(_ string, size int) error { return atLeast(0)("largest batch size", size) }

func (e *TruncatedPoissonSampled) parameters() []parameter {
	return []parameter{
		within("dataset_size", &e.DatasetSize, atLeast(1)),
		within("sampling_probability", &e.SamplingProbability, probability),
		within("max_batch_size", &e.MaxBatchSize, largestBatch),
		inside(&e.Event),
	}
}

// PoissonSampledGroup is PoissonSampled seen by GroupSize records that belong together, such as the
// pictures of one person: neighbouring datasets differ in all of them. See Group.
type PoissonSampledGroup struct {
	SamplingProbability float64
	GroupSize           int
	Event               Event
}

func (e PoissonSampledGroup) String() string {
	return fmt.Sprintf("PoissonSampledGroup(q=%v, k=%d, %v)", e.SamplingProbability, e.GroupSize, e.Event)
}

func (e PoissonSampledGroup) simplest() (Event, error) {
	if e.GroupSize == 1 {
		return PoissonSampled{e.SamplingProbability, e.Event}.simplest()
	}
	simplest, err := simplestSample(e, e.SamplingProbability == 0)
	if all, ok := simplest.(PoissonSampledGroup); ok && e.SamplingProbability == 1 {
		return all.Event.seenBy(e.GroupSize)
	}
	return simplest, err
}

func (e PoissonSampledGroup) sampled() Event             { return e.Event }
func (e PoissonSampledGroup) holding(inside Event) Event { e.Event = inside; return e }

// seenBy returns e for groups of size·GroupSize records: for a group of groups.
func (e PoissonSampledGroup) seenBy(size int) (Event, error) {
	total, err := product(e.GroupSize, size)
	return PoissonSampledGroup{e.SamplingProbability, total, e.Event}, err
}

func (e *PoissonSampledGroup) parameters() []parameter {
	return []parameter{
		within("sampling_probability", &e.SamplingProbability, probability),
		within("group_size", &e.GroupSize, atLeast(1)),
		inside(&e.Event),
	}
}
