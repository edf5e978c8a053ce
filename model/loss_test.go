package model_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// losses lists every loss with what it learns, for three outputs or one.
var losses = []struct {
	name    string
	learnt  model.Learnt
	outputs int
}{
	{"cross_entropy", model.Learnt{Loss: model.CrossEntropy{}}, 3},
	{"weighted", model.Learnt{Loss: model.CrossEntropy{}, Weights: []float64{0.5, 2, 3}}, 3},
	{"smoothed", model.Learnt{Loss: model.CrossEntropy{Smoothing: 0.2}, Weights: []float64{0.5, 2, 3}}, 3},
	{"binary", model.Learnt{Loss: model.Binary{}}, 3},
	{"weighted binary", model.Learnt{Loss: model.Binary{}, Weights: []float64{0.5, 2, 3}}, 3},
	{"squared", model.Learnt{Loss: model.Squared{}, Low: -10, High: 30}, 1},
	{"huber", model.Learnt{Loss: model.Huber{Delta: 0.5}, Low: -10, High: 30}, 1},
}

// drawRows returns random outputs and targets of so many rows.
func drawRows(l model.Learnt, outputs, rows int, src *random.Public) (z, targets []float32) {
	z = make([]float32, rows*outputs)
	for i := range z {
		z[i] = float32(src.Uint64()%2000)/500 - 2
	}
	switch l.Loss.Task() {
	case data.Class:
		targets = make([]float32, rows)
		for i := range targets {
			targets[i] = float32(src.Uint64() % uint64(outputs))
		}
	case data.Labels:
		targets = make([]float32, rows*outputs)
		for i := range targets {
			targets[i] = float32(src.Uint64() % 2)
		}
	default:
		targets = make([]float32, rows)
		for i := range targets {
			targets[i] = float32(src.Uint64()%60) - 20 // also beyond the bounds
		}
	}
	return z, targets
}

// The gradient of every loss is that of its value, by differences, and a row depends on nothing but
// itself.
func TestGradientsOfLosses(t *testing.T) {
	const rows, step = 50, 1.0 / 64
	for _, c := range losses {
		t.Run(c.name, func(t *testing.T) {
			z, targets := drawRows(c.learnt, c.outputs, rows, random.Seeded(1))
			value, gradients := make([]float32, rows), make([]float32, len(z))
			c.learnt.Loss.Rows(&c.learnt, value, gradients, z, targets)
			near, ignored := make([]float32, rows), make([]float32, len(z))
			for j := range c.outputs {
				difference := make([]float64, rows)
				for _, side := range []float64{1, -1} {
					moved := slices.Clone(z)
					for i := range rows {
						moved[i*c.outputs+j] += float32(side * step)
					}
					c.learnt.Loss.Rows(&c.learnt, near, ignored, moved, targets)
					for i, v := range near {
						difference[i] += side * float64(v) / (2 * step)
					}
				}
				for i, want := range difference {
					if got := float64(gradients[i*c.outputs+j]); math.Abs(got-want) > 2e-2*step*64 {
						t.Errorf("row %d, output %d: found the gradient %v, expected about %v", i, j, got, want)
					}
				}
			}
			width := len(targets) / rows
			for i := range rows {
				var one [1]float32
				c.learnt.Loss.Rows(&c.learnt, one[:], ignored[:c.outputs], z[i*c.outputs:][:c.outputs], targets[i*width:][:width])
				if one[0] != value[i] || !slices.Equal(ignored[:c.outputs], gradients[i*c.outputs:][:c.outputs]) {
					t.Errorf("row %d alone has the loss %v, among others %v", i, one[0], value[i])
				}
			}
		})
	}
}

// A number beyond its bounds counts as the bound: however far off it is, it moves nothing more.
func TestNumbersBeyondTheirBounds(t *testing.T) {
	for _, c := range losses {
		if c.learnt.Loss.Task() != data.Number {
			continue
		}
		for _, target := range [][2]float32{{30, 1e30}, {-10, -math.MaxFloat32}, {30, 31}} {
			var value, gradient [2][1]float32
			for i := range target {
				c.learnt.Loss.Rows(&c.learnt, value[i][:], gradient[i][:], []float32{0.3}, target[i:i+1])
			}
			if value[0] != value[1] || gradient[0] != gradient[1] || math.Abs(float64(gradient[1][0])) > 4 {
				t.Errorf("%s: %v and %v have the gradients %v", c.name, target[0], target[1], gradient)
			}
		}
		if got := c.learnt.Number(7); got != 30 {
			t.Errorf("an output beyond the bounds stands for %v, expected 30", got)
		}
		if got := c.learnt.Number(float32(c.learnt.Scaled(17.5))); got != 17.5 {
			t.Errorf("17.5 comes back as %v", got)
		}
	}
}

// Values by torch 2.15.0, in loss_golden_test.go: CrossEntropyLoss(weight=(.5, 2, 3), label_smoothing=.2),
// BCEWithLogitsLoss(pos_weight=(.5, 2, 3)) as the mean of each row, MSELoss and HuberLoss(delta=.5),
// all with reduction="none", and their gradients by autograd; bench/losses.py prints them.
func TestLossesOfPyTorch(t *testing.T) {
	z := []float32{0.5, -1.25, 2, -0.75, 0.1, 0.3}
	for name, c := range map[string]struct {
		targets, losses, gradients []float32
	}{
		"smoothed":        goldenLosses["smoothed"],
		"weighted binary": goldenLosses["binary"],
		"squared":         goldenLosses["squared"],
		"huber":           goldenLosses["huber"],
	} {
		l := losses[slices.IndexFunc(losses, func(l struct {
			name    string
			learnt  model.Learnt
			outputs int
		}) bool {
			return l.name == name
		})].learnt
		found, gradients := make([]float32, len(c.losses)), make([]float32, len(z))
		l.Loss.Rows(&l, found, gradients, z, c.targets)
		if d := distance(found, c.losses); d > 1e-6*norm(c.losses) {
			t.Errorf("%s: found the losses %v, expected %v", name, found, c.losses)
		}
		if d := distance(gradients, c.gradients); d > 1e-6*norm(c.gradients) {
			t.Errorf("%s: found the gradients %v, expected %v", name, gradients, c.gradients)
		}
	}
}

// What does not fit the outputs is refused.
func TestLearnRefuses(t *testing.T) {
	m := tiny.Must(model.New(model.Sequential{model.Flatten{}, model.Linear{Out: model.NumClasses}}, model.Input{Channels: 4}, 3, 1))(t)
	for says, l := range map[string]model.Learnt{
		"expected one for each of 3":  {Loss: model.Binary{}, Weights: []float64{1, 2}},
		"expected numbers above 0":    {Loss: model.CrossEntropy{}, Weights: []float64{1, 0, 2}},
		"at most 1e+06":               {Loss: model.CrossEntropy{}, Weights: []float64{1, 2e6, 2}},
		"expected finite bounds":      {Loss: model.Squared{}, Low: 1, High: 1},
		"the lower one first":         {Loss: model.Huber{Delta: 1}, Low: 0, High: math.Inf(1)},
		"1 weights with the loss hub": {Loss: model.Huber{Delta: 1}, Low: 0, High: 1, Weights: []float64{1}},
	} {
		if err := m.Learn(l); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("found %v, expected %q", err, says)
		}
	}
}
