package records

import (
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/internal/sgd"
	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// tinyClients are clients with the stripes of package tiny, and the model that rounds begin with.
func tinyClients(t *testing.T, threads int, overrides ...string) (*configs.Config, *model.Model, *data.Images, *Clients) {
	t.Helper()
	c := tiny.Parse(t, append([]string{"federated.clients=20"}, overrides...)...)
	images := tiny.Pictures(t, tiny.Examples, 1)
	m := tiny.Must(setup.Model(c, images.Shape(), len(images.Classes())))(t)
	pool := kernel.NewPool(threads)
	t.Cleanup(pool.Close)
	clients := tiny.Must(NewClients(c, m, images, images.Shape(), pool))(t)
	return c, m, images, clients
}

// changes is what each of these clients contributes, computed together.
func changes(t *testing.T, c *Clients, indices ...int) [][]float32 {
	t.Helper()
	batch := tiny.Must(c.Contributions(indices))(t)
	out := make([][]float32, len(indices))
	for i := range indices {
		for _, p := range batch.Parts {
			p.(clip.Rows).Form(0, i, func(piece []float32) { out[i] = append(out[i], piece...) })
		}
	}
	return out
}

// reference is what a client contributes, in float64, for a layer of softmax regression: weights
// (classes, pixels), then the bias.
func reference(m *model.Model, images *data.Images, steps [][]int, rate float64) []float64 {
	classes, pixels := len(images.Classes()), images.Shape().Values()
	begin := make([]float64, len(m.Values))
	for i, v := range m.Values {
		begin[i] = float64(v)
	}
	now := slices.Clone(begin)
	for _, batch := range steps {
		gradient := make([]float64, len(now))
		for _, example := range batch {
			logits, sum := make([]float64, classes), 0.0
			for k := range classes {
				logits[k] = now[classes*pixels+k]
				for j, p := range images.Pixels(example) {
					logits[k] += now[k*pixels+j] * float64(p) / 255
				}
				sum += math.Exp(logits[k])
			}
			for k := range classes {
				d := math.Exp(logits[k])/sum - map[bool]float64{true: 1}[k == images.Label(example)]
				gradient[classes*pixels+k] += d
				for j, p := range images.Pixels(example) {
					gradient[k*pixels+j] += d * float64(p) / 255
				}
			}
		}
		for i := range now {
			now[i] -= rate * gradient[i] / float64(len(batch))
		}
	}
	for i := range now {
		now[i] = begin[i] - now[i]
	}
	return now
}

// Local steps are those of a slow reference, in every round, and move nothing but what is returned.
func TestLocalStepsAgainstReference(t *testing.T) {
	_, m, images, c := tinyClients(t, 2, "federated.local_steps=7", "federated.local_batch_size=4", "federated.local_learning_rate=0.3")
	before := slices.Clone(m.Values)
	seeds := map[uint64]bool{}
	for round := range 3 {
		for client := range c.AtRound(round).own {
			seeds[c.seed(client)] = true
		}
		for i, got := range changes(t, c.AtRound(round), 3, 0, 19) {
			client := []int{3, 0, 19}[i]
			batches := sgd.NewBatches(c.own[client], 4, c.seed(client))
			var steps [][]int
			for s := range 7 {
				steps = append(steps, slices.Clone(batches.At(s)))
			}
			for k, want := range reference(m, images, steps, 0.3) {
				if math.Abs(float64(got[k])-want) > 1e-5 {
					t.Fatalf("round %d, client %d: parameter %d moves by %g, expected %g", round, client, k, got[k], want)
				}
			}
		}
	}
	if !slices.Equal(m.Values, before) {
		t.Error("clients move the model that rounds begin with")
	}
	if len(seeds) != 3*20 {
		t.Errorf("20 clients have %d seeds in 3 rounds, expected one each", len(seeds))
	}
	var once sync.Once
	c.runEach = func(int, int, int) { once.Do(func() { c.errs[1] = setup.ErrPlan }) }
	if _, err := c.Contributions([]int{0, 1}); err != setup.ErrPlan {
		t.Errorf("the error of a second worker: found %v", err)
	}
}

// The networks of clients have the frozen parameters of the run.
func TestClientsHaveTheFrozenParameters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "init.safetensors")
	_, given, _, _ := tinyClients(t, 1)
	for i := range given.Values {
		given.Values[i] = float32(i)
	}
	tiny.Check(t, checkpoints.WriteModel(path, given.Export(), nil))
	_, _, _, c := tinyClients(t, 1, "model.init="+path, "model.init_trained_on=public", "model.freeze=[biases]")
	copy(c.workers[0].model.Values, given.Values)
	if found := c.workers[0].model.Export(); !reflect.DeepEqual(found, given.Export()) {
		t.Errorf("found %v, expected those of the file", found)
	}
}

// One client with all examples and one step: what it contributes is the gradient of their mean
// loss, times the local learning rate.
func TestOneStepOfOneClientIsTheGradient(t *testing.T) {
	_, m, images, c := tinyClients(t, 1, "federated.clients=1", "federated.local_steps=1", "federated.local_batch_size=1000", "federated.local_learning_rate=0.25")
	all := make([]int, images.Len())
	for i := range all {
		all[i] = i
	}
	got := changes(t, c, 0)[0]
	for k, want := range reference(m, images, [][]int{all}, 0.25) {
		if math.Abs(float64(got[k])-want) > 1e-6 {
			t.Fatalf("parameter %d moves by %g, expected %g", k, got[k], want)
		}
	}
}

// A client contributes the same, bit for bit, whoever else is in the sample, on any number of
// threads, and before or after others.
func TestClientsAreIsolated(t *testing.T) {
	_, _, _, one := tinyClients(t, 1)
	_, _, _, three := tinyClients(t, 3)
	alone := changes(t, one, 7)[0]
	all := make([]int, 20)
	for i := range all {
		all[i] = i
	}
	for _, c := range []*Clients{one, three} {
		if !slices.Equal(changes(t, c, all...)[7], alone) {
			t.Error("the contribution of a client depends on the others")
		}
		if !slices.Equal(changes(t, c, 19, 7)[1], alone) {
			t.Error("the contribution of a client depends on its place")
		}
	}
}

// A client without examples adds zero, and one whose parameters leave the range of float32 adds
// zero to the sum; what a client with a huge rate adds is bounded by C.
func TestClientsStayWithinTheBound(t *testing.T) {
	const bound = 0.5
	for _, rate := range []string{"0.1", "1000"} {
		_, m, _, c := tinyClients(t, 2, "federated.local_steps=40", "federated.local_learning_rate="+rate)
		c.own[4] = nil
		for _, spoiled := range []float32{0, float32(math.NaN()), float32(math.Inf(1)), 1e30} {
			m.Values[5] = spoiled
			for client := range 6 {
				sum := tiny.Must(clip.NewSum(clip.Flat{ClipNorm: bound}, c.Coordinates(), nil))(t)
				batch := tiny.Must(c.Contributions([]int{client}))(t)
				tiny.Check(t, sum.Add(batch, 1))
				square := 0.0
				sum.Release(func(integers clip.Integers, l clip.Lattice) {
					values := make([]int64, sum.Dim())
					integers(values, 0)
					for _, v := range values {
						square += float64(v) * l.Spacing * float64(v) * l.Spacing
					}
				})
				garbage := math.IsNaN(float64(spoiled)) || math.IsInf(float64(spoiled), 0)
				if !(square <= bound*bound) || (client == 4 || garbage) && square != 0 {
					t.Errorf("rate %s, parameter %g: client %d adds a vector of norm %g, expected at most %g, and 0 of a client without examples or of no number", rate, spoiled, client, math.Sqrt(square), bound)
				}
			}
		}
	}
}

// Under a policy that counts, each client counts itself in a coordinate of its own.
func TestClientsAreCounted(t *testing.T) {
	_, m, _, c := tinyClients(t, 2)
	policy := (&clip.Adaptive{Quantile: 0.5, Rate: 0.2, CountShare: 0.01}).WithBound(0.1)
	c.ClipBy(policy)
	c.ClipBy(policy) // as at every bound
	if c.Coordinates() != len(m.Values)+1 {
		t.Fatalf("a client contributes %d values, expected one more than the %d parameters", c.Coordinates(), len(m.Values))
	}
	sum := tiny.Must(clip.NewSum(policy, c.Coordinates(), nil))(t)
	batch := tiny.Must(c.Contributions([]int{1, 2, 3}))(t)
	tiny.Check(t, sum.Add(batch, 3))
	for _, count := range c.counts[:3] {
		if count == 0 {
			t.Errorf("a client counts 0")
		}
	}
}

// The mean of each client's rows of norm 1 is what is released of features: at most 1 long.
func TestMeansOfClients(t *testing.T) {
	halves := make([]uint16, 12)
	kernel.ToHalves(halves, []float32{1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0})
	rows := tiny.Must(data.NewFeatures(3, []string{"a", "b"}, make([]uint8, 4), halves))(t)
	r := Records{Clients: &Clients{own: [][]int{{0, 1}, {}, {2}, {0, 3}}}}
	m := tiny.Must(r.Rows(rows))(t)
	for client, want := range [][]float32{{0.5, 0.5, 0}, {0, 0, 0}, {0, 0, 1}, {0, 0, 0}} {
		batch := tiny.Must(m.Contributions([]int{client}))(t)
		batch.Parts[0].(clip.Rows).Form(0, 0, func(got []float32) {
			if !slices.Equal(got, want) {
				t.Errorf("client %d contributes %v, expected %v", client, got, want)
			}
		})
	}
}
