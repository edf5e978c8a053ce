package optimizer

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestScheduleTables(t *testing.T) {
	for _, c := range []struct {
		name string
		spec Schedule
		want map[int]float64
	}{
		{"constant", Schedule{Curve: &Constant{}, Peak: 0.5, Steps: 1000},
			map[int]float64{-1: 0.5, 0: 0.5, 1: 0.5, 1e9: 0.5}},
		{"constant with warm-up", Schedule{Curve: &Constant{}, Peak: 0.4, WarmupSteps: 4, Steps: 1000},
			map[int]float64{-1: 0.1, 0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4, 4: 0.4, 1000: 0.4}},
		{"cosine", Schedule{Curve: &Cosine{}, Peak: 2, Steps: 101},
			map[int]float64{0: 2, 25: 1 + math.Sqrt2/2, 50: 1, 75: 1 - math.Sqrt2/2, 100: 0, 101: 0, 500: 0}},
		{"cosine to a tenth after warm-up", Schedule{Curve: &Cosine{FinalFactor: 0.1}, Peak: 1, Steps: 21, WarmupSteps: 10},
			map[int]float64{0: 0.1, 4: 0.5, 9: 1, 10: 1, 15: 0.55, 20: 0.1, 99: 0.1}},
		{"cosine to one", Schedule{Curve: &Cosine{FinalFactor: 1}, Peak: 3, Steps: 10},
			map[int]float64{0: 3, 5: 3, 9: 3}},
		{"cosine of one step", Schedule{Curve: &Cosine{}, Peak: 3, Steps: 1}, map[int]float64{0: 3, 1: 3}},
		{"linear", Schedule{Curve: &Linear{}, Peak: 2, Steps: 101},
			map[int]float64{0: 2, 25: 1.5, 50: 1, 75: 0.5, 99: 0.02, 100: 0, 500: 0}},
		{"linear to a fifth after warm-up", Schedule{Curve: &Linear{FinalFactor: 0.2}, Peak: 1, Steps: 21, WarmupSteps: 10},
			map[int]float64{0: 0.1, 9: 1, 10: 1, 15: 0.6, 20: 0.2, 99: 0.2}},
		{"linear of one step", Schedule{Curve: &Linear{}, Peak: 3, Steps: 1}, map[int]float64{0: 3, 1: 3}},
		{"step", Schedule{Curve: &Step{StepEvery: 3, StepFactor: 0.5}, Peak: 8, Steps: 1000},
			map[int]float64{0: 8, 2: 8, 3: 4, 5: 4, 6: 2, 9: 1, 30: 8.0 / 1024}},
		{"step after warm-up", Schedule{Curve: &Step{StepEvery: 3, StepFactor: 0.5}, Peak: 8, Steps: 9, WarmupSteps: 2},
			map[int]float64{0: 4, 1: 8, 2: 8, 4: 8, 5: 4, 7: 4, 8: 2, 9: 2, 100: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, c.spec.Check())
			for step, want := range c.want {
				if got := c.spec.LearningRate(step); !(math.Abs(got-want) <= 1e-12) {
					t.Errorf("LearningRate(%d) = %.15g, want %.15g", step, got, want)
				}
			}
		})
	}
}

// curves are all curves, set in several ways; every one passes the contract.
var curves = []Curve{&Constant{}, &Cosine{}, &Cosine{FinalFactor: 0.2}, &Step{StepEvery: 5, StepFactor: 0.7}, &Linear{}, &Linear{FinalFactor: 0.2}}

// The contract of Curve: every rate is one that an Update accepts, none is above the peak, and
// warm-up ends at the peak.
func TestScheduleRatesAreInRange(t *testing.T) {
	tested := map[string]bool{}
	for _, curve := range curves {
		tested[curve.Name()] = true
		for _, warmup := range []int{0, 1, 7, 49} {
			spec := Schedule{Curve: curve, Peak: 0.3, Steps: 50, WarmupSteps: warmup}
			check(t, spec.Check())
			for step := range 60 {
				if rate := spec.LearningRate(step); !(rate >= 0 && rate <= spec.Peak) {
					t.Errorf("%s %+v: LearningRate(%d) = %g", curve.Name(), spec, step, rate)
				}
			}
			if peak := spec.LearningRate(max(0, warmup-1)); !(math.Abs(peak-spec.Peak) <= 1e-15) {
				t.Errorf("%s %+v: warm-up ends at %g", curve.Name(), spec, peak)
			}
		}
	}
	for _, name := range Curves().Names() {
		if !tested[name] {
			t.Errorf("schedule %q has no row in curves", name)
		}
	}
}

func TestScheduleCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		spec Schedule
		says string
	}{
		{Schedule{}, "schedule has no curve, expected one of [constant cosine step linear]"},
		{Schedule{Curve: &Constant{}, Steps: 1000}, "learning rate of the constant schedule is 0"},
		{Schedule{Curve: &Constant{}, Peak: -1, Steps: 1000}, "learning rate of the constant schedule is -1"},
		{Schedule{Curve: &Constant{}, Peak: math.NaN(), Steps: 1000}, "learning rate of the constant schedule is NaN"},
		{Schedule{Curve: &Constant{}, Peak: math.Inf(1), Steps: 1000}, "learning rate of the constant schedule is +Inf"},
		{Schedule{Curve: &Constant{}, Peak: 1, Steps: -1}, "number of steps of the constant schedule is -1"},
		{Schedule{Curve: &Constant{}, Peak: 1, WarmupSteps: -1, Steps: 1000}, "number of warm-up steps of the constant schedule is -1"},
		{Schedule{Curve: &Constant{}, Peak: 1, Steps: 5, WarmupSteps: 5}, "number of warm-up steps of the constant schedule is 5, must be smaller than the 5 steps"},
		{Schedule{Curve: &Cosine{}, Peak: 1}, "number of steps of the cosine schedule is 0"},
		{Schedule{Curve: &Cosine{FinalFactor: 1.1}, Peak: 1, Steps: 5}, "final_factor of the cosine schedule is 1.1"},
		{Schedule{Curve: &Cosine{FinalFactor: math.NaN()}, Peak: 1, Steps: 5}, "final_factor of the cosine schedule is NaN"},
		{Schedule{Curve: &Linear{FinalFactor: -0.1}, Peak: 1, Steps: 5}, "final_factor of the linear schedule is -0.1"},
		{Schedule{Curve: &Step{StepFactor: 0.5}, Peak: 1, Steps: 1000}, "step_every of the step schedule is 0"},
		{Schedule{Curve: &Step{StepEvery: 1}, Peak: 1, Steps: 1000}, "step_factor of the step schedule is 0"},
		{Schedule{Curve: &Step{StepEvery: 1, StepFactor: 1.5}, Peak: 1, Steps: 1000}, "step_factor of the step schedule is 1.5"},
	} {
		err := c.spec.Check()
		if !errors.Is(err, ErrSchedule) {
			t.Errorf("Check of %+v = %v, want an error that wraps %v", c.spec, err, ErrSchedule)
		} else if !strings.HasPrefix(err.Error(), "optimizer: "+c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Check of %+v: error %q, want one line that begins %q", c.spec, err, "optimizer: "+c.says)
		}
	}
}

// With momentum and without, what the noise of each step does to a parameter has, over all steps,
// the standard deviation that was asked for: the update rule itself says so, given the noise of one
// step at a time.
func TestScheduleWithNoise(t *testing.T) {
	const target, steps = 1.7, 40
	deviation := func(step int) float64 { return 8 + float64(step) }
	for momentum, rule := range map[float64]UpdateRule{0: &SGD{}, 0.9: &Momentum{Momentum: 0.9}} {
		s := Schedule{Curve: &Linear{}, Peak: 7, Steps: steps, WarmupSteps: 3}.WithNoise(target, deviation, momentum)
		check(t, s.Check())
		variance := 0.0
		for noisy := range steps {
			update := must(NewUpdate(rule, 1, 1))(t)
			parameter := []float32{0}
			for step := range steps {
				g := bare(t, 0)
				if step == noisy {
					g = bare(t, float32(deviation(step)))
				}
				apply(t, update, parameter, g, 1, s.LearningRate(step))
			}
			variance += float64(parameter[0]) * float64(parameter[0])
		}
		if found := math.Sqrt(variance); !(math.Abs(found-target) <= 1e-5*target) {
			t.Errorf("momentum %v: the noise leaves a deviation of %v, expected %v", momentum, found, target)
		}
	}
}

func ExampleSchedule() {
	schedule := Schedule{Curve: &Cosine{FinalFactor: 0.1}, Peak: 1, Steps: 7, WarmupSteps: 2}
	if err := schedule.Check(); err != nil {
		panic(err)
	}
	for step := range 7 {
		fmt.Printf("%.3f ", schedule.LearningRate(step))
	}
	// Output: 0.500 1.000 1.000 0.868 0.550 0.232 0.100
}
