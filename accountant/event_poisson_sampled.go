package accountant

import "fmt"

// PoissonSampled is Event applied to a random subset of the records: each record is in the subset
// independently of all others and of earlier subsets with probability SamplingProbability, in [0,
// 1]. Shuffled or fixed-size batches are not Poisson samples and must not be described as such.
type PoissonSampled struct {
	SamplingProbability float64 // q
	Event               Event
}

func (e PoissonSampled) String() string {
	return fmt.Sprintf("PoissonSampled(q=%v, %v)", e.SamplingProbability, e.Event)
}

func (e PoissonSampled) simplest() (Event, error) {
	simplest, err := simplestSample(e, e.SamplingProbability == 0)
	if all, ok := simplest.(PoissonSampled); ok && e.SamplingProbability == 1 {
		return all.Event, nil
	}
	return simplest, err
}

func (e PoissonSampled) sampled() Event             { return e.Event }
func (e PoissonSampled) holding(inside Event) Event { e.Event = inside; return e }

func (e PoissonSampled) seenBy(size int) (Event, error) {
	return PoissonSampledGroup{e.SamplingProbability, size, e.Event}, nil
}

func (e *PoissonSampled) parameters() []parameter {
	return []parameter{
		within("sampling_probability", &e.SamplingProbability, probability),
		inside(&e.Event),
	}
}
