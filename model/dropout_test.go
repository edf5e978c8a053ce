package model_test

import (
	"math"
	"slices"
	"testing"

	"dpsgd/internal/graph"
	"dpsgd/internal/tiny"
	"dpsgd/model"

	"gorgonia.org/gorgonia"
)

// dropping has a dropout of half between two linear layers without biases; the values before it are
// never 0.
var dropping = model.Sequential{model.Flatten{}, model.Linear{Out: 50, NoBias: true}, model.Dropout{P: 0.5}, model.Linear{Out: classes, NoBias: true}}

// Training drops anew in every run, prediction never does.
func TestDropoutIsForTraining(t *testing.T) {
	m := newModel(t, dropping)
	in := draw(m, 2, 3)
	s := newStep(t, m, options{batch: 2, clipNorm: 1})
	first, second := s.run(t, in).logits, s.run(t, in).logits
	if sameBits(first, second) {
		t.Error("two training runs dropped the same values")
	}
	if sameBits(first, newStep(t, m, options{batch: 2, clipNorm: 1}).run(t, in).logits) {
		t.Error("two runs of training drop the same values")
	}
	predicted := predict(t, m, in)
	if !sameBits(predicted, predict(t, m, in)) {
		t.Error("two predictions differ")
	}
	without := slices.Concat(dropping[:2], dropping[3:])
	// The names of the layers behind move by one; the order of the parameters stays.
	plain := tiny.Must(model.New(without, input, classes, 1))(t)
	copy(plain.Values, m.Values)
	if !sameBits(predicted, predict(t, plain, in)) {
		t.Error("prediction is not that of the network without dropout")
	}
}

// Values are dropped with probability P, the others are scaled by 1/(1-P), and the gradient passes
// where they passed.
func TestDropoutMask(t *testing.T) {
	const n, p = 400, 0.3
	layers := slices.Clone(dropping)
	layers[2] = model.Dropout{P: p}
	m := newModel(t, layers)
	b := graph.NewBuilder(nil)
	net := tiny.Must(m.Training(b, n))(t)
	before, after := net.Uses[0].Output, net.Uses[1].Input
	gradients := b.Backpropagate(net.Losses, net.Valid, []*gorgonia.Node{before, net.Uses[1].Output})
	e := tiny.Must(b.Compile(append(gradients, before, after)...))(t)
	in := draw(m, n, 3)
	copy(b.Values(net.Images).Float32, in.images)
	for i, label := range in.labels {
		b.Values(net.Targets).Float32[i] = float32(label)
	}
	copy(b.Values(net.Mask).Float32, in.mask)
	e.RunAll()

	weight := m.Export()[1].Data // (classes, 50)
	x, y := e.Values(before).Float32, e.Values(after).Float32
	dx, dz := e.Values(gradients[0]).Float32, e.Values(gradients[1]).Float32
	dropped := 0
	for i, v := range y {
		var dy float64 // the gradient that arrives behind the dropout
		for c := range classes {
			dy += float64(dz[i/50*classes+c]) * float64(weight[c*50+i%50])
		}
		keep := 1.0 / (1 - p)
		if v == 0 {
			dropped++
			keep = 0
		}
		if math.Abs(float64(v)-keep*float64(x[i])) > 1e-6*math.Abs(float64(x[i])) {
			t.Fatalf("value %d is %v behind dropout and %v before, expected 0 or %v times as much", i, v, x[i], 1/(1-p))
		}
		if math.Abs(float64(dx[i])-keep*dy) > 1e-5 {
			t.Fatalf("gradient %d is %v, expected %v times %v", i, dx[i], keep, dy)
		}
	}
	if slices.EqualFunc(y[:50], y[50:100], func(a, b float32) bool { return (a == 0) == (b == 0) }) { // a chance of 2e-12
		t.Error("two examples have one mask")
	}
	// Binomial with 20,000 draws: the count lies within 4.42 standard deviations but for 1e-5 of
	// the runs.
	total := float64(len(y))
	if limit := 4.42 * math.Sqrt(total*p*(1-p)); math.Abs(float64(dropped)-p*total) > limit {
		t.Errorf("%d of %v values were dropped, expected %v ± %.0f", dropped, total, p*total, limit)
	}
}
