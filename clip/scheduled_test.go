package clip

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"dpsgd/internal/random"
)

// schedules are all clip schedules, set in several ways; every one passes the contract.
var schedules = []Schedule{&ConstantNorm{}, &LinearNorm{FinalFactor: 0.25}, &LinearNorm{FinalFactor: 4}, &LinearNorm{FinalFactor: 1},
	&CosineNorm{FinalFactor: 0.01}, &CosineNorm{FinalFactor: 100}}

// The contract of Schedule: a schedule begins at 1, stays positive, and has the last value after
// the end.
func TestClipSchedules(t *testing.T) {
	tested := map[string]bool{}
	for _, s := range schedules {
		tested[s.Name()] = true
		for _, steps := range []int{1, 2, 15, 1000} {
			for step := range 2 * steps {
				if factor := s.Factor(step, steps); !(factor > 0) || step == 0 && factor != 1 || step >= steps && factor != s.Factor(steps-1, steps) {
					t.Errorf("%s %+v: factor of step %d of %d is %g", s.Name(), s, step, steps, factor)
				}
			}
		}
	}
	for _, name := range Schedules().Names() {
		if !tested[name] {
			t.Errorf("clip schedule %q has no row in schedules", name)
		}
	}
	for _, c := range []struct {
		schedule Schedule
		want     map[int]float64
	}{
		{&LinearNorm{FinalFactor: 0.5}, map[int]float64{0: 1, 25: 0.875, 50: 0.75, 100: 0.5, 500: 0.5}},
		{&LinearNorm{FinalFactor: 3}, map[int]float64{0: 1, 50: 2, 100: 3}},
		{&CosineNorm{FinalFactor: 0.5}, map[int]float64{0: 1, 25: 0.75 + math.Sqrt2/8, 50: 0.75, 75: 0.75 - math.Sqrt2/8, 100: 0.5, 500: 0.5}},
	} {
		for step, want := range c.want {
			if got := c.schedule.Factor(step, 101); !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s %+v: factor of step %d is %g, expected %g", c.schedule.Name(), c.schedule, step, got, want)
			}
		}
	}
}

// The contract of Stepping: in every step the bound is the same, nothing passes it, a gradient that
// is clipped uses all of it but the margin, and Unit gives back the gradient clipped to the norm of
// the step.
func TestScheduledPoliciesKeepTheirBound(t *testing.T) {
	const bound, steps = 0.7, 11
	src := random.Seeded(11)
	for _, scheme := range []Scheme{&Flat{}, &PerLayer{}} {
		for _, schedule := range schedules[1:] {
			policy, err := NewScheduled(scheme, bound, schedule, steps)
			if err != nil || policy.Name() != scheme.Name() || !strings.HasPrefix(policy.String(), scheme.Name()+":") {
				t.Fatalf("%s, %s: %v, %v", scheme.Name(), schedule.Name(), policy, err)
			}
			moving := policy.(Stepping)
			for step := range steps + 2 {
				moving.Begin(step)
				c := bound * schedule.Factor(step, steps)
				if policy.Bound() != bound || moving.ClipNorm() != c || moving.At(step) != c || !(math.Abs(moving.Unit()*bound/c-1) <= 1e-15) {
					t.Errorf("%s, %s, step %d: bound %g, clip norm %g, unit %g", scheme.Name(), schedule.Name(), step, policy.Bound(), moving.ClipNorm(), moving.Unit())
				}
				for _, norm := range []float64{0, 1e-9, 0.5 * c, c * (1 - 0x1p-11), c, 2 * c, 1e9} {
					factor := []float32{7}
					policy.Factors(factor, []float64{norm * norm})
					length := float64(factor[0]) * norm
					if length > bound*(1-margin)*(1+0x1p-40) {
						t.Errorf("%s, step %d: norm %g has the length %.9g of the bound", schedule.Name(), step, norm, length/bound)
					}
					if want := math.Min(norm, c*(1-margin)); !(math.Abs(moving.Unit()*length-want) <= 0x1p-22*want) {
						t.Errorf("%s, step %d: norm %g is clipped to %g, expected %g", schedule.Name(), step, norm, moving.Unit()*length, want)
					}
				}
				if layered, ok := policy.(Layered); ok != (scheme.Name() == "per_layer") {
					t.Errorf("%s: layers by themselves: %v", scheme.Name(), ok)
				} else if ok {
					found, want := []float32{7, 7, 7}, []float32{7, 7, 7}
					squares := []float64{c * c, c * c * src.Float64(), math.NaN()}
					layered.LayerFactors(found, squares, 3)
					if (PerLayer{c}).LayerFactors(want, squares, 3); found[0] != want[0] || found[1] != want[1] || found[2] != 0 {
						t.Errorf("step %d: layers have the factors %v, expected %v", step, found, want)
					}
				}
				sum := newSumOf(t, policy, 24, nil)
				e := draw(shape{rows: 24}, 1, 100*c, src)
				moved := sumOf(t, sum, e.batch(), 1)
				checkMoved(t, schedule.Name(), sum.lattice, moved, make([]int64, 24))
				var square float64
				for _, v := range moved {
					square += float64(v) * float64(v)
				}
				if length := math.Sqrt(square) * sum.Lattice().Spacing / bound; length < 0.999 {
					t.Errorf("%s, step %d: a long gradient moves the sum by %.3g of its bound", schedule.Name(), step, length)
				}
			}
		}
	}
}

func TestNewScheduledRefuses(t *testing.T) {
	for _, kind := range Policies() {
		policy, err := NewScheduled(kind.New(), 1, &ConstantNorm{}, 10)
		if err != nil || policy.Name() != kind.Name {
			t.Errorf("%s with a constant norm is %v, %v", kind.Name, policy, err)
		}
		if _, stepping := policy.(Stepping); stepping {
			t.Errorf("%s with a constant norm has steps", kind.Name)
		}
		_, err = NewScheduled(kind.New(), 1, &LinearNorm{FinalFactor: 0.5}, 10)
		if fits := kind.Name == "flat" || kind.Name == "per_layer"; fits != (err == nil) || !fits && !errors.Is(err, ErrPolicy) {
			t.Errorf("%s with a falling norm: %v", kind.Name, err)
		}
	}
	for _, schedule := range []Schedule{&LinearNorm{}, &CosineNorm{FinalFactor: math.NaN()}, &LinearNorm{FinalFactor: -1}} {
		if _, err := NewScheduled(&Flat{}, 1, schedule, 10); !errors.Is(err, ErrPolicy) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %+v: error is %v, want a line that wraps %v", schedule.Name(), schedule, err, ErrPolicy)
		}
	}
	if _, err := NewScheduled(&Flat{}, 0, &LinearNorm{FinalFactor: 0.5}, 10); !errors.Is(err, ErrClipNorm) {
		t.Errorf("clip norm 0: error is %v, want %v", err, ErrClipNorm)
	}
	// At the end of the range the schedule stops.
	policy, err := NewScheduled(&Flat{}, 2*MinClipNorm, &LinearNorm{FinalFactor: 0.01}, 10)
	if err != nil || policy.(Stepping).At(9) != MinClipNorm {
		t.Errorf("the last clip norm is %v (%v), expected %g", policy, err, MinClipNorm)
	}
}

// A clip norm that falls to a half: what a long gradient adds to the sum keeps its length, and Unit
// tells how long it was.
func ExampleNewScheduled() {
	policy, err := NewScheduled(&Flat{}, 1, &LinearNorm{FinalFactor: 0.5}, 101)
	if err != nil {
		panic(err)
	}
	moving := policy.(Stepping)
	for _, step := range []int{0, 50, 100} {
		moving.Begin(step)
		factor := make([]float32, 1)
		moving.Factors(factor, []float64{10 * 10})
		length := float64(factor[0]) * 10
		fmt.Printf("step %d: clip norm %.2f, in the sum %.3f, as a gradient %.3f\n", step, moving.ClipNorm(), length, length*moving.Unit())
	}
	// Output:
	// step 0: clip norm 1.00, in the sum 1.000, as a gradient 1.000
	// step 50: clip norm 0.75, in the sum 1.000, as a gradient 0.750
	// step 100: clip norm 0.50, in the sum 1.000, as a gradient 0.500
}
