package accountant

import "fmt"

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

func (e TruncatedPoissonSampled) sampled() Event             { return e.Event }
func (e TruncatedPoissonSampled) holding(inside Event) Event { e.Event = inside; return e }

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
