package selftest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/model"
	"dpsgd/perexample"
	"dpsgd/release"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Nothing fails on networks with every rule. A correct build fails falsely with the chance that the
// checks state, together below 1e-10.
func TestChecksHold(t *testing.T) {
	for name, overrides := range map[string][]string{
		"every rule": {tiny.Convolutional}, "views, adaptive": {tiny.Convolutional, "training.augmentation.views=2", "training.augmentation.flip=true", "privacy.clipping=adaptive"},
		"adapters":    {tiny.Convolutional, "model.lora.rank=2", "model.train_only=[norms]"},
		"all records": {"training.sampling=full", "privacy.clipping=per_layer"}, "one bin": {"training.sampling=balls_in_bins", "training.batch_size=300"},
		"many blocks": {"training.sampling=cyclic", "training.blocks=7", "privacy.correlation=auto", "privacy.epsilon=8", "privacy.noise_multiplier=calibrated"},
	} {
		t.Run(name, func(t *testing.T) {
			told := 0
			c := tiny.Parse(t, overrides...)
			c.Training.PhysicalBatchSize = 8
			r := tiny.Must(Run(t.Context(), c, tiny.Examples, func(Check) { told++ }))(t)
			for _, check := range r.Checks {
				searched := check.Name != "sensitivity" || strings.HasPrefix(check.Measured, "84 neighbours") // 6 by each engine, and 12 in each round
				if !check.Passed || check.Measured == "" || check.Chance > 2e-11 || !searched {
					t.Errorf("%+v", check)
				}
			}
			if told != len(checks) || r.Records != tiny.Examples || r.Err() != nil {
				t.Errorf("found %+v, told of %d", r, told)
			}
		})
	}
}

// Both factors of an adapter have a gradient, so that faults in their rules are found.
func TestFactorsHaveGradients(t *testing.T) {
	r := tiny.Must(newRig(tiny.Parse(t, tiny.Convolutional, "model.lora.rank=2"), tiny.Examples))(t)
	t.Cleanup(r.pool.Close)
	of := tiny.Must(tiny.Must(r.plain())(t)(0))(t)
	for i, p := range r.model.Parameters() {
		if length(of[i]) == 0 {
			t.Errorf("%s has no gradient", p.Name)
		}
	}
}

// Checks that do not apply say why.
func TestWhatDoesNotApplyIsSkipped(t *testing.T) {
	for name, want := range map[string]struct {
		overrides []string
		holding   int
	}{
		"no privacy":  {[]string{"privacy.none=true"}, 1},
		"few clients": {[]string{"federated.clients=8", "training.batch_size=1"}, 5},
		"dropout":     {[]string{"model.layers=[flatten, {dropout: {p: 0.5}}, {linear: {out_features: classes}}]"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			r, holding := tiny.Must(Run(t.Context(), tiny.Parse(t, want.overrides...), tiny.Examples, func(Check) {}))(t), 0
			for _, check := range r.Checks {
				if check.Passed {
					holding++
				} else if check.Skipped == "" {
					t.Errorf("%+v", check)
				}
			}
			if holding != want.holding || r.Err() != nil {
				t.Errorf("found %d checks that hold, expected %d (%+v)", holding, want.holding, r.Checks)
			}
		})
	}
}

// faulty is a dense layer whose rule and gradient a test spoils.
type faulty struct {
	out      int
	rule     func(perexample.Rule) perexample.Rule
	backward float32 // times the right gradient of its input
}

func (faulty) Kind() string { return "faulty" }

func (l faulty) Forward(p *model.Pass, x *gorgonia.Node) *gorgonia.Node {
	batch, in := x.Shape()[0], x.Shape()[1]
	w := p.Parameter("weight", func(values []float32, src *random.Public) {
		for i := range values {
			values[i] = float32(0.2 * (src.Float64() - 0.5))
		}
	}, []int{l.out, in}, nil)
	pool := p.Pool()
	z := p.Apply(graph.Operation{
		Name: "faulty", Type: tensor.Float32, Shape: []int{batch, l.out},
		Run: func(z graph.Array, a []graph.Array) {
			pool.Gemm(false, true, batch, l.out, in, 1, a[0].Float32, in, a[1].Float32, in, 0, z.Float32, l.out)
		},
		Gradient: func(inputs []*gorgonia.Node, _, dz *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{p.Apply(graph.Operation{
				Name: "faulty-gradient", Type: tensor.Float32, Shape: x.Shape(),
				Run: func(dx graph.Array, a []graph.Array) {
					pool.Gemm(false, false, batch, in, l.out, l.backward, a[0].Float32, l.out, a[1].Float32, in, 0, dx.Float32, in)
				},
			}, dz, inputs[1]), nil}
		},
	}, x, w)
	p.Use(w, l.rule(perexample.DenseWeight{In: in, Out: l.out}), x, z)
	return z
}

// spoilt is a rule with another Former: what sums and stored gradients are made of.
type spoilt struct {
	perexample.Rule
	former func(right perexample.Former) perexample.Former
}

func (s spoilt) Former(pool *kernel.Pool) perexample.Former { return s.former(s.Rule.Former(pool)) }

// scaled multiplies gradients: as a mean over a batch would, or a constant that was forgotten.
func scaled(by float32) func(perexample.Rule) perexample.Rule {
	return func(r perexample.Rule) perexample.Rule {
		return spoilt{r, func(right perexample.Former) perexample.Former {
			return func(worker int, g, x, dz []float32, emit func([]float32)) {
				right(worker, nil, x, dz, func(piece []float32) {
					wrong := make([]float32, len(piece))
					for i, v := range piece {
						wrong[i] = by * v
					}
					g = g[copy(g, wrong):]
					emit(wrong)
				})
			}
		}}
	}
}

// leaking adds something of the example before to each gradient.
func leaking(share float32) func(perexample.Rule) perexample.Rule {
	var mutex sync.Mutex
	before := float32(0)
	return func(r perexample.Rule) perexample.Rule {
		return spoilt{r, func(right perexample.Former) perexample.Former {
			return func(worker int, g, x, dz []float32, emit func([]float32)) {
				mutex.Lock()
				leak := share * before
				before = dz[0]
				mutex.Unlock()
				first := true
				right(worker, nil, x, dz, func(piece []float32) {
					if first {
						piece[0] += leak
						first = false
					}
					g = g[copy(g, piece):]
					emit(piece)
				})
			}
		}}
	}
}

func honest(r perexample.Rule) perexample.Rule { return r }

// A fault in one layer is found by the check that is made for it, which names the layer and what to
// do.
func TestPlantedFaultsAreFoundAndNamed(t *testing.T) {
	for name, c := range map[string]struct {
		layer faulty
		check string
		named string
	}{
		"the right one":               {faulty{6, honest, 1}, "", ""},
		"gradients of half the size":  {faulty{6, scaled(0.5), 1}, "gradients", "layer 2 (faulty), parameter 2.weight"},
		"gradients off by 1 %":        {faulty{6, scaled(1.01), 1}, "gradients", "layer 2 (faulty), parameter 2.weight"},
		"no gradients":                {faulty{6, scaled(0), 1}, "gradients", "layer 2 (faulty), parameter 2.weight"},
		"gradients that are none":     {faulty{6, scaled(float32(math.NaN())), 1}, "gradients", "layer 2 (faulty), parameter 2.weight"},
		"gradients of the neighbour":  {faulty{6, leaking(1e-5), 1}, "isolation", "layer 2 (faulty), parameter 2.weight"},
		"a backward pass of half":     {faulty{6, honest, 0.5}, "derivatives", "layer 1 (linear), parameter 1.weight"},
		"a backward pass of one sign": {faulty{6, honest, -1}, "derivatives", "layer 1 (linear), parameter 1.weight"},
	} {
		t.Run(name, func(t *testing.T) {
			r := faultyNetwork(t, c.layer)
			var failed []string
			for _, check := range checks[:3] {
				done := tiny.Must(check.carryOut(r))(t)
				if done.Passed {
					continue
				}
				failed = append(failed, done.Name)
				if done.Name == c.check && (done.Means == "" || !strings.Contains(done.Faults[0], c.named)) {
					t.Errorf("found %+v, expected %q to be named", done, c.named)
				}
			}
			if !slices.Equal(failed, strings.Fields(c.check)) {
				t.Errorf("found that %q failed, expected %q", failed, c.check)
			}
		})
	}
}

// faultyNetwork has a layer of a test between others.
func faultyNetwork(t *testing.T, l faulty) *rig {
	t.Helper()
	c := tiny.Parse(t)
	c.Model.Name, c.Model.Layers = "", model.Sequential{model.Flatten{}, model.Linear{Out: 5}, l, model.Tanh, model.Linear{Out: model.NumClasses}}
	r := tiny.Must(newRig(c, tiny.Examples))(t)
	t.Cleanup(r.pool.Close)
	return r
}

// A sum that one record moves too far, a mechanism and a sampler that are not those of the plan's
// event are found.
func TestPlantedFaultsBehindTheGradientsAreFound(t *testing.T) {
	half := tiny.Must(release.NewGaussian(0.5, nil))(t)
	for name, c := range map[string]struct {
		rule  func(perexample.Rule) perexample.Rule
		spoil func(*rig)
		check string
	}{
		"half the noise":      {honest, func(r *rig) { r.plan.Mechanism = claimed{half} }, "noise"},
		"batches of one size": {honest, func(r *rig) { r.plan.Sampler = shuffled{r.plan.Sampler.(data.Poisson)} }, "samples"},
		"others move as well": {leaking(100), func(*rig) {}, "sensitivity"},
	} {
		t.Run(name, func(t *testing.T) {
			r := faultyNetwork(t, faulty{6, c.rule, 1})
			c.spoil(r)
			for _, check := range checks[3:6] {
				if done := tiny.Must(check.carryOut(r))(t); done.Passed == (done.Name == c.check) {
					t.Errorf("found %+v, expected that %q fails", done, c.check)
				}
			}
		})
	}
}

// Examples that change no sum, and samples that lack a record where all are to be in them, are found.
func TestWhatIsMissingIsFound(t *testing.T) {
	r := faultyNetwork(t, faulty{6, honest, 1})
	r.config.Model.Layers = model.Sequential{model.Flatten{}, faulty{r.outline.Classes, scaled(0), 1}}
	if found := tiny.Must(replay(r))(t); len(found.faults) != 1 || !strings.Contains(found.faults[0], "the same sums of both runs") {
		t.Errorf("found %+v of gradients that are 0", found)
	}
	if found := everybody(func(n int) []int { return span(1, n) }); len(found.faults) != 1 {
		t.Errorf("found %+v of all records but one", found)
	}
}

// A check tells each thing that it looks at: both engines, norms beside gradients, sums that differ
// beside sums that move too far.
func TestEveryFaultIsTold(t *testing.T) {
	half, leak := faultyNetwork(t, faulty{6, scaled(0.5), 1}), faultyNetwork(t, faulty{6, leaking(100), 1})
	told := strings.Join(append(tiny.Must(engines(half))(t).faults, tiny.Must(sensitivity(leak))(t).faults...), "\n")
	for _, want := range []string{"norms by the materialise engine", "gradients by the ghost engine", "another sum of integers", "of random examples: found that one record moves", "searched for: found that one record moves"} {
		if !strings.Contains(told, want) {
			t.Errorf("found no %q in\n%s", want, told)
		}
	}
}

// claimed is a mechanism that says twice the noise that it adds.
type claimed struct{ release.Mechanism }

func (m claimed) Deviation(step int, bound float64) float64 {
	return 2 * m.Mechanism.Deviation(step, bound)
}

// shuffled draws batches of one size.
type shuffled struct{ data.Poisson }

func (s shuffled) Sample(_ []int, n int, src *random.Source) []int {
	drawn := make([]int, int(s.SamplingProbability*float64(n)))
	first := int(src.Uint64() % uint64(n-len(drawn)))
	for i := range drawn {
		drawn[i] = first + i
	}
	return drawn
}

// The error names the checks that failed.
func TestErrNamesWhatFailed(t *testing.T) {
	r := Result{Checks: []Check{{Name: "noise"}, {Name: "samples", Passed: true}, {Name: "replay", Skipped: "why"}}}
	if err := r.Err(); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), `["noise"]`) {
		t.Errorf("found %v", err)
	}
}

// What chance broke is drawn anew; what is broken three times in a row fails.
func TestChanceIsDrawnAnew(t *testing.T) {
	for broken := range 4 {
		drawn := 0
		done := tiny.Must(check{applies: func(*rig) string { return "" }, run: func(*rig) (finding, error) {
			drawn++
			return finding{chance: 1e-4, faults: make([]string, max(0, broken-drawn+1))}, nil
		}}.carryOut(nil))(t)
		if done.Passed != (broken < 3) || drawn != min(broken+1, 3) || !(math.Abs(done.Chance-1e-12) <= 1e-20) {
			t.Errorf("broken %d times: found %+v after %d sets of draws", broken, done, drawn)
		}
	}
}
