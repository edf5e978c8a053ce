package naming_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints/safetensors"
	"dpsgd/configs"
	"dpsgd/internal/graph"
	"dpsgd/internal/naming"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// file is testdata/logits.json, which bench/public_weights.py wrote: the logits of other programs with
// drawn weights. Source names the versions of these programs.
type file struct {
	Name, Source string
	Size         int // of pictures, or the length of texts
	Vocabulary   int // of texts
	Tensors      map[string][]int
	Logits       []float64
}

func files(t *testing.T) (all []file) {
	t.Helper()
	tiny.Check(t, json.Unmarshal(tiny.Must(os.ReadFile("testdata/logits.json"))(t), &all))
	return all
}

// drawn are n numbers from -0.5 to 0.5, by the hash of bench/public_weights.py.
func drawn(name string, n int) []float64 {
	seed := uint32(0)
	for _, c := range []byte(name) {
		seed = seed*31 + uint32(c)
	}
	values := make([]float64, n)
	for i := range values {
		h := uint32(i)*2654435761 + seed
		h = (h ^ h>>15) * 2246822519
		h = (h ^ h>>13) * 3266489917
		values[i] = float64(h^h>>16)/(1<<32) - 0.5
	}
	return values
}

// weights are the tensors of a file, in the order of their names.
func (f file) weights() (tensors []model.Tensor) {
	for name, shape := range f.Tensors {
		size, _ := safetensors.Elements(shape)
		tensor := model.Tensor{Name: name, Shape: shape, Data: make([]float32, size)}
		for i, v := range drawn(name, int(size)) {
			switch {
			case len(shape) > 1 && shape[0] > 1:
				v *= 2 * math.Sqrt(3/float64(int(size)/shape[0]))
			case strings.HasSuffix(name, "running_var"):
				v++
			case len(shape) == 1 && strings.HasSuffix(name, ".weight"):
				v = 0.4*v + 1
			default:
				v *= 0.4
			}
			tensor.Data[i] = float32(v)
		}
		tensors = append(tensors, tensor)
	}
	slices.SortFunc(tensors, func(a, b model.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return tensors
}

// network returns the layers of the network of a file. The small ones are the ready ones with other
// sizes.
func (f file) network(t *testing.T) model.Sequential {
	t.Helper()
	conv := func(out, kernel, stride, padding int) model.Layer {
		return model.Conv2D{Out: out, Kernel: model.Both(kernel), Stride: model.Both(stride), Padding: model.Both(padding), NoBias: true}
	}
	block := func(out, stride int, shortcut bool) (layers model.Sequential) {
		r := model.Residual{Body: model.Sequential{conv(out, 3, stride, 1), model.FrozenBatchNorm{}, model.ReLU, conv(out, 3, 1, 1), model.FrozenBatchNorm{}}}
		if shortcut {
			r.Shortcut = model.Sequential{conv(out, 1, stride, 0), model.FrozenBatchNorm{}}
		}
		return model.Sequential{r, model.ReLU}
	}
	vit := func(eps float64, inner int) model.Sequential {
		encoder := model.TransformerEncoder{Heads: 3, FeedForward: inner, NormFirst: true, Activation: "gelu", Eps: eps}
		return model.Sequential{model.PatchEmbedding{Patch: 8, Out: 24}, model.ClassToken{}, model.PositionalEmbedding{}, encoder, encoder,
			model.LayerNorm{Eps: eps}, model.FirstOfSequence{}, model.Linear{Out: model.NumClasses}}
	}
	bert := func(activation model.Layer) model.Sequential {
		encoder := model.TransformerEncoder{Heads: 3, FeedForward: 48, Activation: "gelu", Eps: 1e-12}
		return model.Sequential{model.Embedding{Width: 24}, model.PositionalEmbedding{}, model.LayerNorm{Eps: 1e-12}, encoder, encoder,
			model.FirstOfSequence{}, model.Linear{Out: 24}, activation, model.Dropout{P: 0.1}, model.Linear{Out: model.NumClasses}}
	}
	switch f.Name {
	case "small bert":
		return bert(model.Tanh)
	case "small distilbert":
		return bert(model.ReLU)
	case "small gpt2":
		encoder := model.TransformerEncoder{Heads: 3, FeedForward: 48, NormFirst: true, Causal: true, Activation: "gelu_tanh"}
		return model.Sequential{model.Embedding{Width: 24}, model.PositionalEmbedding{}, encoder, encoder,
			model.LayerNorm{}, model.LastOfSequence{}, model.Linear{Out: model.NumClasses, NoBias: true}}
	case "small resnet":
		return slices.Concat(model.Sequential{conv(64, 7, 2, 3), model.FrozenBatchNorm{}, model.ReLU, model.MaxPool2D{Kernel: model.Both(3), Stride: model.Both(2), Padding: model.Both(1)}},
			block(8, 1, true), block(12, 2, true), block(12, 1, false), block(12, 2, true), block(16, 2, true),
			model.Sequential{model.GlobalAvgPool2D{}, model.Linear{Out: model.NumClasses}})
	case "small vit":
		return vit(1e-6, 96)
	case "small vit of hugging face":
		return vit(1e-12, 48)
	}
	return tiny.Must(configs.Network(f.Name))(t)
}

func (f file) model(t *testing.T, classes int) *model.Model {
	t.Helper()
	in := model.Input{Height: f.Size, Width: f.Size, Channels: 3}
	if f.Vocabulary > 0 {
		in = model.Input{Length: f.Size, Vocabulary: f.Vocabulary}
	}
	return tiny.Must(model.New(f.network(t), in, classes, 1))(t)
}

// logits returns what the network says of the pictures or texts that bench/public_weights.py drew. The
// second text has half of the length, and padding behind it.
func (f file) logits(t *testing.T, m *model.Model) []float32 {
	t.Helper()
	n, area := len(f.Logits)/10, f.Size*f.Size
	b := graph.NewBuilder(nil)
	network := tiny.Must(m.Prediction(b, n))(t)
	e := tiny.Must(b.Compile(network.Logits))(t)
	images := e.Values(network.Images).Float32
	if f.Vocabulary > 0 {
		for i, v := range drawn("texts", len(images)) {
			images[i] = 1 + float32(int((v+0.5)*float64(f.Vocabulary-1)))
		}
		copy(images[f.Size+f.Size/2:], slices.Repeat([]float32{-1}, f.Size))
	} else {
		for i, v := range drawn("pictures", len(images)) { // (n, channels, height, width) there, channels last here
			picture, channel, at := i/(3*area), i/area%3, i%area
			images[(picture*area+at)*3+channel] = float32(4 * v)
		}
	}
	for i := range n {
		e.Values(network.Mask).Float32[i] = 1
	}
	e.RunAll()
	return slices.Clone(e.Values(network.Logits).Float32)
}

// A network that begins with the file of another program computes that program's logits, within
// 1e-4 of values up to about 5, and is written under the names of the file again, bit for bit.
func TestFilesOfOtherPrograms(t *testing.T) {
	for _, f := range files(t) {
		t.Run(f.Name, func(t *testing.T) {
			if !strings.HasPrefix(f.Name, "small") && !slow.Asked() {
				t.Skip("networks of real size are slow evidence")
			}
			m, given := f.model(t, 10), f.weights()
			tensors, random, err := naming.Read(m, given, nil)
			tiny.Check(t, err)
			tiny.Check(t, m.Start(tensors, random))
			far := 0.0
			for i, v := range f.logits(t, m) {
				far = max(far, math.Abs(float64(v)-f.Logits[i]))
			}
			t.Logf("logits differ by at most %.1e", far)
			if !(far <= 1e-4) {
				t.Errorf("logits differ by %v, expected at most 1e-4 (%s)", far, f.Source)
			}
			program := "timm"
			if strings.Contains(f.Source, "transformers") {
				program = "huggingface"
			}
			written := naming.Write(m, program)
			older, wrapped := slices.Clone(given), slices.Clone(given)
			for i := range older {
				wrapped[i].Name = "module." + given[i].Name
				older[i].Name = strings.NewReplacer("LayerNorm.weight", "LayerNorm.gamma", "LayerNorm.bias", "LayerNorm.beta",
					"vit.encoder.layer.", "vit.layers.", "attention.attention.query", "attention.q_proj", "attention.attention.value", "attention.v_proj").Replace(older[i].Name)
			}
			for _, same := range [][]model.Tensor{written, older, wrapped} {
				if again, _, err := naming.Read(m, same, nil); err != nil || !reflect.DeepEqual(again, tensors) {
					t.Errorf("what was written, has other names or stands in a module, is read as something else, %v", err)
				}
			}
			for _, want := range given {
				if strings.Contains(want.Name, "position_embeddings.weight") || strings.Contains(want.Name, "wpe") || strings.Contains(want.Name, "token_type") {
					continue // as many as the network has positions, with the types in them
				}
				i := slices.IndexFunc(written, func(w model.Tensor) bool { return w.Name == want.Name })
				if i < 0 != strings.HasSuffix(want.Name, "num_batches_tracked") {
					t.Errorf("%s is written: %v", want.Name, i >= 0)
				} else if i >= 0 && (!slices.Equal(written[i].Shape, want.Shape) || !slices.Equal(written[i].Data, want.Data)) {
					t.Errorf("%s is written with other values or the shape %v", want.Name, written[i].Shape)
				}
			}
		})
	}
}

// A last layer for other classes begins at random; any other difference is an error in one line that
// names the tensor, what was found and what was expected.
func TestFilesThatDoNotFit(t *testing.T) {
	f := files(t)[slices.IndexFunc(files(t), func(f file) bool { return f.Name == "small vit" })]
	m := f.model(t, 4)
	for name, c := range map[string]struct {
		tensor string // how the names of tensors begin that the file lacks
		shape  []int  // of one of that name that it has in their place
		random []string
		want   string
	}{
		"other classes": {"", nil, []string{"7.bias", "7.weight"}, ""},
		"no head":       {"head.", nil, []string{"7.bias", "7.weight"}, ""},
		"another width": {"blocks.1.attn.qkv.weight", []int{36, 48}, nil, `found the tensor "blocks.1.attn.qkv.weight" of shape [36 48], expected [72 24]`},
		"other heads":   {"head.weight", []int{5, 48}, nil, `found the tensor "head.weight" of shape [5 48], expected [4 24]`},
		"cut off":       {"blocks.0.mlp.fc2.bias", nil, nil, `found no tensor "blocks.0.mlp.fc2.bias", expected one of shape [24]`},
		"more layers":   {"blocks.0.ls1.gamma", []int{24}, nil, `found the tensor "blocks.0.ls1.gamma" of shape [24], for which the network has no layer`},
	} {
		t.Run(name, func(t *testing.T) {
			file := slices.DeleteFunc(f.weights(), func(t model.Tensor) bool { return c.tensor != "" && strings.HasPrefix(t.Name, c.tensor) })
			if c.shape != nil {
				file = append(file, model.Tensor{Name: c.tensor, Shape: c.shape})
			}
			tensors, random, err := naming.Read(m, file, nil)
			if c.want != "" {
				if err == nil || err.Error() != c.want {
					t.Errorf("found %v, expected %s", err, c.want)
				}
				return
			}
			tiny.Check(t, err)
			if slices.Sort(random); !slices.Equal(random, c.random) {
				t.Errorf("found %v at random, expected %v", random, c.random)
			}
			tiny.Check(t, m.Start(tensors, random))
		})
	}
}

// Files with names of the network itself, or of nobody, are left as they are, networks of another
// form have no names, and files of these are refused.
func TestOtherFilesAreLeftAlone(t *testing.T) {
	m := tiny.Must(model.New(model.Sequential{model.Flatten{}, model.Linear{Out: 4}, model.Tanh, model.Linear{Out: 3}}, model.Input{Height: 2, Width: 2, Channels: 1}, 3, 1))(t)
	for _, name := range []string{"1.weight", "fc.weight", "features.weight"} {
		given := []model.Tensor{{Name: name, Shape: []int{4, 4}, Data: make([]float32, 16)}}
		found, random, err := naming.Read(m, given, []string{"3"})
		if err != nil || !slices.Equal(random, []string{"3"}) || len(found) != 1 || found[0].Name != name {
			t.Errorf("%s: found %v, random %v, %v", name, found, random, err)
		}
	}
	for name, layers := range map[string]string{"bert.embeddings.word_embeddings.weight": "linear tanh linear", "transformer.wte.weight": "causal_attention"} {
		if _, _, err := naming.Read(m, []model.Tensor{{Name: name}}, nil); err == nil || !strings.Contains(err.Error(), name+`" for a network of other layers`) || !strings.Contains(err.Error(), layers) || strings.ContainsAny(err.Error(), "^$+") {
			t.Errorf("found %v, expected an error about %s", err, name)
		}
	}
	f := files(t)[slices.IndexFunc(files(t), func(f file) bool { return f.Name == "small bert" })]
	layers := f.network(t)
	layers[4] = model.TransformerEncoder{Heads: 3, FeedForward: 48, Activation: "gelu", Eps: 1e-12, Causal: true}
	causal := tiny.Must(model.New(layers, model.Input{Length: f.Size, Vocabulary: f.Vocabulary}, 10, 1))(t)
	for _, program := range []string{"timm", "huggingface"} {
		if naming.Write(m, program) != nil || naming.Write(causal, program) != nil {
			t.Errorf("%s has names for two dense layers, or for a BERT that sees no later tokens", program)
		}
	}
}
