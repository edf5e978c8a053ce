package speed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/release"
)

// benchmark runs a benchmark of milliseconds.
func benchmark(t *testing.T, c *configs.Config, mode string) *Result {
	t.Helper()
	return tiny.Must(Measure(context.Background(), c, mode, 20*time.Millisecond))(t)
}

func benchConfig(t *testing.T, network string, batch int) *configs.Config {
	t.Helper()
	c := tiny.Must(Configuration(network, batch))(t)
	c.Performance.Threads = 2
	return c
}

// In every mode the figures are there and agree with each other. The parts are those of Parts;
// every one of a private step takes time, and a plain step has neither norms nor noise. Noise is a
// difference of two times, which a busy machine can make zero.
func TestBenchmarkFigures(t *testing.T) {
	// Forward 784·128 + 128·10 multiply-adds, the gradient of the second layer's input, and both
	// layers' weights.
	const useful, batch = 2*(784*128+128*10) + 128*10, 64
	for _, mode := range Modes() {
		b := benchmark(t, benchConfig(t, "mlp128", batch), mode)
		if b.Model != "mlp128" || b.Mode != mode || b.Batch != batch || b.Physical != batch || b.Threads != 2 || b.Steps < fewestSteps || b.Kernel == "" {
			t.Errorf("found %+v", b)
		}
		if rate := batch / (b.StepMS / 1e3); math.Abs(rate-b.ExamplesPerSecond) > 1e-6*rate {
			t.Errorf("%s: %v examples/s with steps of %v ms", mode, b.ExamplesPerSecond, b.StepMS)
		}
		if want := 2 * useful * b.ExamplesPerSecond / 1e9; math.Abs(b.GFLOPs-want) > 1e-9*want {
			t.Errorf("%s: %v GFLOP/s, expected %v", mode, b.GFLOPs, want)
		}
		if b.FMALimitGFLOPs <= 0 || b.PeakRSSMiB < 1 || b.PeakRSSMiB > 1<<20 {
			t.Errorf("%s: a limit of %v GFLOP/s and %v MiB", mode, b.FMALimitGFLOPs, b.PeakRSSMiB)
		}
		if found, want := slices.Sorted(maps.Keys(b.Parts)), slices.Sorted(slices.Values(Parts())); !slices.Equal(found, want) {
			t.Errorf("%s: found the parts %v, expected %v", mode, found, want)
		}
		for part, ms := range b.Parts {
			absent := mode == "plain" && (part == "norms" || part == "noise")
			if absent != (ms == 0) && part != "noise" || absent && ms != 0 || ms < 0 || ms > 1e4 {
				t.Errorf("%s: %s takes %v ms", mode, part, ms)
			}
		}
	}
}

// Batches of a ready network are one physical batch as far as that is small, and equal ones beyond.
func TestPhysicalBatchesOfBenchmarks(t *testing.T) {
	for _, c := range []struct {
		network     string
		batch, want int
	}{
		{"mlp128", 1, 1}, {"mlp128", 256, 256}, {"mlp128", 257, 129}, {"mlp128", 1024, 256}, {"mlp128", 3000, 250}, {"mlp128", 8192, 256},
		{"resnet8-gn", 32, 32}, {"resnet8-gn", 1024, 64}, {"resnet8-gn", 65, 33}, {"convnet", 1024, 64}, {"cifar-cnn", 256, 64},
	} {
		if got := benchConfig(t, c.network, c.batch).Training; got.BatchSize != c.batch || got.PhysicalBatchSize != c.want {
			t.Errorf("%s, batch %d: found batch %d in physical batches of %d, expected %d", c.network, c.batch, got.BatchSize, got.PhysicalBatchSize, c.want)
		}
	}
}

// Every ready network can be measured, on examples of its size.
func TestEveryNetworkHasABenchmark(t *testing.T) {
	grey, colour := data.Shape{Height: 28, Width: 28, Channels: 1}, data.Shape{Height: 32, Width: 32, Channels: 3}
	bytes := data.Sequence(64, 256)
	shapes := map[string]data.Shape{"cifar-cnn": colour, "convnet": colour, "resnet8-gn": colour, "resnet18": colour, "vit-tiny": colour, "vit-tiny-patch16": colour, "text-lstm": bytes, "text-transformer": bytes}
	for _, network := range configs.Networks() {
		c := benchConfig(t, network, 2)
		o := tiny.Must(setup.OutlineOf(c, 1))(t)
		want, known := shapes[network]
		if !known {
			want = grey
		}
		if o.Shape != want {
			t.Errorf("%s is measured on %v, expected %v", network, o.Shape, want)
		}
		for _, mode := range []string{"private", "plain"} {
			benchmark(t, c, mode)
		}
	}
}

func policies() (settings []string) {
	for _, name := range clip.Policies().Names() {
		settings = append(settings, "privacy.clipping="+name)
	}
	return settings
}

// A configuration with several physical batches, the last one not full, layers of its own, and any
// clipping policy.
func TestBenchmarkOfConfiguration(t *testing.T) {
	for _, setting := range append(policies(), "training.augmentation.views=3") {
		c := tiny.Parse(t, tiny.Convolutional, "training.batch_size=40", "training.physical_batch_size=16", "performance.threads=1", setting)
		for _, mode := range Modes() {
			if b := benchmark(t, c, mode); b.Model != "layers" || b.Batch != 40 || b.Physical != 16 || b.Threads != 1 {
				t.Errorf("found %+v", b)
			}
			if setting != "privacy.clipping=flat" && !strings.HasPrefix(setting, "training") {
				break // the others differ in the private step alone
			}
		}
	}
}

func TestBenchmarkErrors(t *testing.T) {
	c := benchConfig(t, "mlp128", 4)
	if _, err := Measure(context.Background(), c, "fast", time.Millisecond); !errors.Is(err, configs.ErrInvalid) {
		t.Errorf("an unknown mode: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Measure(ctx, c, "private", time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
	if _, err := Configuration("mlp129", 4); !errors.Is(err, configs.ErrInvalid) {
		t.Errorf("an unknown network: %v", err)
	}
}

// clippedSum is the sum of the contributions of examples, without noise, and what makes steps on
// them.
func clippedSum(t testing.TB, c *configs.Config, images *data.Images, physical int, indices []int) (*bench, *data.Batcher, []float64) {
	t.Helper()
	m := tiny.Must(setup.Model(c, images.Shape(), len(images.Classes())))(t)
	batcher := tiny.Must(data.NewBatcher(images, setup.Normalisation(c, 1)))(t)
	views := tiny.Must(setup.Views(c, images.Shape()))(t)
	b := &bench{model: m, views: views, pool: kernel.NewPool(2), physical: physical}
	t.Cleanup(b.pool.Close)
	gradients := tiny.Must(gradients.NewGradients(m, batcher, views, physical, c.Performance.Engine, gradients.Choice{}, b.pool))(t)
	sum := tiny.Must(clip.NewSum(clip.Flat{ClipNorm: c.Privacy.ClipNorm}, len(m.Values), b.pool))(t)
	sum.Refine(len(indices))
	for rest := indices; len(rest) > 0; rest = rest[min(physical, len(rest)):] {
		part := rest[:min(physical, len(rest))]
		batch, err := gradients.Contributions(part)
		if err == nil {
			err = sum.Add(batch, len(part))
		}
		tiny.Check(t, err)
	}
	values := make([]float64, len(m.Values))
	sum.Release(func(integers clip.Integers, l clip.Lattice) {
		sums := make([]int64, len(values))
		integers(sums, 0)
		for i, v := range sums {
			values[i] = float64(v) * l.Spacing
		}
	})
	return b, batcher, values
}

// moved is how far a step on parameters that were 0, in a vector of their own, is from moving them
// by a gradient, relative to that.
func moved(t *testing.T, s benchStep, parameters []float32, indices []int, gradient []float64) float64 {
	t.Helper()
	tiny.Check(t, s.take(indices))
	var off, norm float64
	for i, g := range gradient {
		d := float64(parameters[i])*-float64(len(indices))/benchRate - g
		off, norm = off+d*d, norm+g*g
	}
	return math.Sqrt(off / norm)
}

// What plain steps compute is the gradient: the clipped sum of a private step whose bound no
// example reaches, for any physical batch size and number of views.
func TestPlainStepMovesByTheGradient(t *testing.T) {
	const examples = 40
	images := tiny.Pictures(t, 60, 3)
	indices := make([]int, examples)
	for i := range indices {
		indices[i] = (7 * i) % 60
	}
	for _, test := range []struct{ physical, views int }{{examples, 1}, {16, 1}, {1, 1}, {examples, 3}, {16, 4}} {
		physical := test.physical
		c := tiny.Parse(t, tiny.Convolutional, "privacy.clip_norm=100", "performance.engine=materialise", "training.batch_size=40", fmt.Sprintf("training.physical_batch_size=%d", physical),
			fmt.Sprintf("training.augmentation.views=%d", test.views), fmt.Sprintf("training.augmentation.flip=%v", test.views > 1))
		b, batcher, want := clippedSum(t, c, images, physical, indices)
		s := tiny.Must(newPlainStep(b, batcher))(t)
		s.parameters = make([]float32, len(want))
		if e := moved(t, s, s.parameters, indices, want); e > 2e-4 { // contributions are rounded to integers
			t.Errorf("physical batch %d, %d views: the step is off by a relative %.2g", physical, test.views, e)
		}
	}
}

// A private step moves by the noisy clipped sum: with hardly any noise, by the clipped sum.
func TestPrivateStepOfBenchmarks(t *testing.T) {
	c := tiny.Parse(t, tiny.Convolutional, "training.batch_size=20", "privacy.noise_multiplier=1e-6")
	indices := []int{0, 1, 2, 5, 8, 13, 21, 34, 55, 89}
	b, batcher, want := clippedSum(t, c, tiny.Pictures(t, 100, 3), 4, indices)
	s := tiny.Must(newPrivateStep(c, "auto", b, batcher))(t)
	s.parameters = make([]float32, len(want))
	if e := moved(t, s, s.parameters, indices, want); e > 1e-3 {
		t.Errorf("the step is off by a relative %.2g", e)
	}
}

// A step with correlated noise remembers what steps before it added up: with hardly any noise it
// moves by its own sum all the same, and the memory for the bands is there.
func TestStepWithCorrelatedNoise(t *testing.T) {
	c := tiny.Parse(t, tiny.Convolutional, "training.batch_size=20", "privacy.noise_multiplier=1e-6", "training.sampling=cyclic", "privacy.correlation=banded", "privacy.bands=5")
	indices := []int{0, 1, 2, 5, 8, 13, 21, 34, 55, 89}
	b, batcher, want := clippedSum(t, c, tiny.Pictures(t, 100, 3), 4, indices)
	s := tiny.Must(newPrivateStep(c, "auto", b, batcher))(t)
	for range 7 {
		s.parameters = make([]float32, len(want))
		if e := moved(t, s, s.parameters, indices, want); e > 1e-3 {
			t.Errorf("the step is off by a relative %.2g", e)
		}
	}
	if s.turn != 7 {
		t.Errorf("found turn %d after 7 steps", s.turn)
	}
	if m := tiny.Must(benchMechanism(1, 5, nil))(t).(*release.Correlated); m.Bands() != 5 {
		t.Errorf("found %d bands, expected 5", m.Bands())
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		times []time.Duration
		want  time.Duration
	}{{[]time.Duration{5}, 5}, {[]time.Duration{9, 1, 4}, 4}, {[]time.Duration{1, 2, 3, 100}, 3}} {
		if found := median(test.times); found != test.want {
			t.Errorf("median of %v is %v, expected %v", test.times, found, test.want)
		}
	}
}

// The peak is that of proc(5), and where there is none the runtime's own.
func TestPeakMemory(t *testing.T) {
	if kib, ok := residentPeak("Name:\ttrain\nVmPeak:\t  999 kB\nVmHWM:\t  20480 kB\nVmRSS:\t 100 kB\n"); !ok || kib != 20480 {
		t.Errorf("found %v KiB, %v", kib, ok)
	}
	for _, status := range []string{"", "VmRSS: 5 kB\n", "VmHWM: many kB\n"} {
		if _, ok := residentPeak(status); ok {
			t.Errorf("found a peak in %q", status)
		}
	}
	before := peakMemory()
	block := make([]byte, 64<<20)
	for i := 0; i < len(block); i += os.Getpagesize() {
		block[i] = 1
	}
	if after := peakMemory(); after < before || after < 64 {
		t.Errorf("found a peak of %v MiB, then with 64 MiB more %v", before, after)
	}
}

// In steady state a step allocates nothing but its event and the goroutine that records it, a few
// small objects: gradients, sum, noise and update work in memory that they keep. Single steps may
// allocate more: a worker that takes its first share of some operation, or that finds a pool of
// working memory emptied by the garbage collector or its content held by a worker that was
// interrupted. So of several steps the one with the fewest counts; a step that makes something of
// its own makes it every time.
func TestStepsAllocateNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector, under which short tests run, makes allocations of its own")
	}
	const attempts, few = 30, 4
	views := data.Augmentation{Views: 2, Flip: true, Shift: 2}
	for _, made := range []struct {
		network, policy string
		augmentation    data.Augmentation
	}{
		{"mlp128", "flat", data.NoAugmentation()}, {"mnist-cnn", "flat", data.NoAugmentation()}, {"resnet8-gn", "flat", data.NoAugmentation()},
		{"mnist-cnn", "per_layer", data.NoAugmentation()}, {"mnist-cnn", "adaptive", data.NoAugmentation()},
		{"mlp128", "flat", views}, {"mnist-cnn", "per_layer", views}, {"resnet8-gn", "flat", views},
	} {
		for _, engine := range []string{"ghost", "materialise"} {
			c := benchConfig(t, made.network, 6)
			c.Training.PhysicalBatchSize = 4
			c.Training.Augmentation = made.augmentation
			kind, _ := clip.Policies().Named(made.policy)
			c.Privacy.Clipping = kind.New()
			b := tiny.Must(newBench(c, engine))(t)
			for i := range b.indices {
				b.indices[i] = i
			}
			least := math.Inf(1)
			for i := 0; i < attempts && least > few; i++ {
				least = min(least, testing.AllocsPerRun(1, func() {
					tiny.Check(t, b.step.take(b.indices))
				}))
			}
			if least > few {
				t.Errorf("%v, %s: at least %v allocations in each of %d steps, expected a step with at most %d", made, engine, least, attempts, few)
			}
			b.pool.Close()
		}
	}
}
