package optimizer

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/random"
)

// averages are all averages, set in several ways; every one passes the contract.
var averages = []Average{&NoAverage{}, &EMA{}, &EMA{Decay: 0.7}, &EMA{Decay: 0.9999}, &Tail{Fraction: 0.5}, &Tail{Fraction: 0.33}, &Tail{Fraction: 1}, &Tail{Fraction: 1e-9}}

// referenceMean is the mean of path[1], …, path[t], the parameters after each step, written out as
// a sum with a weight for each of them.
func referenceMean(a Average, path []float64, t, steps int) float64 {
	switch a := a.(type) {
	case *EMA:
		sum, kept := 0.0, 1.0
		for i := t; i >= 1; i-- {
			d := math.Min(a.Decay, float64(1+i)/float64(10+i))
			sum += kept * (1 - d) * path[i]
			kept *= d
		}
		return sum + kept*path[0]
	case *Tail:
		from := steps - int(math.Ceil(float64(steps)*a.Fraction)) + 1
		if t < from {
			return path[t]
		}
		sum := 0.0
		for _, p := range path[from : t+1] {
			sum += p
		}
		return sum / float64(t-from+1)
	default:
		return path[t]
	}
}

// The contract of Average, for every one: weights are in [0, 1], the mean is the sum that its
// formula says, it can be looked at without changing anything, and a mean from a checkpoint goes on
// bit for bit.
func TestAverages(t *testing.T) {
	const steps, dim = 40, 3
	src := rand.New(random.Seeded(1))
	path := make([][]float32, steps+1)
	coordinate := make([]float64, steps+1)
	for i := range path {
		for range dim {
			path[i] = append(path[i], float32(src.NormFloat64()))
		}
		coordinate[i] = float64(path[i][1])
	}
	tested := map[string]bool{}
	for _, a := range averages {
		tested[a.Name()] = true
		m := must(NewMean(a, path[0], steps))(t)
		for step := 1; step <= steps; step++ {
			if w := a.Weight(step, steps); !(w >= 0 && w <= 1) {
				t.Errorf("%s %+v: weight %g in step %d", a.Name(), a, w, step)
			}
			slots := map[string][]float32{"other": {1}}
			m.Keep(slots)
			again := must(NewMean(a, make([]float32, dim), steps))(t)
			if err := again.Restore(slots); err != nil || len(slots) != 1 {
				t.Fatalf("%s: %v, %d slots are left", a.Name(), err, len(slots))
			}
			m.Add(path[step], step)
			again.Add(path[step], step)
			found, foundAgain := held(m, path[step]), held(again, path[step])
			if want := referenceMean(a, coordinate, step, steps); !(math.Abs(float64(found[1])-want) <= 1e-6) {
				t.Errorf("%s %+v: the mean is %g after step %d, expected %g", a.Name(), a, found[1], step, want)
			}
			if !slices.Equal(found, foundAgain) {
				t.Errorf("%s %+v: restored before step %d it is %g, expected %g", a.Name(), a, step, foundAgain, found)
			}
			if !slices.Equal(held(m, path[step]), found) {
				t.Errorf("%s: looking at the mean changes it", a.Name())
			}
		}
	}
	for _, name := range Averages().Names() {
		if !tested[name] {
			t.Errorf("average %q has no row in averages", name)
		}
	}
}

// held returns the mean's parameters in place of the given ones.
func held(m *Mean, parameters []float32) []float32 {
	var found []float32
	m.InPlaceOf(parameters, func() error { found = slices.Clone(parameters); return nil })
	return found
}

// The parameters come back when what was done with the mean fails.
func TestParametersComeBack(t *testing.T) {
	m := must(NewMean(&EMA{}, []float32{7}, 1))(t)
	parameters, broken := []float32{1}, errors.New("no pictures today")
	if err := m.InPlaceOf(parameters, func() error { return broken }); err != broken || parameters[0] != 1 || held(m, parameters)[0] != 7 {
		t.Errorf("%v, parameters %v, mean %v", err, parameters, held(m, parameters))
	}
}

func TestAveragesRefuse(t *testing.T) {
	for says, a := range map[string]Average{
		"average is nil, expected one of [none ema tail]":                                                  nil,
		"average_decay of the average ema is 1, expected a number of at least 0 and less than 1":           &EMA{Decay: 1},
		"average_fraction of the average tail is 0, expected a number greater than 0 and at most 1":        &Tail{},
		"average_fraction of the average tail is NaN, expected a number greater than 0 and at most 1":      &Tail{Fraction: math.NaN()},
		"average_fraction of the average tail is 1.000001, expected a number greater than 0 and at most 1": &Tail{Fraction: 1.000001},
	} {
		if _, err := NewMean(a, []float32{1}, 5); !errors.Is(err, ErrRule) || !strings.HasPrefix(err.Error(), "optimizer: "+says) {
			t.Errorf("%+v: error is %v, want one that begins %q", a, err, says)
		}
	}
	m := must(NewMean(&EMA{}, []float32{1, 2}, 5))(t)
	for name, slots := range map[string]map[string][]float32{"no slot": {}, "short slot": {"average": {1}}} {
		if err := m.Restore(slots); !errors.Is(err, ErrState) || held(m, []float32{0, 0})[0] != 1 {
			t.Errorf("%s: error is %v, want %v", name, err, ErrState)
		}
	}
}
