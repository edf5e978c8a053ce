package optimizer

import (
	"fmt"
	"math"

	"dpsgd/internal/setting"
)

// Average is a mean of the parameters after the steps of a run, which is evaluated and written in
// place of the last ones. Gradients are still taken at the parameters themselves. Where noise is
// large a mean lies closer to a minimum than the last step does, and it costs no privacy: it is
// post-processing. One that can be set lists its arguments ([setting.Arguments]).
type Average interface {
	// Name returns the average's name in configs.
	Name() string
	// Weight returns how far the mean moves toward the parameters after step t of steps, 1 <= t: in
	// [0, 1], where 1 forgets everything before. It is a function of public numbers alone.
	Weight(t, steps int) float64
}

// Averages returns every average that a configuration can name: to add one, write it and add its
// kind here. An argument of the same name is the same key of a configuration, as in [UpdateRules].
func Averages() setting.Kinds[Average] { return setting.Kinds[Average]{noAverage, ema, tail} }

// NoAverage takes the last parameters as they are.
type NoAverage struct{}

var noAverage = setting.KindOf(func() Average { return &NoAverage{} })

func (*NoAverage) Name() string            { return "none" }
func (*NoAverage) Weight(int, int) float64 { return 1 }

// EMA is the exponential moving average, with the warm-up that De et al. (arXiv:2204.13650) use for
// private training: mean = d·mean + (1-d)·parameters with d = min(Decay, (1+t)/(10+t)).
// So the parameters that training began with are forgotten within a few steps, and a run of fewer
// than 9/(1-Decay) steps averages about its last tenth.
type EMA struct {
	Decay float64 // in [0, 1)
}

var ema = setting.KindOf(func() Average { return &EMA{Decay: 0.9999} })

func (*EMA) Name() string { return "ema" }

func (a *EMA) Arguments() []setting.Argument {
	return []setting.Argument{decay("average_decay", "How much of the average is kept in a step; less in the first steps.", &a.Decay, "ema_decay")}
}

func (a *EMA) Weight(t, _ int) float64 { return 1 - math.Min(a.Decay, (1+float64(t))/(10+float64(t))) }

// Tail averages the parameters of the last planned steps (Rakhlin, Shamir, Sridharan,
// arXiv:1109.5647, α-suffix averaging). A run that ends before them keeps its last parameters.
type Tail struct {
	Fraction float64 // of all steps, rounded up, in (0, 1]
}

var tail = setting.KindOf(func() Average { return &Tail{Fraction: 0.5} })

func (*Tail) Name() string { return "tail" }

func (a *Tail) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "average_fraction", Doc: "The last part of the planned steps, over which the mean is taken.",
		Format: setting.Number{Min: 0, Max: 1, OpenMin: true}, Value: &a.Fraction}}
}

func (a *Tail) Weight(t, steps int) float64 {
	before := steps - int(math.Ceil(float64(steps)*a.Fraction))
	return 1 / float64(max(1, t-before))
}

// Mean is the mean of a run's parameters so far. That of [NoAverage] is nil, and remembers nothing.
type Mean struct {
	average Average
	steps   int
	values  []float32
}

// meanSlot is the name of the mean among the vectors of a checkpoint.
const meanSlot = "average"

// NewMean returns the mean before the first step of a run of steps: a copy of the parameters, or
// nil for [NoAverage]. The error wraps [ErrRule].
func NewMean(a Average, parameters []float32, steps int) (*Mean, error) {
	if a == nil {
		return nil, fmt.Errorf("optimizer: average is nil, expected one of %v: %w", Averages().Names(), ErrRule)
	}
	if err := setting.Check("the average "+a.Name(), a); err != nil {
		return nil, fmt.Errorf("optimizer: %w: %w", err, ErrRule)
	}
	if _, none := a.(*NoAverage); none {
		return nil, nil
	}
	return &Mean{average: a, steps: steps, values: append([]float32(nil), parameters...)}, nil
}

// Add moves the mean toward the parameters, which are those after step number t, counted from 1.
func (m *Mean) Add(parameters []float32, t int) {
	if m == nil {
		return
	}
	weight := m.average.Weight(t, m.steps)
	for i, p := range parameters {
		mean := float64(m.values[i])
		m.values[i] = float32(mean + weight*(float64(p)-mean))
	}
}

// InPlaceOf calls do while parameters hold the mean, and then gives them their own values back.
func (m *Mean) InPlaceOf(parameters []float32, do func() error) error {
	if m == nil {
		return do()
	}
	m.exchange(parameters)
	defer m.exchange(parameters)
	return do()
}

func (m *Mean) exchange(parameters []float32) {
	for i := range parameters {
		parameters[i], m.values[i] = m.values[i], parameters[i]
	}
}

// Keep puts the mean among the slots of a checkpoint, which is written before the next Add or
// InPlaceOf: it is not a copy.
func (m *Mean) Keep(slots map[string][]float32) {
	if m != nil {
		slots[meanSlot] = m.values
	}
}

// Restore moves the mean out of the slots of a checkpoint, so that it continues bit for bit. An
// error, which wraps [ErrState], changes nothing.
func (m *Mean) Restore(slots map[string][]float32) error {
	if m == nil {
		return nil
	}
	values, found := slots[meanSlot]
	if !found || len(values) != len(m.values) {
		return fmt.Errorf("optimizer: state has %d values of the average %s, expected %d: %w", len(values), m.average.Name(), len(m.values), ErrState)
	}
	copy(m.values, values)
	delete(slots, meanSlot)
	return nil
}
