package release

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/random"
)

// noiseSchedules are all schedules, set in several ways; every one passes the contract.
var noiseSchedules = []NoiseSchedule{&ConstantNoise{}, &LinearNoise{FinalFactor: 0.25}, &LinearNoise{FinalFactor: 1}, &LinearNoise{FinalFactor: 4}}

// The contract of NoiseSchedule: it begins at 1, stays positive, has few values, and keeps the last
// one after the end; event and deviation of its mechanism follow one multiplier.
func TestNoiseSchedules(t *testing.T) {
	tested := map[string]bool{}
	for _, s := range noiseSchedules {
		tested[s.Name()] = true
		for _, steps := range []int{1, 2, 15, 16, 17, 1000} {
			const first = 1.5
			m := must(NewScheduled(s, first, steps, nil))
			values := map[float64]bool{}
			for step := range 2 * steps {
				factor := s.Factor(step, steps)
				values[factor] = true
				if !(factor > 0) || step == 0 && factor != 1 || step >= steps && factor != s.Factor(steps-1, steps) {
					t.Errorf("%s %+v: factor of step %d of %d is %g", s.Name(), s, step, steps, factor)
				}
				if want := (accountant.Gaussian{NoiseMultiplier: first * factor}); m.Event(step) != accountant.Event(want) {
					t.Errorf("%s: event of step %d is %v, expected %v", s.Name(), step, m.Event(step), want)
				}
				if want := first * factor * 0.3; m.Deviation(step, 0.3) < want || m.Deviation(step, 0.3) > want*(1+1e-15) {
					t.Errorf("%s: deviation of step %d is %v, expected %v", s.Name(), step, m.Deviation(step, 0.3), want)
				}
			}
			if len(values) > NoiseStages {
				t.Errorf("%s: %d steps have %d noise multipliers, expected at most %d", s.Name(), steps, len(values), NoiseStages)
			}
		}
	}
	for _, name := range NoiseSchedules().Names() {
		if !tested[name] {
			t.Errorf("noise schedule %q has no row in noiseSchedules", name)
		}
	}
	last := LinearNoise{FinalFactor: 0.25}.Factor(999, 1000)
	if !(math.Abs(last-0.25) <= 1e-15) {
		t.Errorf("the last factor is %v, expected 0.25", last)
	}
}

// Each step gets its own noise, in whatever order steps are released: the variance of 200,000 draws
// is off by more than limit·sqrt(2/n) = 1.4 % with a probability of 1e-5 a step.
func TestScheduledNoiseIsThatOfTheStep(t *testing.T) {
	const steps, first, bound = 4, 2.0, 0.5
	m := must(NewScheduled(&LinearNoise{FinalFactor: 0.1}, first, steps, nil))
	src := random.ForTest(3)
	for _, step := range []int{0, 3, 1, 2, 0} {
		sum, clean := known(bound)
		var square float64
		for i, v := range published(t, seeded{m, src}, step, sum) {
			square += (v - clean[i]) * (v - clean[i])
		}
		sigma := m.Event(step).(accountant.Gaussian).NoiseMultiplier * bound
		if ratio := square / batteryDim / (sigma * sigma); !(math.Abs(ratio-1) <= limit*math.Sqrt(2.0/batteryDim)) {
			t.Errorf("step %d: the variance is %.4f of that of the event", step, ratio)
		}
	}
}

// A plan describes its schedule to accountants event by event.
func TestPlanOfScheduledNoise(t *testing.T) {
	m := must(NewScheduled(&LinearNoise{FinalFactor: 0.5}, 1, 32, nil))
	p := Plan{Records: 5, Sampler: data.Poisson{SamplingProbability: 0.25}, Policy: clip.Flat{ClipNorm: 1}, Mechanism: m}
	l, err := p.Schedule(32)
	if err != nil || len(l.Entries()) != NoiseStages || l.Count() != 32 || l.Entries()[1] != (accountant.Entry{Event: p.Event(2), Count: 2}) {
		t.Errorf("found %v, %v, expected 16 entries of 2", l, err)
	}
	if l, err := p.Schedule(0); err != nil || l.Count() != 0 {
		t.Errorf("no releases: %v, %v", l, err)
	}
	if words := m.String(); !strings.Contains(words, "σ = 1 in the first step, 0.5 in the last of 32, linear between them") {
		t.Errorf("the mechanism is described as %q", words)
	}
}

// Noise that never changes has one event, however many releases are planned: nobody waits for
// 10^12.
func TestPlanOfConstantNoise(t *testing.T) {
	for _, s := range []NoiseSchedule{&ConstantNoise{}, &LinearNoise{FinalFactor: 0.5}} {
		m := must(NewScheduled(s, 1, 32, nil))
		if constant := m.Event(0) == m.Event(31); m.Constant() != constant {
			t.Errorf("%s: Constant is %t, expected %t", s.Name(), m.Constant(), constant)
		}
	}
	m := must(NewGaussian(1, nil))
	p := Plan{Records: 5, Sampler: data.Poisson{SamplingProbability: 0.25}, Policy: clip.Flat{ClipNorm: 1}, Mechanism: m}
	l, err := p.Schedule(1e12)
	if want := []accountant.Entry{{Event: p.Event(7), Count: 1e12}}; err != nil || !slices.Equal(l.Entries(), want) {
		t.Errorf("found %v, %v, expected %v", l, err, want)
	}
}

// vanishing is a schedule that is wrong: no noise after the first step.
type vanishing struct{}

func (vanishing) Name() string { return "vanishing" }
func (vanishing) Factor(step, _ int) float64 {
	if step > 0 {
		return 0
	}
	return 1
}

func TestScheduledRefuses(t *testing.T) {
	for _, s := range []NoiseSchedule{&LinearNoise{}, &LinearNoise{FinalFactor: -1}, &LinearNoise{FinalFactor: math.NaN()}} {
		if _, err := NewScheduled(s, 1, 5, nil); !errors.Is(err, ErrPlan) {
			t.Errorf("%+v: error is %v, expected %v", s, err, ErrPlan)
		}
	}
	if _, err := NewScheduled(&LinearNoise{FinalFactor: 0.5}, 0, 5, nil); !errors.Is(err, ErrPlan) {
		t.Errorf("no noise: error is %v, expected %v", err, ErrPlan)
	}
	for step, m := range map[int]*Gaussian{1: must(NewScheduled(vanishing{}, 1, 5, nil)), 4: must(NewScheduled(&LinearNoise{FinalFactor: 100}, MaxNoiseMultiplier, 5, nil))} {
		err := m.Privatize(step, emptySum(1, 3), nil, func(Noisy) { t.Error("a sum left without noise, or with noise of no known law") })
		if !errors.Is(err, ErrPlan) {
			t.Errorf("a step of noise multiplier %v: error is %v, expected %v", m.at(step), err, ErrPlan)
		}
	}
}
