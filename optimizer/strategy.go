package optimizer

import (
	"fmt"

	"dpsgd/release"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// Workload is what an update rule makes of the noise of all steps, as far as it is linear: momentum
// µ and learning rates, without weight decay and without what Adam divides by.
type Workload struct {
	Schedule Schedule
	Momentum float64
	Nesterov bool
}

// WorkloadOf returns the workload of a rule; that of Adam is its first moment.
func WorkloadOf(r UpdateRule, s Schedule) Workload {
	w := Workload{Schedule: s}
	switch r := r.(type) {
	case *Momentum:
		w.Momentum, w.Nesterov = r.Momentum, r.Nesterov
	case *Adam:
		w.Momentum = r.Beta1
	case *AdamBC:
		w.Momentum = r.Beta1
	}
	return w
}

// columns is how many columns of the workload's matrix stand for all: the middles of strata of equal
// length. A column is smooth in its number, so that 64 are right to 5·10^-4.
const columns = 64

// Error returns the mean square, over the steps of a run, of what noise leaves in a parameter, for
// noise of deviation ‖c‖₂ correlated by the banded Toeplitz matrix with first column c: that of
// independent noise of deviation 1 for c = 1.
func (w Workload) Error(c []float64) float64 { e, _ := w.gradient(c, false); return e }

// gradient returns the error, and if asked its derivatives by c.
func (w Workload) gradient(c []float64, asked bool) (float64, []float64) {
	steps := w.Schedule.Steps
	d := release.Solve(c, append([]float64{1}, make([]float64, steps-1)...))
	n := min(columns, steps)
	by := make([]float64, steps) // derivatives of the quadratic form by d
	rates, p, total := make([]float64, steps), make([]float64, steps), 0.0
	for t := range rates {
		rates[t] = w.Schedule.LearningRate(t)
	}
	direct, through := 0.0, 1.0
	if w.Nesterov {
		direct, through = 1, w.Momentum
	}
	for i := range n {
		from, to := i*steps/n, (i+1)*steps/n
		j, weight := (from+to-1+i%2)/2, float64(to-from)/float64(steps) // rounded down and up in turn
		at, v := 0.0, 0.0
		for t := j; t < steps; t++ {
			v = w.Momentum*v + d[t-j]
			at += rates[t] * (direct*d[t-j] + through*v)
			p[t] = at
			total += weight * at * at
		}
		if !asked {
			continue
		}
		after, back := 0.0, 0.0
		for t := steps - 1; t >= j; t-- {
			after += 2 * weight * p[t]
			back = w.Momentum*back + rates[t]*through*after
			by[t-j] += rates[t]*direct*after + back
		}
	}
	norm := floats.Dot(c, c)
	if !asked {
		return norm * total, nil
	}
	// The derivative of d by c_i is C⁻¹d, moved by i and negated.
	slope, grad := release.Solve(c, d), make([]float64, len(c))
	for i := range grad {
		grad[i] = 2 * c[i] * total
		if i < steps {
			grad[i] -= norm * floats.Dot(by[i:], slope[:steps-i])
		}
	}
	return norm * total, grad
}

// Strategy returns the strategy of so many bands with about the least error, rounded to dyadic
// coefficients: the search begins with the square root of prefix sums. One band is independent noise.
func (w Workload) Strategy(bands int) (release.Strategy, error) {
	if bands = min(bands, w.Schedule.Steps); bands < 2 {
		return release.Dyadic([]float64{1}), nil
	}
	start := make([]float64, bands-1)
	for i := range start {
		before := 1.0
		if i > 0 {
			before = start[i-1]
		}
		start[i] = before * float64(2*i+1) / float64(2*i+2)
	}
	whole := func(x []float64) []float64 { return append([]float64{1}, x...) }
	scale := w.Error([]float64{1})
	r, err := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 { return w.Error(whole(x)) / scale },
		Grad: func(grad, x []float64) {
			_, all := w.gradient(whole(x), true)
			floats.ScaleTo(grad, 1/scale, all[1:])
		},
	}, start, &optimize.Settings{GradientThreshold: 1e-5, MajorIterations: 200}, &optimize.LBFGS{})
	if r == nil {
		return release.Strategy{}, fmt.Errorf("optimizer: a strategy of %d bands: %w", bands, err)
	}
	// A search that ends without converging has a point all the same, as good as its error is.
	return release.Dyadic(whole(r.X)), nil
}
