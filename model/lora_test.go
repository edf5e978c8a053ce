package model_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// adaptedNetworks are those of the contract suite that have adapters.
func adaptedNetworks() []network {
	return slices.DeleteFunc(slices.Concat(networks, sequenceNetworks), func(n network) bool { return n.lora.Rank == 0 })
}

// An adapted network begins as the network without adapters; A is drawn from PEFT's range, and
// is no copy of weights.
func TestAdaptersBeginAtNothing(t *testing.T) {
	for _, net := range adaptedNetworks() {
		t.Run(net.name, func(t *testing.T) {
			m, plain := net.fresh(t, 1), tiny.Must(model.New(net.layers, net.in(), classes, 1))(t)
			if in := draw(m, 3, 3); !sameBits(predict(t, m, in), predict(t, plain, in)) {
				t.Error("found other logits than without adapters")
			}
			for _, tensor := range m.Export() {
				switch {
				case strings.HasSuffix(tensor.Name, "lora_B.weight"):
					if slices.ContainsFunc(tensor.Data, func(v float32) bool { return v != 0 }) {
						t.Errorf("%s does not begin at 0", tensor.Name)
					}
				case strings.HasSuffix(tensor.Name, "lora_A.weight"):
					bound := float32(1 / math.Sqrt(float64(tensor.Shape[1])))
					if slices.Max(tensor.Data) > bound || slices.Min(tensor.Data) < -bound || slices.Max(tensor.Data) == slices.Min(tensor.Data) {
						t.Errorf("%s lies in [%v, %v], expected it in ±%v", tensor.Name, slices.Min(tensor.Data), slices.Max(tensor.Data), bound)
					}
					if slices.ContainsFunc(plain.Values, func(v float32) bool { return v == tensor.Data[0] }) {
						t.Errorf("%s has a value of the network's other weights", tensor.Name)
					}
				}
			}
		})
	}
}

// PEFT and PyTorch compute the same logits, losses, per-example gradients of what is trained and
// three steps of training from the same tensors.
func TestAdaptersAndTiedWeightsEqualPyTorch(t *testing.T) {
	in := model.Input{Length: 9, Vocabulary: 7}
	nets := []network{
		{name: "adapters", input: in, lora: model.LoRA{Rank: 2, Alpha: 5}, layers: model.Sequential{model.Embedding{Width: 6},
			model.TransformerEncoder{Heads: 2, FeedForward: 8, NormFirst: true, Activation: "gelu"}, model.MeanOverSequence{}, model.Linear{Out: 3}}},
		{name: "tied", input: in, layers: model.Sequential{model.Embedding{Width: 6}, model.Linear{Out: 6}, model.Tanh, model.TiedLinear{}, model.MeanOverSequence{}, model.Linear{Out: 3}}},
	}
	g := readGolden(t, "adapters.json")
	for i, net := range nets {
		m, compared := net.fresh(t, 1), 0
		g.Networks[i].check(t, m, g.Source)
		for _, p := range g.Networks[i].Parameters {
			if p.Gradients != nil {
				compared++
			}
		}
		if want := len(m.Parameters()); g.Networks[i].Name != net.name || compared != want {
			t.Errorf("%s: found gradients of %d parameters, expected %d", net.name, compared, want)
		}
	}
}

// The gradient of tied weights is the sum of those of both uses, and is clipped as one: of examples
// that are chosen so that both point the same way, none adds more than the clip norm. A twin that
// clips by the norms of both uses lets one add more.
func TestTiedWeightsAreClippedOnce(t *testing.T) {
	const clipNorm, examples = 0.1, 40
	tied := network{input: words, layers: model.Sequential{model.Embedding{Width: 4}, model.MeanOverSequence{}, model.TiedLinear{}, model.Linear{Out: classes}}}
	apart := network{input: words, layers: model.Sequential{model.Embedding{Width: 4}, model.MeanOverSequence{}, model.Linear{Out: words.Vocabulary, NoBias: true}, model.Linear{Out: classes}}}
	furthest := 0.0
	for seed := range uint64(4) {
		m, both := tied.fresh(t, seed), apart.fresh(t, seed)
		for i, v := range normals(len(m.Values), seed) {
			m.Values[i] = v
		}
		tensors, tables := m.Export(), both.Export()
		tables[0].Data, tables[1].Data, tables[2].Data, tables[3].Data = tensors[0].Data, tensors[0].Data, tensors[1].Data, tensors[2].Data
		tiny.Check(t, both.Import(tables))
		in := draw(m, examples, seed)
		size := len(tensors[0].Data)
		separate := newStep(t, both, options{batch: examples, clipNorm: clipNorm}).run(t, in)
		for _, engine := range engines {
			alone := newStep(t, m, options{batch: 1, engine: engine, clipNorm: clipNorm})
			for i := range examples {
				got, uses := alone.run(t, in.part(i, i+1)), separate.gradients[i]
				want := slices.Clone(uses[size:])
				for j := range size {
					want[j] += uses[j]
				}
				if d := distance(got.gradients[0], want); d > 1e-5*norm(want) {
					t.Errorf("%v: gradient %d is off the sum of both uses by %.2g", engine, i, d)
				}
				if d := math.Abs(math.Sqrt(got.squaredNorms[0]) - norm(want)); d > 1e-5*norm(want) {
					t.Errorf("%v: norm %d is off that of the sum by %.2g", engine, i, d)
				}
				if n := norm(got.sum); n > clipNorm {
					t.Errorf("%v: example %d adds %v, expected at most %v", engine, i, n, clipNorm)
				}
				furthest = max(furthest, norm(want)/norm(uses))
			}
		}
	}
	if furthest < 1.1 {
		t.Errorf("the twin lets an example add %v of the clip norm, expected examples that find it out", furthest)
	}
}

// The merged tensors are those of the network without adapters, and give the same logits.
func TestMergedPredictsTheSame(t *testing.T) {
	for _, net := range adaptedNetworks() {
		t.Run(net.name, func(t *testing.T) {
			m, plain := net.model(t), tiny.Must(model.New(net.layers, net.in(), classes, 1))(t)
			tiny.Check(t, plain.Import(m.Merged()))
			in := draw(m, 3, 3)
			if got, want := predict(t, plain, in), predict(t, m, in); distance(got, want) > 1e-5*norm(want) {
				t.Errorf("merged logits are %v, expected %v", got, want)
			}
		})
	}
}

// What is trained: factors, never a weight that has some, and what the words stand for.
func TestTrainOnly(t *testing.T) {
	block := model.Sequential{model.Embedding{Width: 4}, model.TransformerEncoder{Heads: 2, FeedForward: 6, Activation: "gelu"}, model.MeanOverSequence{}, model.Linear{Out: classes}}
	for name, test := range map[string]struct {
		network
		want string
	}{
		"all":            {network{}, "0.weight 1.self_attn.in_proj_weight 1.self_attn.in_proj_bias 1.self_attn.out_proj.weight 1.self_attn.out_proj.bias 1.norm1.weight 1.norm1.bias 1.linear1.weight 1.linear1.bias 1.linear2.weight 1.linear2.bias 1.norm2.weight 1.norm2.bias 3.weight 3.bias"},
		"biases":         {network{only: []string{"biases"}}, "1.self_attn.in_proj_bias 1.self_attn.out_proj.bias 1.norm1.bias 1.linear1.bias 1.linear2.bias 1.norm2.bias 3.bias"},
		"norms and head": {network{only: []string{"norms", "head"}}, "1.norm1.weight 1.norm1.bias 1.norm2.weight 1.norm2.bias 3.weight 3.bias"},
		"adapted": {network{lora: model.LoRA{Rank: 1, Alpha: 1}},
			"3.weight 3.bias 1.self_attn.lora_A.weight 1.self_attn.lora_B.weight 1.self_attn.out_proj.lora_A.weight 1.self_attn.out_proj.lora_B.weight 1.linear1.lora_A.weight 1.linear1.lora_B.weight 1.linear2.lora_A.weight 1.linear2.lora_B.weight"},
		"adapted in a layer, with its bias": {network{lora: model.LoRA{Rank: 1, Alpha: 1, Layers: []string{"1.linear1"}}, only: []string{"1.linear1"}}, "1.linear1.bias 1.linear1.lora_A.weight 1.linear1.lora_B.weight"},
		"adapted head":                      {network{lora: model.LoRA{Rank: 1, Alpha: 1, Layers: []string{"3"}}}, "3.bias 3.lora_A.weight 3.lora_B.weight"},
	} {
		test.layers, test.input = block, words
		var names []string
		for _, p := range test.fresh(t, 1).Parameters() {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s: found %s trained, expected %s", name, got, test.want)
		}
	}
}

func TestAdaptersRefuse(t *testing.T) {
	for want, l := range map[string]model.LoRA{
		`found no layer to adapt called "0"`:         {Rank: 1, Alpha: 1, Layers: []string{"3", "0"}}, // a convolution
		`found no layer to adapt called "linear"`:    {Rank: 1, Alpha: 1, Layers: []string{"linear"}}, // there is the head alone
		`found no layer to adapt called "attention"`: {Rank: 1, Alpha: 1, Layers: []string{"attention"}},
		`found no linear and no attention layer`:     {Rank: 1, Alpha: 1},
		`adapters of rank 0`:                         {Alpha: 1},
		`and alpha 0`:                                {Rank: 1},
		`and alpha NaN`:                              {Rank: 1, Alpha: math.NaN()},
	} {
		m := newModel(t, networks[0].layers)
		if err := m.Adapt(l, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error is %v, expected one that says %s", l, err, want)
		}
	}
	m := adaptedNetworks()[0].model(t)
	if err := m.Start(m.Export(), nil); err == nil || !strings.Contains(err.Error(), `tensor "1.lora_A.weight" is a factor of an adapter, expected weights with their adapters merged`) {
		t.Errorf("error is %v, expected one about factors", err)
	}
	before := m.Export()
	tiny.Check(t, m.Start(m.Merged(), nil))
	for i, tensor := range m.Export() {
		if factor := strings.Contains(tensor.Name, "lora_"); factor && !slices.Equal(tensor.Data, before[i].Data) {
			t.Errorf("%s began with something of the file", tensor.Name)
		}
	}
}
