package plain_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/plain"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/model"
	"dpsgd/optimizer"
)

// network is the model of tiny configurations, with its examples.
func network(t *testing.T) (*model.Model, *data.Images, *data.Batcher) {
	t.Helper()
	c, images := tiny.Parse(t), tiny.Pictures(t, tiny.Examples, 1)
	m := tiny.Must(setup.Model(c, images.Shape(), len(images.Classes())))(t)
	batcher := tiny.Must(data.NewBatcher(images, setup.Normalisation(c, 1)))(t)
	return m, images, batcher
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
	return found.Accuracy
}

func constant(rate float64) func(int) float64 { return func(int) float64 { return rate } }

// Training learns the stripes, with every rule that is meant for it, and on any number of threads and
// with any physical batch the same parameters come out up to rounding.
func TestTrainLearns(t *testing.T) {
	pool := kernel.NewPool(3)
	defer pool.Close()
	for _, test := range []struct {
		rule optimizer.UpdateRule
		rate float64
	}{{&optimizer.SGD{}, 0.5}, {&optimizer.Momentum{Momentum: 0.9}, 0.05}, {&optimizer.Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}, 0.01}} {
		var trained [][]float32
		for _, o := range []plain.Options{{Physical: 40}, {Physical: 7, Pool: pool}} {
			m, images, batcher := network(t)
			o.Rule = test.rule
			trainer := tiny.Must(plain.New(m, batcher, o))(t)
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

// Labels stand in the place of the examples' own: learnt shifted by one class, the model says the
// shifted class.
func TestLabelsInPlaceOfTheirOwn(t *testing.T) {
	m, images, batcher := network(t)
	labels := make([]int32, images.Len())
	for i := range labels {
		labels[i] = int32((images.Label(i) + 1) % 3)
	}
	trainer := tiny.Must(plain.New(m, batcher, plain.Options{Rule: &optimizer.SGD{}, Physical: 16, Labels: labels}))(t)
	tiny.Check(t, trainer.Train(context.Background(), all(images.Len()), 40, 60, constant(0.5), 1))
	if got := accuracy(t, m, images); got > 0.02 {
		t.Errorf("accuracy %.3f under the true labels, expected none where others were learnt", got)
	}
	if _, err := plain.New(m, batcher, plain.Options{Rule: &optimizer.SGD{}, Physical: 16, Labels: labels[1:]}); err == nil {
		t.Error("accepted fewer labels than examples")
	}
}

// Every example is in each pass once; passes differ; a run that goes on finds the same batch.
func TestBatches(t *testing.T) {
	indices := all(30)
	b := plain.NewBatches(indices, 7, 1)
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
	if got := plain.NewBatches(indices, 7, 1).At(6); !slices.Equal(got, b.At(6)) {
		t.Errorf("step 6 has %v, and %v when asked for first", b.At(6), got)
	}
	if got := plain.NewBatches(indices[:3], 7, 1).At(5); len(got) != 3 {
		t.Errorf("a batch of more than all examples holds %v", got)
	}
}

// Rules that subtract the variance of noise have no place where there is none.
func TestNoRuleForNoise(t *testing.T) {
	m, _, batcher := network(t)
	rule := &optimizer.AdamBC{Beta1: 0.9, Beta2: 0.999, SecondMomentFloor: 5e-8}
	if _, err := plain.New(m, batcher, plain.Options{Rule: rule, Physical: 4}); err == nil {
		t.Error("accepted adambc")
	}
}
