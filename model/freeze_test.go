package model_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// choices of parameters to freeze.
var choices = map[string]func(i, n int) bool{
	"all but the first": func(i, n int) bool { return i > 0 },
	"every second":      func(i, n int) bool { return i%2 == 0 },
	"one inside":        func(i, n int) bool { return i == n/2 },
	"all but one":       func(i, n int) bool { return i != n/2 },
}

// A network with frozen parameters computes the same, and an example's gradient and its length
// cover the trained parameters and no other.
func TestFrozenParametersHaveNoGradient(t *testing.T) {
	const n = 3
	for _, net := range slices.Concat(networks, sequenceNetworks) {
		for choice, frozen := range choices {
			t.Run(net.name+", "+choice, func(t *testing.T) {
				plain := network{layers: net.layers, input: net.input}
				whole, m := plain.model(t), plain.model(t)
				var names []string
				var trained []model.Parameter
				for i, p := range whole.Parameters() {
					if frozen(i, len(whole.Parameters())) {
						names = append(names, p.Name)
					} else {
						trained = append(trained, p)
					}
				}
				if len(trained) == 0 {
					t.Skip("a single parameter")
				}
				tiny.Check(t, m.Freeze(names))
				if len(m.Values)+m.FrozenValues() != len(whole.Values)+whole.FrozenValues() || len(m.Parameters()) != len(trained) {
					t.Fatalf("%d values are trained and %d frozen, expected %d together", len(m.Values), m.FrozenValues(), len(whole.Values))
				}
				of := func(vector []float32) (part []float32) {
					for _, p := range trained {
						part = append(part, vector[p.Offset:p.Offset+p.Size()]...)
					}
					return part
				}
				if !slices.Equal(m.Values, of(whole.Values)) {
					t.Fatal("Values are not those of the trained parameters")
				}
				in := draw(m, n, 3)
				for _, engine := range engines {
					all := newStep(t, whole, options{batch: n, engine: engine, clipNorm: 1}).run(t, in)
					got := newStep(t, m, options{batch: n, engine: engine, clipNorm: 1}).run(t, in)
					if !sameBits(got.logits, all.logits) {
						t.Errorf("%v: other logits", engine)
					}
					for i := range n {
						want := of(all.gradients[i])
						if d := distance(got.gradients[i], want); d > 1e-6*norm(all.gradients[i]) {
							t.Errorf("%v: gradient %d is off that of the whole network by %.2g", engine, i, d)
						}
						if d := math.Abs(math.Sqrt(got.squaredNorms[i]) - norm(want)); d > 1e-5*norm(want) {
							t.Errorf("%v: norm %d is off that of the trained parameters by %.2g", engine, i, d)
						}
					}
					if len(got.sum) != len(m.Values) {
						t.Errorf("%v: the sum has %d coordinates, expected %d", engine, len(got.sum), len(m.Values))
					}
				}
			})
		}
	}
}

// A layer stands for all that it holds, and nothing else; tensors go in and out as without
// freezing.
func TestFreezeByName(t *testing.T) {
	net := model.Sequential{model.Flatten{}, model.Linear{Out: 5},
		model.Residual{Body: model.Sequential{model.Linear{Out: 5}, model.SiLU}}, model.Linear{Out: classes}}
	m := newModel(t, net)
	before := m.Export()
	tiny.Check(t, m.Freeze([]string{"2", "1.bias"}))
	tiny.Check(t, m.Freeze(nil))
	var left []string
	for _, p := range m.Parameters() {
		left = append(left, p.Name)
	}
	if want := []string{"1.weight", "3.weight", "3.bias"}; !slices.Equal(left, want) || m.FrozenValues() != 5+30 {
		t.Errorf("%q are trained and %d values frozen, expected %q and 35", left, m.FrozenValues(), want)
	}
	if trained, frozen := m.Sizes(); trained != len(m.Values) || frozen != m.FrozenValues() {
		t.Errorf("found the sizes %d and %d, expected %d and %d", trained, frozen, len(m.Values), m.FrozenValues())
	}
	for i, tensor := range m.Export() {
		if tensor.Name != before[i].Name || !slices.Equal(tensor.Data, before[i].Data) {
			t.Errorf("tensor %d is %s, with other values than %s had before", i, tensor.Name, before[i].Name)
		}
	}
	for i := range before {
		before[i].Data[0]++
	}
	tiny.Check(t, m.Import(before))
	for i, tensor := range m.Export() {
		if !slices.Equal(tensor.Data, before[i].Data) {
			t.Errorf("%s was not taken in", tensor.Name)
		}
	}
}

func TestFreezeRefuses(t *testing.T) {
	for want, names := range map[string][]string{
		`found no layer with parameters and no parameter called "7", expected a name such as "0" or "0.weight"`: {"7"},
		`called "1"`:      {"1"}, // tanh
		`called "0.weig"`: {"0.weig"},
		`called ""`:       {""},
		"all 4 parameters are frozen, expected at least one to train": {"0", "3"},
	} {
		m := newModel(t, networks[0].layers)
		before := slices.Clone(m.Values)
		err := m.Freeze(names)
		if err == nil || !strings.Contains(err.Error(), want) || !slices.Equal(m.Values, before) || m.FrozenValues() != 0 || len(m.Parameters()) != 4 {
			t.Errorf("%q: error is %v, expected one that says %q and nothing changed", names, err, want)
		}
	}
}

// Training begins with the tensors of a file, in PyTorch's layout, but for what is named.
func TestStart(t *testing.T) {
	m, from := newModel(t, networks[0].layers), newModel(t, networks[0].layers)
	for i := range from.Values {
		from.Values[i] = float32(i)
	}
	random, tensors := m.Export(), from.Export()
	tensors = append(tensors, model.Tensor{Name: "9.weight", Shape: []int{1}, Data: []float32{1}}) // more than the network has
	tensors[2] = model.Tensor{Name: "3.weight", Shape: []int{10, 120}}                             // another number of classes
	tiny.Check(t, m.Freeze([]string{"0"}))
	tiny.Check(t, m.Start(tensors, []string{"3"}))
	for i, tensor := range m.Export() {
		want := tensors[i].Data
		if i >= 2 {
			want = random[i].Data
		}
		if !slices.Equal(tensor.Data, want) {
			t.Errorf("%s begins with %v, expected %v", tensor.Name, tensor.Data, want)
		}
	}
	for want, c := range map[string]struct {
		tensors []model.Tensor
		except  []string
	}{
		`tensor "3.weight" has shape [10 120] with 0 values, expected [3 120]`: {tensors, nil},
		`tensor "0.bias" is missing`: {tensors[2:4], []string{"0.weight", "3"}},
		`called "tail"`:              {tensors, []string{"tail"}},
	} {
		before := m.Export()
		if err := m.Start(c.tensors, c.except); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected one that says %q", err, want)
		}
		for i, tensor := range m.Export() {
			if !slices.Equal(tensor.Data, before[i].Data) {
				t.Errorf("%s: %s changed", want, tensor.Name)
			}
		}
	}
}
