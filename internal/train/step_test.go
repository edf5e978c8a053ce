package train

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/random"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
	"dpsgd/perexample"
	"dpsgd/release"
)

// prepared builds a run without a folder.
func prepared(t testing.TB, overrides ...string) *Run {
	t.Helper()
	r := tiny.Must(prepare(tiny.Parse(t, overrides...), Options{Options: run.Options{Request: setup.Request{Given: tiny.Source(t, tiny.Examples)}}}))(t)
	t.Cleanup(r.Pool.Close)
	return r
}

// clippedSum is the sum of the contributions of examples, as the door takes it, without noise.
func clippedSum(t testing.TB, r *Run, indices []int) (values []float64) {
	t.Helper()
	sum := newSum(t, r)
	addAll(t, r, sum, indices)
	values = make([]float64, sum.Dim())
	sum.Release(func(integers clip.Integers, l clip.Lattice) {
		sums := make([]int64, len(values))
		integers(sums, 0)
		for i, v := range sums {
			values[i] = float64(v) * l.Spacing
		}
	})
	return values
}

func newSum(t testing.TB, r *Run) *clip.Sum {
	t.Helper()
	sum := tiny.Must(clip.NewSum(r.plan.Policy, r.records.Gradients.Coordinates(), r.Pool))(t)
	sum.Refine(r.plan.Room())
	return sum
}

func addAll(t testing.TB, r *Run, sum *clip.Sum, indices []int) {
	t.Helper()
	for len(indices) > 0 {
		n := min(len(indices), r.records.Gradients.Capacity())
		batch, err := r.records.Gradients.Contributions(indices[:n])
		if err == nil {
			err = sum.Add(batch, n)
		}
		tiny.Check(t, err)
		indices = indices[n:]
	}
}

// Guarantee 1 of the architecture: physical batch size, order of the examples and threads change no
// bit of the clipped sum, with any choice of engines; between engines it agrees to rounding.
func TestClippedSumDependsOnTheBatchAlone(t *testing.T) {
	var indices []int
	for i := range slow.Number(t, "DPSGD_TEST_EXAMPLES", 40, 100) {
		indices = append(indices, 3*i+i%2)
	}
	backwards := slices.Clone(indices)
	slices.Reverse(backwards)
	for _, clipping := range []struct {
		policy, norm string
		batches      []int
		threads      []int
	}{
		{"flat", "0.05", []int{33, 128, 1, 2, 7, 100}, []int{1, 3, 2, 4}},
		{"flat", "100", []int{7, 100, 1, 2, 33, 128}, []int{1, 3, 2, 4}},
		{"per_layer", "0.05", []int{7, 128}, []int{1, 3}},
	} {
		if !slow.Asked() {
			clipping.batches, clipping.threads = clipping.batches[:2], clipping.threads[:2]
		}
		references := map[string][]float64{}
		for _, engine := range []string{"ghost", "materialise", "mixed"} {
			sum := func(physical, threads int, indices []int) []float64 {
				name := engine
				if engine == "mixed" {
					name = "ghost"
				}
				r := prepared(t, tiny.Convolutional, "privacy.clipping="+clipping.policy, "privacy.clip_norm="+clipping.norm, fmt.Sprintf("training.physical_batch_size=%d", physical),
					fmt.Sprintf("performance.threads=%d", threads), "performance.engine="+name)
				if engine == "mixed" {
					mixEngines(t, r, physical)
				}
				return clippedSum(t, r, indices)
			}
			reference := sum(1, 1, indices)
			references[engine] = reference
			for _, physical := range clipping.batches {
				for _, threads := range clipping.threads {
					if !slices.Equal(sum(physical, threads, indices), reference) || !slices.Equal(sum(physical, threads, backwards), reference) {
						t.Errorf("%s %s, physical batch %d, %d threads, %s: another sum than with one example at a time", clipping.policy, clipping.norm, physical, threads, engine)
					}
				}
			}
		}
		for engine, found := range references {
			if e := relative(found, references["materialise"]); e > 0.01 {
				t.Errorf("%s %s, %s: relative difference %.2g to the materialising engine, expected at most 0.01", clipping.policy, clipping.norm, engine, e)
			}
		}
	}
}

// mixEngines gives every other parameter the other engine, whatever was measured.
func mixEngines(t testing.TB, r *Run, physical int) {
	t.Helper()
	batcher, err := data.NewBatcher(r.Examples.Train, setup.Normalisation(r.Config, 1))
	tiny.Check(t, err)
	kept := r.records.Gradients.Choice("auto")
	kept.PhysicalBatchSize = physical
	for i := range kept.Parameters {
		kept.Parameters[i].Engine = perexample.Engine(i % 2)
	}
	if r.records.Gradients, err = gradients.NewGradients(r.Model, batcher, nil, physical, "auto", kept, r.Pool); err != nil {
		t.Fatal(err)
	}
	r.records.Gradients.ClipBy(r.plan.Policy)
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

// Adding one example moves the sum by at most the clip norm, exactly, and by hardly less when its
// gradient is longer, whatever the policy.
func TestOneExampleMovesTheSumByTheClipNorm(t *testing.T) {
	for _, policy := range clip.Policies().Names() {
		t.Run(policy, func(t *testing.T) { oneExampleMovesTheSumByTheClipNorm(t, policy) })
	}
}

func oneExampleMovesTheSumByTheClipNorm(t *testing.T, policy string) {
	for _, clipNorm := range []float64{0.01, 1, 100} {
		r := prepared(t, tiny.Convolutional, "privacy.clipping="+policy, fmt.Sprintf("privacy.clip_norm=%g", clipNorm))
		without := clippedSum(t, r, []int{0, 1, 2, 5, 8, 13, 21, 34})
		with := clippedSum(t, r, []int{0, 1, 2, 5, 8, 13, 21, 34, 55})
		var moved float64
		for i := range with {
			moved += (with[i] - without[i]) * (with[i] - without[i])
		}
		if moved = math.Sqrt(moved); moved > clipNorm || clipNorm < 0.1 && moved < 0.99*clipNorm {
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
			for _, policy := range clip.Policies().Names() {
				r := prepared(t, tiny.Convolutional, "performance.engine="+engine, "privacy.clipping="+policy)
				for i := range r.Model.Values {
					r.Model.Values[i] = broken
				}
				for i, v := range clippedSum(t, r, []int{0, 1, 2, 3, 4, 5}) {
					if v != 0 {
						t.Fatalf("parameters %v, %s, %s: value %d of the sum is %v, expected exactly 0", broken, engine, policy, i, v)
					}
				}
			}
		}
	}
}

// The noisy sum is divided by the expected batch size of the plan, not by the number of examples
// drawn.
func TestUpdateDividesByTheExpectedBatchSize(t *testing.T) {
	const seed, expected = 5, 40
	o := options(t)
	r := create(t, tiny.Parse(t, "optimizer.name=sgd", "optimizer.learning_rate=1"), o)
	// So little noise that the sum shows through.
	seedRun(t, r, seed, 1e-6)

	indices := r.plan.Sampler.(seededSampler).Poisson.Sample(nil, tiny.Examples, random.ForTest(seed))
	if len(indices) == expected {
		t.Fatalf("the seed draws %d examples, expected another number than the mean", expected)
	}
	sum := clippedSum(t, r, indices)
	before := slices.Clone(r.Model.Values)
	tiny.Check(t, r.takeStep())
	for i, v := range r.Model.Values {
		want := float64(before[i]) - sum[i]/expected
		// Noise of standard deviation 1e-6·0.5/40 and one float32 rounding.
		if math.Abs(float64(v)-want) > 1e-6 {
			t.Errorf("parameter %d is %v, expected %v (%d examples drawn)", i, v, want, len(indices))
		}
	}
}

// seedRun makes sample and noise of the steps to come a function of a seed. Tests alone do this.
func seedRun(t testing.TB, r *Run, seed uint64, noiseMultiplier float64) {
	t.Helper()
	noise := tiny.Must(release.NewGaussian(noiseMultiplier, r.Pool))(t)
	sampler, _ := r.plan.Sampler.(data.Poisson)
	if seeded, ok := r.plan.Sampler.(seededSampler); ok {
		sampler = seeded.Poisson
	}
	r.plan.Mechanism, r.plan.Sampler = seededNoise{noise, random.ForTest(1000 + seed)}, seededSampler{sampler, random.ForTest(seed)}
	r.plan.certified.planned = tiny.Must(r.plan.Schedule(r.plan.Steps))(t).Entries()
	tiny.Check(t, r.openDoor())
}

// seededSampler draws from a source of its own.
type seededSampler struct {
	data.Poisson
	src *random.Source
}

func (s seededSampler) Sample(dst []int, n int, _ *random.Source) []int {
	return s.Poisson.Sample(dst, n, s.src)
}

// seededNoise is made of a source of its own.
type seededNoise struct {
	release.Mechanism
	src *random.Source
}

func (m seededNoise) Privatize(step int, sum *clip.Sum, _ *random.Source, consume func(release.Noisy)) error {
	return m.Mechanism.Privatize(step, sum, m.src, consume)
}

// Steps draw new batches and new noise: two runs from the same weights on the same data differ
// after one step.
func TestRunsAreNotSeeded(t *testing.T) {
	a, b := create(t, tiny.Parse(t), options(t)), create(t, tiny.Parse(t), options(t))
	if !slices.Equal(a.Model.Values, b.Model.Values) {
		t.Fatal("the seed does not fix the initial weights")
	}
	for _, r := range []*Run{a, b} {
		tiny.Check(t, r.takeStep())
	}
	if slices.Equal(a.Model.Values, b.Model.Values) {
		t.Error("two runs made the same step")
	}
}
