package sgd_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/internal/sgd"
	"dpsgd/internal/tiny"
	"dpsgd/model"
	"dpsgd/optimizer"
)

// trainer returns a trainer of the model of tiny configurations, by a rule, and its examples.
func trainer(t *testing.T, rule optimizer.UpdateRule, physical int, pool *kernel.Pool) (*sgd.Trainer, *model.Model, *data.Images) {
	t.Helper()
	c, images := tiny.Parse(t), tiny.Pictures(t, tiny.Examples, 1)
	m := tiny.Must(setup.Model(c, images.Shape(), len(images.Classes())))(t)
	return tiny.Must(sgd.NewTrainer(c, m, images, images.Shape(), rule, physical, pool))(t), m, images
}

func all(n int) []int {
	indices := make([]int, n)
	for i := range indices {
		indices[i] = i
	}
	return indices
}

func accuracy(t *testing.T, m *model.Model, images *data.Images) float64 {
	t.Helper()
	e := tiny.Must(gradients.NewEvaluator(m, images, setup.Normalisation(tiny.Parse(t), 1), nil))(t)
	found := tiny.Must(e.Run())(t)
	return float64(found.TestAccuracy)
}

func constant(rate float64) func(int) float64 { return func(int) float64 { return rate } }

// Training learns the stripes, with every rule that is meant for it, and on any number of threads
// and with any physical batch the same parameters come out up to rounding.
func TestTrainLearns(t *testing.T) {
	pool := kernel.NewPool(3)
	defer pool.Close()
	for _, test := range []struct {
		rule optimizer.UpdateRule
		rate float64
	}{{&optimizer.SGD{}, 0.5}, {&optimizer.Momentum{Momentum: 0.9}, 0.05}, {&optimizer.Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}, 0.01}} {
		var trained [][]float32
		for physical, pool := range map[int]*kernel.Pool{16: nil, 7: pool} {
			trainer, m, images := trainer(t, test.rule, physical, pool)
			tiny.Check(t, trainer.Train(context.Background(), all(images.Len()), 40, 60, constant(test.rate), 1))
			if got := accuracy(t, m, tiny.Pictures(t, 300, 9)); got < 0.98 {
				t.Errorf("%s: accuracy %.3f on new pictures, expected at least 0.98", test.rule.Name(), got)
			}
			trained = append(trained, slices.Clone(m.Values))
		}
		for i, v := range trained[0] {
			if math.Abs(float64(v-trained[1][i])) > 1e-3 {
				t.Fatalf("%s: parameter %d is %g and %g with another physical batch", test.rule.Name(), i, v, trained[1][i])
			}
		}
	}
}

// Labels stand in the place of the examples' own, for each of their views: learnt shifted by one
// class, the model says the shifted class.
func TestLabelsInPlaceOfTheirOwn(t *testing.T) {
	_, m, images := trainer(t, &optimizer.SGD{}, 16, nil)
	trainer := tiny.Must(sgd.NewTrainer(tiny.Parse(t, "training.augmentation.views=2"), m, images, images.Shape(), &optimizer.SGD{}, 16, nil))(t)
	labels := make([]int32, images.Len())
	for i := range labels {
		labels[i] = int32((images.Label(i) + 1) % 3)
	}
	trainer.Learn(labels)
	tiny.Check(t, trainer.Train(context.Background(), all(images.Len()), 40, 60, constant(0.5), 1))
	if got := accuracy(t, m, images); got > 0.02 {
		t.Errorf("accuracy %.3f under the true labels, expected none where others were learnt", got)
	}
}

// Pictures are changed anew in each step, every step has its own rate, and training ends with what
// it is told by.
func TestStepsAreTheirOwn(t *testing.T) {
	plain, m, images := trainer(t, &optimizer.SGD{}, 16, nil)
	changed := tiny.Must(sgd.NewTrainer(tiny.Parse(t, "training.augmentation.shift=1"), m, images, images.Shape(), &optimizer.SGD{}, 16, nil))(t)
	start, moved := slices.Clone(m.Values), [][]float32{}
	for step, trainer := range []*sgd.Trainer{plain, changed, changed} {
		copy(m.Values, start)
		tiny.Check(t, trainer.Step(all(16), step, 0.5))
		if slices.ContainsFunc(moved, func(other []float32) bool { return slices.Equal(other, m.Values) }) {
			t.Errorf("step %d moves as one before, whose pictures were changed otherwise", step)
		}
		moved = append(moved, slices.Clone(m.Values))
	}
	ctx, stop := context.WithCancel(t.Context())
	rates := 0
	err := plain.Train(ctx, all(images.Len()), 40, 60, func(step int) float64 {
		if rates += step; step == 3 {
			stop()
		}
		return 0.1
	}, 1)
	if err != context.Canceled || rates != 0+1+2+3 {
		t.Errorf("found %v after rates of steps that add up to %d, expected an end behind step 3", err, rates)
	}
}

// Every example is in each pass once; passes differ; a run that goes on finds the same batch.
func TestBatches(t *testing.T) {
	indices := all(30)
	b := sgd.NewBatches(indices, 7, 1)
	if b.PerPass() != 4 {
		t.Fatalf("a pass has %d batches, expected 4", b.PerPass())
	}
	var first, second []int
	for step := range 4 {
		first = append(first, b.At(step)...)
	}
	for step := 4; step < 8; step++ {
		second = append(second, b.At(step)...)
	}
	if slices.Equal(first, second) {
		t.Error("two passes have one order")
	}
	slices.Sort(first)
	if len(slices.Compact(first)) != 28 {
		t.Errorf("a pass of 28 examples holds %v", first)
	}
	if got := sgd.NewBatches(indices, 7, 1).At(6); !slices.Equal(got, b.At(6)) {
		t.Errorf("step 6 has %v, and %v when asked for first", b.At(6), got)
	}
	if got := sgd.NewBatches(indices[:3], 7, 1).At(5); len(got) != 3 {
		t.Errorf("a batch of more than all examples holds %v", got)
	}
}

// Rules that subtract the variance of noise have no place where there is none.
func TestNoRuleForNoise(t *testing.T) {
	_, m, images := trainer(t, &optimizer.SGD{}, 16, nil)
	rule := &optimizer.AdamBC{Beta1: 0.9, Beta2: 0.999, SecondMomentFloor: 5e-8}
	if _, err := sgd.NewTrainer(tiny.Parse(t), m, images, images.Shape(), rule, 4, nil); err == nil {
		t.Error("accepted adambc")
	}
}
