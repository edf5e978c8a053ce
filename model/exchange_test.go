package model_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// Initial weights come from the seed alone: uniform in ±1/√fan_in, gains 1 and shifts 0.
func TestInitialWeights(t *testing.T) {
	layers := model.Sequential{
		conv(4, 3, 1, 0), model.GroupNorm{Groups: 2}, model.Flatten{}, model.Linear{Out: classes}}
	values := func(seed uint64) []float32 {
		m := tiny.Must(model.New(layers, input, classes, seed))(t)
		return m.Values
	}
	if !slices.Equal(values(7), values(7)) {
		t.Error("one seed gave two networks")
	}
	if slices.Equal(values(7), values(8)) {
		t.Error("two seeds gave one network")
	}
	m, _ := model.New(layers, input, classes, 7)
	for i, bound := range []struct{ low, high float64 }{
		{-1 / math.Sqrt(18), 1 / math.Sqrt(18)}, {-1 / math.Sqrt(18), 1 / math.Sqrt(18)}, // 3·3·2 taps
		{1, 1}, {0, 0},
		{-1 / math.Sqrt(48), 1 / math.Sqrt(48)}, {-1 / math.Sqrt(48), 1 / math.Sqrt(48)}, // 4·3·4 features
	} {
		p := m.Parameters()[i]
		data := m.Export()[i].Data
		low, high := float64(slices.Min(data)), float64(slices.Max(data))
		if low < bound.low || high > bound.high {
			t.Errorf("%s lies in [%v, %v], expected it in [%v, %v]", p.Name, low, high, bound.low, bound.high)
		}
		// 72 and 144 uniform weights all below 0.7 of the bound: a chance of 0.7^72 = 7e-12.
		if p.Name == "0.weight" || p.Name == "3.weight" {
			if high < 0.7*bound.high || low > 0.7*bound.low {
				t.Errorf("%s lies in [%v, %v], expected it to fill [%v, %v]", p.Name, low, high, bound.low, bound.high)
			}
		}
	}
}

// Layers of sequences begin with PyTorch's laws: means of 0 and these deviations.
func TestInitialWeightsOfSequences(t *testing.T) {
	layers := model.Sequential{model.Embedding{Width: 40}, model.ClassToken{}, model.PositionalEmbedding{}, model.Attention{Heads: 2},
		model.LSTM{Recurrent: model.Recurrent{Hidden: 9, Last: true}}, model.Linear{Out: 30}, model.Linear{Out: classes}}
	deviations := map[string]float64{"0.weight": 1, "1.token": 0.02, "2.weight": 0.02, "3.in_proj_weight": math.Sqrt(2.0 / 160),
		"3.in_proj_bias": 0, "3.out_proj.weight": 1 / math.Sqrt(120), "3.out_proj.bias": 0, "5.bias": 1 / math.Sqrt(27)}
	for _, p := range tiny.Must(model.New(layers, model.Input{Length: 60, Vocabulary: 50}, classes, 1))(t).Export() {
		want, listed := deviations[p.Name]
		if !listed && strings.HasSuffix(p.Name, "_l0") {
			want, listed = 1/math.Sqrt(27), true
		}
		mean, found := 0.0, norm(p.Data)/math.Sqrt(float64(len(p.Data)))
		for _, v := range p.Data {
			mean += float64(v) / float64(len(p.Data))
		}
		if listed && (math.Abs(found-want) > 0.25*want || math.Abs(mean) > 0.4*want) {
			t.Errorf("%s has the mean %v and the deviation %v, expected 0 and %v", p.Name, mean, found, want)
		}
	}
}

// A network that imports another one's tensors, in any order, is that network; exports are copies.
func TestExportImportRoundTrip(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, net network) {
		from := net.model(t)
		to := net.fresh(t, 99)
		tensors := from.Export()
		slices.Reverse(tensors)
		tiny.Check(t, to.Import(tensors))
		if !slices.Equal(to.Values, from.Values) {
			t.Error("values changed on the way")
		}
		tensors[0].Data[0]++
		tensors[0].Shape[0]++
		if !slices.Equal(to.Values, from.Values) || from.Export()[len(tensors)-1].Shape[0] == tensors[0].Shape[0] {
			t.Error("exported tensors share memory with the model")
		}
	})
}

// Import changes the values that graphs declared before will read.
func TestImportReachesDeclaredGraphs(t *testing.T) {
	m := newModel(t, networks[0].layers)
	s := newStep(t, m, options{batch: 1, clipNorm: 1})
	in := draw(m, 1, 3)
	before := s.run(t, in)
	tensors := m.Export()
	for i := range tensors[0].Data {
		tensors[0].Data[i] += 0.5
	}
	tiny.Check(t, m.Import(tensors))
	after := s.run(t, in)
	if sameBits(before.logits, after.logits) {
		t.Error("logits did not change")
	}
	if !sameBits(after.logits, predict(t, m, in)) {
		t.Error("the graph from before and one from now give different logits")
	}
}

// What does not match the network exactly is refused, and nothing is changed.
func TestImportRefuses(t *testing.T) {
	type tensors = []model.Tensor
	for _, test := range []struct {
		name   string
		change func(t tensors) tensors
		want   string
	}{
		{"unknown name", func(t tensors) tensors { t[0].Name = "7.weight"; return t }, `found a tensor "7.weight" that the network does not have, expected one of 4 parameters such as "0.weight"`},
		{"tensor too many", func(t tensors) tensors { return append(t, model.Tensor{Name: "9.running_mean"}) }, `found a tensor "9.running_mean"`},
		{"missing", func(t tensors) tensors { return t[1:] }, `tensor "0.weight" is missing`},
		{"none", func(tensors) tensors { return nil }, `tensor "0.weight" is missing`},
		{"twice", func(t tensors) tensors { return append(t, t[1]) }, `found tensor "0.bias" twice`},
		{"memory order", func(t tensors) tensors { t[0].Shape = []int{4, 3, 3, 2}; return t }, `tensor "0.weight" has shape [4 3 3 2] with 72 values, expected [4 2 3 3]`},
		{"flat", func(t tensors) tensors { t[0].Shape = []int{72}; return t }, `tensor "0.weight" has shape [72]`},
		{"short", func(t tensors) tensors { t[2].Data = t[2].Data[1:]; return t }, `tensor "3.weight" has shape [3 120] with 359 values, expected [3 120]`},
		{"NaN", func(t tensors) tensors { t[3].Data[2] = nan; return t }, `tensor "3.bias" holds a value that is not finite`},
		{"infinite", func(t tensors) tensors { t[0].Data[0] = -infinity; return t }, `tensor "0.weight" holds a value that is not finite`},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newModel(t, networks[0].layers)
			before := slices.Clone(m.Values)
			source := newModel(t, networks[0].layers)
			for i := range source.Values {
				source.Values[i]++
			}
			err := m.Import(test.change(source.Export()))
			if err == nil || !strings.HasPrefix(err.Error(), "model: ") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %v, expected a line with %q", err, test.want)
			}
			if !slices.Equal(m.Values, before) {
				t.Error("values changed")
			}
		})
	}
}

// The constants of a frozen normalisation are no part of what is trained, and a variance below 0 is
// refused. A network of constants alone has nothing to train.
func TestConstantsAreNotTrained(t *testing.T) {
	m := newModel(t, model.Sequential{conv(4, 3, 1, 0), model.FrozenBatchNorm{}, model.Flatten{}, model.Linear{Out: classes}})
	for _, p := range m.Parameters() {
		if strings.HasPrefix(p.Name, "1.") {
			t.Errorf("found %s among the parameters that are trained", p.Name)
		}
	}
	tensors := m.Export()
	i := slices.IndexFunc(tensors, func(t model.Tensor) bool { return t.Name == "1.running_var" })
	tensors[i].Data[2] = -0.5
	if err := m.Import(tensors); err == nil || err.Error() != `model: tensor "1.running_var" holds -0.5, expected variances, which are at least 0` {
		t.Errorf("found %v, expected a refusal of the variance", err)
	}
	_, err := model.New(model.Sequential{model.FrozenBatchNorm{}, model.Flatten{}}, model.Input{Height: 1, Width: 1, Channels: classes}, classes, 1)
	if err == nil || !strings.Contains(err.Error(), "the network has no parameters") {
		t.Errorf("found %v, expected a refusal of a network with nothing to train", err)
	}
}
