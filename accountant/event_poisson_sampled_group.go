package accountant

import "fmt"

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

// seenBy returns the event of a group of groups.
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
