package train

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"dpsgd/internal/random"
	"dpsgd/optimizer"
)

// convolutional spells out a network with every rule: convolution, bias, gain and shift, dense.
const convolutional = "model.layers=[{conv2d: {out_channels: 4, kernel_size: 3, padding: 1}}, {group_norm: {num_groups: 2}}, tanh, flatten, layer_norm, {linear: {out_features: 8}}, relu, {linear: {out_features: classes}}]"

// prepared builds a run without a folder.
func prepared(t testing.TB, overrides ...string) *Run {
	t.Helper()
	r, err := prepare(parse(t, overrides...), Options{Source: tinySource(t, tinyExamples)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.pool.Close)
	return r
}

func clippedSum(t testing.TB, r *Run, indices []int) []float64 {
	t.Helper()
	sum, err := r.gradients.Sum(indices)
	if err != nil {
		t.Fatal(err)
	}
	values, bound, err := sum.Release()
	if err != nil {
		t.Fatal(err)
	}
	if bound != r.plan.Policy.Bound() {
		t.Errorf("the sum carries the bound %v, expected the clip norm %v", bound, r.plan.Policy.Bound())
	}
	return values
}

// Guarantee 1 of the architecture: physical batch size, threads and engine do not change the clipped sum.
func TestClippedSumDependsOnTheBatchAlone(t *testing.T) {
	var indices []int
	for i := 0; i < tinyExamples; i += 3 {
		indices = append(indices, i+i%2)
	}
	for _, clipNorm := range []string{"0.05", "100"} {
		reference := clippedSum(t, prepared(t, convolutional, "privacy.clip_norm="+clipNorm, "training.physical_batch_size=1", "performance.threads=1", "performance.engine=materialise"), indices)
		for _, physical := range []int{2, 7, 33, 100, 128} {
			for _, threads := range []int{1, 2, 5} {
				for _, engine := range []string{"ghost", "materialise", "auto"} {
					found := clippedSum(t, prepared(t, convolutional, "privacy.clip_norm="+clipNorm,
						fmt.Sprintf("training.physical_batch_size=%d", physical), fmt.Sprintf("performance.threads=%d", threads), "performance.engine="+engine), indices)
					if e := relative(found, reference); e > 1e-5 {
						t.Errorf("clip norm %s, physical batch %d, %d threads, %s: relative difference %.2g, expected at most 1e-5", clipNorm, physical, threads, engine, e)
					}
				}
			}
		}
	}
}

// relative is ‖a-b‖/‖b‖.
func relative(a, b []float64) float64 {
	var difference, size float64
	for i := range b {
		difference += (a[i] - b[i]) * (a[i] - b[i])
		size += b[i] * b[i]
	}
	return math.Sqrt(difference / size)
}

// Adding one example moves the sum by at most the clip norm, and by exactly that when its gradient is longer.
func TestOneExampleMovesTheSumByTheClipNorm(t *testing.T) {
	for _, clipNorm := range []float64{0.01, 1, 100} {
		r := prepared(t, convolutional, fmt.Sprintf("privacy.clip_norm=%g", clipNorm))
		without := clippedSum(t, r, []int{0, 1, 2, 5, 8, 13, 21, 34})
		with := clippedSum(t, r, []int{0, 1, 2, 5, 8, 13, 21, 34, 55})
		var moved float64
		for i := range with {
			moved += (with[i] - without[i]) * (with[i] - without[i])
		}
		moved = math.Sqrt(moved)
		// The sums of nine rows are float32: 1e-5 is a hundred roundings.
		if moved > clipNorm*(1+1e-5) || clipNorm < 0.1 && moved < clipNorm*(1-1e-5) {
			t.Errorf("clip norm %v: one example moved the sum by %v", clipNorm, moved)
		}
	}
}

// An empty batch has the zero sum; the graph does not run.
func TestSumOfNobody(t *testing.T) {
	for _, v := range clippedSum(t, prepared(t), nil) {
		if v != 0 {
			t.Fatalf("found %v in the sum of an empty batch", v)
		}
	}
}

// An example whose gradient is not finite adds exactly zero, whatever made it so.
func TestNotFiniteAddsZero(t *testing.T) {
	for _, broken := range []float32{float32(math.NaN()), float32(math.Inf(1)), 3e38} {
		for _, engine := range []string{"ghost", "materialise"} {
			r := prepared(t, convolutional, "performance.engine="+engine)
			for i := range r.model.Values {
				r.model.Values[i] = broken
			}
			for i, v := range clippedSum(t, r, []int{0, 1, 2, 3, 4, 5}) {
				if v != 0 {
					t.Fatalf("parameters %v, %s: value %d of the sum is %v, expected exactly 0", broken, engine, i, v)
				}
			}
		}
	}
}

// The noisy sum is divided by the expected batch size of the plan, not by the number of examples drawn.
func TestUpdateDividesByTheExpectedBatchSize(t *testing.T) {
	const seed, expected = 5, 40
	o := options(t)
	r := create(t, parse(t, "optimizer.name=sgd", "optimizer.learning_rate=1"), o)
	r.sampling = random.Seeded(seed)
	// So little noise that the sum shows through.
	quiet, err := optimizer.NewGaussian(1e-6, random.Seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	r.plan.Mechanism = quiet

	indices := r.plan.Sampler.Sample(nil, tinyExamples, random.Seeded(seed))
	if len(indices) == expected {
		t.Fatalf("the seed draws %d examples, expected another number than the mean", expected)
	}
	sum := clippedSum(t, r, indices)
	before := slices.Clone(r.model.Values)
	if err := r.private(); err != nil {
		t.Fatal(err)
	}
	for i, v := range r.model.Values {
		want := float64(before[i]) - sum[i]/expected
		// Noise of standard deviation 1e-6·0.5/40 and one float32 rounding.
		if math.Abs(float64(v)-want) > 1e-6 {
			t.Errorf("parameter %d is %v, expected %v (%d examples drawn)", i, v, want, len(indices))
		}
	}
}

// Steps draw new batches and new noise: two runs from the same weights on the same data differ after one step.
func TestRunsAreNotSeeded(t *testing.T) {
	a, b := create(t, parse(t), options(t)), create(t, parse(t), options(t))
	if !slices.Equal(a.model.Values, b.model.Values) {
		t.Fatal("the seed does not fix the initial weights")
	}
	for _, r := range []*Run{a, b} {
		if err := r.private(); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Equal(a.indices, b.indices) || slices.Equal(a.model.Values, b.model.Values) {
		t.Error("two runs made the same step")
	}
}

// In steady state a step allocates nothing: gradients, sum, noise and update work in memory that
// they keep. Single steps may allocate still: a worker that takes its first share of some
// operation, or that finds a pool of working memory emptied by the garbage collector or its content
// held by a worker that was interrupted. So of several steps one must make no allocation (more than
// two in three make none); a step that makes something of its own makes it every time.
func TestStepsAllocateNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector, under which short tests run, makes allocations of its own")
	}
	const attempts = 30
	for _, network := range []string{"mlp128", "mnist-cnn", "resnet8-gn"} {
		for _, engine := range []string{"ghost", "materialise"} {
			c := benchConfig(t, network, 6)
			c.Training.PhysicalBatchSize = 4
			b, err := newBench(c, engine)
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.indices {
				b.indices[i] = i
			}
			least := math.Inf(1)
			for i := 0; i < attempts && least > 0; i++ {
				least = min(least, testing.AllocsPerRun(1, func() {
					if err := b.step.take(b.indices); err != nil {
						t.Fatal(err)
					}
				}))
			}
			if least > 0 {
				t.Errorf("%s, %s: at least %v allocations in each of %d steps, expected a step with none", network, engine, least, attempts)
			}
			b.pool.Close()
		}
	}
}
