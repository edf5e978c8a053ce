package accountant

import "fmt"

// PoissonSampled is Event applied to a random subset of the records: each record is in the subset
// independently of all others and of earlier subsets with probability SamplingProbability, in [0,
// 1]. Shuffled or fixed-size batches are not Poisson samples and must not be described as such.
type PoissonSampled struct {
	SamplingProbability float64 // q
	Event               Event
}

// String writes the event like its formula.
func (e PoissonSampled) String() string {
	return fmt.Sprintf("PoissonSampled(q=%v, %v)", e.SamplingProbability, e.Event)
}

func (e PoissonSampled) simplest() (Event, error) {
	return simplestSample(e.Event, e.SamplingProbability == 0, func(inside Event) (Event, error) {
		if e.SamplingProbability == 1 {
			return inside, nil
		}
		return PoissonSampled{e.SamplingProbability, inside}, nil
	})
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
