package accountant

import "fmt"

// PoissonSampledGroup is PoissonSampled seen by GroupSize records that belong
// together, such as the pictures of one person: neighbouring datasets differ in all of
// them. See Group.
type PoissonSampledGroup struct {
	SamplingProbability float64
	GroupSize           int
	Event               Event
}

// FixedSizeSampled is Event applied to a subset of exactly BatchSize records, drawn
// uniformly without replacement from DatasetSize, independently of earlier subsets. It
// is defined for ReplaceOne: the size of the dataset counts as known.
type FixedSizeSampled struct {
	DatasetSize int
	BatchSize   int
	Event       Event
}

// TruncatedPoissonSampled is PoissonSampled on DatasetSize records, where a subset of more
// than MaxBatchSize records is cut down to that size uniformly at random.
type TruncatedPoissonSampled struct {
	DatasetSize         int
	SamplingProbability float64
	MaxBatchSize        int
	Event               Event
}

func (PoissonSampledGroup) isEvent()     {}
func (FixedSizeSampled) isEvent()        {}
func (TruncatedPoissonSampled) isEvent() {}

// String writes the event like its formula.
func (e PoissonSampledGroup) String() string {
	return fmt.Sprintf("PoissonSampledGroup(q=%v, k=%d, %v)", e.SamplingProbability, e.GroupSize, e.Event)
}

// String writes the event like its formula.
func (e FixedSizeSampled) String() string {
	return fmt.Sprintf("FixedSizeSampled(%d of %d, %v)", e.BatchSize, e.DatasetSize, e.Event)
}

// String writes the event like its formula.
func (e TruncatedPoissonSampled) String() string {
	return fmt.Sprintf("TruncatedPoissonSampled(q=%v, n=%d, at most %d, %v)", e.SamplingProbability, e.DatasetSize, e.MaxBatchSize, e.Event)
}

func (e PoissonSampledGroup) validate(depth int) error {
	if err := probability("sampling probability", e.SamplingProbability); err != nil {
		return err
	}
	if err := atLeastOne("group size", e.GroupSize); err != nil {
		return err
	}
	return validate(e.Event, depth+1)
}

func (e FixedSizeSampled) validate(depth int) error {
	if err := atLeastOne("dataset size", e.DatasetSize); err != nil {
		return err
	}
	if e.BatchSize < 0 || e.BatchSize > e.DatasetSize {
		return fmt.Errorf("%w: batch size is %d, must be from 0 to the dataset size %d", ErrInvalid, e.BatchSize, e.DatasetSize)
	}
	return validate(e.Event, depth+1)
}

func (e TruncatedPoissonSampled) validate(depth int) error {
	if err := atLeastOne("dataset size", e.DatasetSize); err != nil {
		return err
	}
	if err := probability("sampling probability", e.SamplingProbability); err != nil {
		return err
	}
	if e.MaxBatchSize < 0 {
		return fmt.Errorf("%w: largest batch size is %d, must be at least 0", ErrInvalid, e.MaxBatchSize)
	}
	return validate(e.Event, depth+1)
}
