package exchange_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/exchange"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

// pythonVariable names a Python with torch, onnx, onnxruntime and peft.
const pythonVariable = "DPSGD_PYTHON"

// pictures is a configuration of pictures with no two sizes equal.
const pictures = `
data: {folder: none, classes: ["a 'b'", Ä, c], size: [9, 8], channels: 3, mean: [0.1, 0.25, 0.5], std: [0.3, 0.2, 1]}
model: {layers: [%s]}
privacy: {epsilon: 3}
training: {steps: 10}
`

// networks has every kind of layer in several places, for pictures of 9x8x3.
var networks = map[string]string{
	"convolutions":    "{conv2d: {out_channels: 4, kernel_size: 3, stride: 2, padding: 1}}, relu, {conv2d: {out_channels: 5, kernel_size: 2, bias: false}}, sigmoid, flatten, {linear: {out_features: classes}}",
	"standardised":    "{standardised_conv2d: {out_channels: 4, kernel_size: 3, padding: 1}}, gelu, {standardised_conv2d: {out_channels: 3, kernel_size: 2, stride: 2, bias: false}}, flatten, {linear: {out_features: classes, bias: false}}",
	"pools":           "{max_pool2d: {kernel_size: 2, stride: 1}}, {avg_pool2d: {kernel_size: 2}}, {conv2d: {out_channels: 6, kernel_size: 2}}, tanh, global_avg_pool2d, {linear: {out_features: classes}}",
	"rectangles":      "{conv2d: {out_channels: 4, kernel_size: [3, 2], stride: [1, 2], padding: [0, 1]}}, {max_pool2d: {kernel_size: [2, 3], stride: 1, padding: [1, 0]}}, tanh, {avg_pool2d: {kernel_size: [3, 2], padding: 1}}, {avg_pool2d: {kernel_size: 2, stride: 1, padding: [0, 1], count_include_pad: false}}, flatten, {linear: {out_features: classes}}",
	"dilated":         "{conv2d: {out_channels: 4, kernel_size: 3, padding: 2, dilation: 2}}, relu, {conv2d: {out_channels: 5, kernel_size: [2, 3], dilation: [3, 1], bias: false}}, tanh, flatten, {linear: {out_features: classes}}",
	"groups":          "{conv2d: {out_channels: 6, kernel_size: 3, padding: 1, groups: 3}}, relu, {conv2d: {out_channels: 6, kernel_size: 3, stride: 2, groups: 6, bias: false}}, {standardised_conv2d: {out_channels: 4, kernel_size: 2, dilation: [1, 2], groups: 2}}, tanh, global_avg_pool2d, {linear: {out_features: classes}}",
	"norms":           "{conv2d: {out_channels: 6, kernel_size: 3}}, {group_norm: {num_groups: 3}}, silu, layer_norm, flatten, layer_norm, {linear: {out_features: 5}}, {dropout: {p: 0.5}}, {linear: {out_features: classes}}",
	"frozen norms":    "{conv2d: {out_channels: 6, kernel_size: 3}}, frozen_batch_norm, relu, {conv2d: {out_channels: 5, kernel_size: 2, bias: false}}, {frozen_batch_norm: {eps: 0.01}}, {layer_norm: {eps: 0.1}}, flatten, {linear: {out_features: classes}}",
	"tempered":        "flatten, {linear: {out_features: 7}}, {tempered_sigmoid: {scale: 1.6, inverse_temperature: 3, offset: 0.7}}, {linear: {out_features: classes}}, {dropout: {p: 0.1}}",
	"transformers":    "{patch_embedding: {patch_size: 1, dim: 6}}, class_token, positional_embedding, {transformer_encoder: {heads: 2, feedforward: 5, norm_first: true, activation: gelu}}, {transformer_encoder: {heads: 3, feedforward: 7, causal: true, eps: 0.01}}, layer_norm, {elu: {alpha: 0.7}}, first_of_sequence, {linear: {out_features: classes}}",
	"causal":          "{patch_embedding: {patch_size: 1, dim: 6}}, {transformer_encoder: {heads: 2, feedforward: 5, causal: true, activation: gelu_tanh}}, gelu_tanh, last_of_sequence, {linear: {out_features: classes}}",
	"recurrent":       "{patch_embedding: {patch_size: 1, dim: 3}}, {gru: {hidden_size: 5}}, {lstm: {hidden_size: 4, bidirectional: true, last: true}}, {linear: {out_features: classes}}",
	"attention":       "{conv2d: {out_channels: 4, kernel_size: [2, 1]}}, {leaky_relu: {slope: 0.1}}, {patch_embedding: {patch_size: 4, dim: 6}}, {positional_embedding: {sinusoidal: true}}, {residual: {body: [{attention: {heads: 2, causal: true, bias: false}}]}}, {linear: {out_features: 4}}, silu, mean_over_sequence, {linear: {out_features: classes}}",
	"residual blocks": "{residual: {body: [{conv2d: {out_channels: 4, kernel_size: 3, stride: 2, padding: 1}}, {residual: {body: [tanh, {conv2d: {out_channels: 4, kernel_size: 1}}]}}], shortcut: [{conv2d: {out_channels: 4, kernel_size: 1, stride: 2}}]}}, flatten, {linear: {out_features: classes}}",
}

// textData is a configuration of texts.
const textData = `
data: {text: none, classes: [a, b, c], length: 9}
model: {%s}
privacy: {epsilon: 3}
`

// textNetworks has every layer that treats padding apart.
var textNetworks = map[string]string{
	"last of an lstm":  "{embedding: {dim: 5}}, {lstm: {hidden_size: 4, last: true}}",
	"lstm of two":      "{embedding: {dim: 5}}, {lstm: {hidden_size: 4, bidirectional: true}}, tanh, {lstm: {hidden_size: 3, bidirectional: true, last: true}}",
	"gru of two":       "{embedding: {dim: 5}}, {gru: {hidden_size: 4, bidirectional: true}}, layer_norm, mean_over_sequence",
	"end of a gru":     "{embedding: {dim: 5}}, {gru: {hidden_size: 4, last: true}}",
	"first":            "{embedding: {dim: 6}}, {positional_embedding: {sinusoidal: true}}, {attention: {heads: 3, causal: true}}, first_of_sequence",
	"last":             "{embedding: {dim: 6}}, positional_embedding, {transformer_encoder: {heads: 2, feedforward: 5, norm_first: true, causal: true, activation: gelu_tanh}}, gelu_tanh, last_of_sequence",
	"tied":             "{embedding: {dim: 5}}, {linear: {out_features: 5}}, tanh, tied_linear, mean_over_sequence",
	"tied, pooled":     "{embedding: {dim: 4}}, mean_over_sequence, tied_linear, tanh",
	"encoder and mean": "{embedding: {dim: 6}}, positional_embedding, {transformer_encoder: {heads: 2, feedforward: 5, activation: gelu}}, {linear: {out_features: 4}}, mean_over_sequence",
}

// parse reads a configuration.
func parse(t testing.TB, text string, overrides ...string) *configs.Config {
	t.Helper()
	return tiny.Must(configs.Parse("network.yaml", []byte(text), overrides))(t)
}

// untrained is the model of a configuration with random values for all parameters, and a statement
// that somebody made up.
func untrained(t testing.TB, c *configs.Config) *trained.Model {
	t.Helper()
	o := setup.Declared(c)
	m := tiny.Must(setup.Model(c, o.Shape, o.Classes))(t)
	src := random.Seeded(1)
	for i := range m.Values { // also the gains and shifts that start at 1 and 0
		m.Values[i] += float32(0.2 * (src.Float64() - 0.5))
	}
	s := statement.Statement{Run: "made-up", Unit: "one picture", Relation: "zero-out", Sampling: `a "quoted" \ text """`, Data: o.Name, Examples: 1000, Shape: o.Shape.String(), Classes: o.Classes}
	s.Epsilon, s.Delta, s.Accountant = 2.9991, 1e-5, "exact"
	return &trained.Model{Config: c, Data: o, Network: m, Statement: s}
}

// examples are n random examples of a model: as it reads them, and as an exported graph takes them.
func examples(t testing.TB, m *trained.Model, n int) (set data.Set, input []float32, shape []int) {
	t.Helper()
	src, s, labels := random.Seeded(2), m.Data.Shape, make([]uint8, n)
	var err error
	switch m.Sees() {
	case trained.Pictures:
		pixels := make([]uint8, n*s.Values())
		for i := range pixels {
			pixels[i] = uint8(src.Uint64())
		}
		for i := range n {
			one := pixels[i*s.Values() : (i+1)*s.Values()]
			for c := range s.Channels {
				for at := c; at < len(one); at += s.Channels {
					input = append(input, float32(one[at])/255)
				}
			}
		}
		set, err = data.NewImages(s, m.Data.Names, labels, pixels)
		shape = []int{n, s.Channels, s.Height, s.Width}
	case trained.Texts: // one of them empty, one as long as may be
		lines := make([]string, n)
		for i := range lines {
			length := map[int]int{0: 0, 1: s.Length()}[i]
			if i > 1 {
				length = int(src.Uint64() % uint64(s.Length()))
			}
			for j := range s.Length() {
				if j >= length {
					input = append(input, -1)
					continue
				}
				lines[i] += string(rune('a' + src.Uint64()%26))
				input = append(input, float32(lines[i][j]))
			}
		}
		set, err = data.NewTexts(data.Bytes{}, s.Length(), m.Data.Names, labels, lines)
		shape = []int{n, s.Length()}
	default:
		shape = []int{n, s.Channels}
		input = make([]float32, n*s.Channels)
		for i := range input {
			if input[i] = float32(src.Float64() - 0.5); m.Sees() == trained.Rows {
				input[i] *= 100
			}
		}
		if m.Sees() == trained.Rows {
			set, err = data.NewRows(s.Channels, m.Data.Names, labels, input)
		} else {
			set, err = unitRows(m, labels, input)
		}
	}
	tiny.Check(t, err)
	return set, input, shape
}

// unitRows are vectors as they are read: of length 1, in half precision.
func unitRows(m *trained.Model, labels []uint8, vectors []float32) (data.Set, error) {
	width := m.Data.Shape.Channels
	halves := make([]uint16, len(vectors))
	for i := 0; i < len(vectors); i += width {
		row := make([]float32, width)
		inverse := 1 / math.Sqrt(kernel.SumSquares(vectors[i:i+width]))
		for j := range row {
			row[j] = float32(float64(vectors[i+j]) * inverse)
		}
		kernel.ToHalves(halves[i:i+width], row)
	}
	return data.NewFeatures(width, m.Data.Names, labels, halves)
}

// write puts a case into a folder: the exported model, examples, and what the trainer says of them.
func write(t testing.TB, dir string, m *trained.Model, n int) {
	t.Helper()
	pool := kernel.NewPool(2)
	defer pool.Close()
	p := tiny.Must(trained.New(m, pool))(t)
	set, input, shape := examples(t, m, n)
	rows := tiny.Must(p.Logits(set))(t)
	tiny.Check(t, os.MkdirAll(dir, 0o700))
	var logits []float32
	for _, row := range rows {
		logits = append(logits, row...)
	}
	about, _ := json.Marshal(map[string]any{"shape": shape, "classes": m.Data.Names, "epsilon": "3.000"})
	files := map[string][]byte{"case.json": about, "input.bin": raw(input), "logits.bin": raw(logits)}
	for name, content := range files {
		tiny.Check(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	formats := []string{"onnx", "pytorch-script"}
	if m.Sees() == trained.Texts {
		formats = formats[:1]
	}
	if m.Config.Model.LoRA.Rank > 0 {
		formats = append(formats, "peft")
	}
	for _, format := range formats {
		tiny.Must(exchange.Export(m, format, filepath.Join(dir, "model"+exchange.Extension(format))))(t)
	}
}

func raw(values []float32) []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, values)
	return b.Bytes()
}

// cases are the configurations of all networks that are exported and compared, by name.
func cases() map[string]string {
	all := map[string]string{}
	for name, layers := range networks {
		all[name] = fmt.Sprintf(pictures, layers)
	}
	for _, name := range configs.Networks() {
		if strings.HasPrefix(name, "text-") {
			all["network "+name] = fmt.Sprintf(textData, "name: "+name)
			continue
		}
		shape := "size: 28, channels: 1"
		if name == "cifar-cnn" || name == "convnet" || name == "resnet8-gn" || name == "resnet18" || strings.HasPrefix(name, "vit-tiny") {
			shape = "size: 32, channels: 3"
		}
		all["network "+name] = fmt.Sprintf(`
data: {folder: none, classes: [a, b, c, d], %s}
model: {name: %s}
privacy: {epsilon: 3}
`, shape, name)
	}
	for name, features := range map[string]string{
		"patches":                    "size: [15, 13], channels: 3}\nfeatures: {name: patches, filters: 12, patch_size: 4, pooling: 3, overlap: 1, pictures: 60, directions: 20, power: 0.5",
		"shipped patches, encoder":   "size: [36, 33], channels: 3}\nfeatures: {name: patches, patches: shipped, filters: 12, pooling: 2, overlap: 3, encoder: 0.4, pictures: 60, directions: 20, power: 0.5",
		"grey and encoder":           "size: [28, 72], channels: 1}\nfeatures: {name: scattering, groups: 27, encoder: 0.5, pictures: 60, directions: 20",
		"patches of two sizes":       "size: [15, 13], channels: 3}\nfeatures: {name: patches, filters: 9, coarse_filters: 5, patch_size: 3, pooling: 2, pictures: 60, directions: 0, power: 0.7",
		"patches of half the size":   "size: [12, 15], channels: 1}\nfeatures: {name: patches, filters: 9, scale: 2, patch_size: 5, pooling: 1, pictures: 60, directions: 4",
		"scattering":                 "size: [12, 16], channels: 3}\nfeatures: {name: scattering, groups: 27, power: 0.5, pictures: 60, directions: 20",
		"deskewed":                   "size: [16, 12], channels: 3}\nfeatures: {name: scattering, groups: 27, power: 0.5, deskew: true, encoder: 0.5, pictures: 60, directions: 20",
		"scattering without a group": "size: 12, channels: 1}\nfeatures: {name: scattering, groups: 0, pictures: 60, directions: 20",
	} {
		all["features: "+name] = fmt.Sprintf(`
data: {folder: none, classes: [a, b, c], %s}
model: {layers: [flatten, {linear: {out_features: classes}}]}
privacy: {epsilon: 3}
`, features)
	}
	all["adapted linear"] = strings.Replace(fmt.Sprintf(pictures, "flatten, {linear: {out_features: 7}}, tanh, {linear: {out_features: 6, bias: false}}, silu, layer_norm, {linear: {out_features: classes}}"),
		"layers:", "lora: {rank: 2, alpha: 3}, train_only: [head, norms], layers:", 1)
	all["adapted transformers"] = strings.Replace(fmt.Sprintf(pictures, networks["transformers"]), "layers:", "lora: {rank: 3, alpha: 6}, layers:", 1)
	all["adapted attention"] = strings.Replace(fmt.Sprintf(pictures, networks["attention"]), "layers:", "lora: {rank: 1, alpha: 2, layers: [attention]}, train_only: [\"5\", head], layers:", 1)
	for name, layers := range textNetworks {
		all["texts: "+name] = fmt.Sprintf(textData, "layers: ["+layers+", {linear: {out_features: classes}}]")
	}
	all["rows"] = `
data: {table: none, columns: [age, pay, size], label: sick, classes: ["no", "yes"], mean: [48, 45, 0.5], std: [10, 1, 7]}
model: {layers: [flatten, {linear: {out_features: 8}}, layer_norm, tanh, {linear: {out_features: classes}}]}
privacy: {epsilon: 3}
`
	all["vectors"] = `
data: {vectors: none, width: 40, classes: ["no", "yes"]}
model: {layers: [{linear: {out_features: classes}}]}
privacy: {epsilon: 3}
`
	return all
}

// modelOf is the untrained model of a case. From features that are raised to a power, a mean is
// subtracted.
func modelOf(t testing.TB, configuration string) *trained.Model {
	t.Helper()
	m := untrained(t, parse(t, configuration))
	if strings.Contains(configuration, "power") {
		m.FeatureMean = make([]float32, m.Config.Features.Width(m.Data.Shape))
		for i := range m.FeatureMean {
			m.FeatureMean[i] = 0.01 * float32(i%7)
		}
	}
	return m
}

// Every kind of layer stands in a network that is exported.
func TestEveryKindIsExported(t *testing.T) {
	all := strings.Builder{}
	for _, layers := range networks {
		all.WriteString(" " + layers)
	}
	for _, layers := range textNetworks {
		all.WriteString(" " + layers)
	}
	for _, kind := range model.Kinds().Names() {
		if !strings.Contains(all.String(), kind) {
			t.Errorf("found no %s in the networks of the table, expected every layer in one", kind)
		}
	}
}

// What PEFT cannot hold is refused by name.
func TestPEFTRefuses(t *testing.T) {
	for want, lora := range map[string]string{
		"found a model without adapters":                       "",
		"0.bias was trained and the rest of its layer was not": "lora: {rank: 1, layers: [linear]}, train_only: [biases], ",
	} {
		m := modelOf(t, strings.Replace(fmt.Sprintf(pictures, networks["attention"]), "layers:", lora+"layers:", 1))
		if _, err := exchange.Export(m, "peft", filepath.Join(t.TempDir(), "model")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, expected one that says %s", lora, err, want)
		}
	}
}

// What a format cannot hold is refused by name.
func TestTextsAreRefusedByName(t *testing.T) {
	m := modelOf(t, fmt.Sprintf(textData, "name: text-lstm"))
	if _, _, err := exchange.PyTorch(m, "model.py", "model.safetensors"); err == nil || err.Error() != "pytorch: layer 0 (embedding) cannot be written in Python, expected no layer for tokens: modules of PyTorch know no padding; the format onnx takes them" {
		t.Errorf("found %v, expected the layer", err)
	}
	m = modelOf(t, fmt.Sprintf(textData, "layers: [{embedding: {dim: 4}}, class_token, mean_over_sequence, {linear: {out_features: classes}}]"))
	if _, err := exchange.ONNX(m); err == nil || err.Error() != "onnx: layer 1 (class_token) cannot be written in ONNX" {
		t.Errorf("found %v, expected the layer", err)
	}
}

// Other programs compute the trainer's logits: ONNX Runtime and PyTorch, as check.py runs them,
// within 1e-4, or that share of logits above 1, for every network and every kind of layer.
func TestOtherProgramsAgree(t *testing.T) {
	python(t)
	dir := t.TempDir()
	var folders []string
	for name, configuration := range cases() {
		folder := filepath.Join(dir, name)
		write(t, folder, modelOf(t, configuration), 5)
		folders = append(folders, folder)
	}
	compare(t, folders)
}

// A model on features of a public network is exported with that network, and other programs agree.
func TestBackboneIsExported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "public.safetensors")
	public := tiny.Must(model.New(tiny.Must(configs.Network("mlp128"))(t), model.Input{Height: 9, Width: 8, Channels: 3}, 5, 1))(t)
	tiny.Check(t, checkpoints.WriteModel(path, public.Export(), nil))
	m := untrained(t, parse(t, fmt.Sprintf(`
data: {folder: none, classes: [a, b, c], size: [9, 8], channels: 3}
features: {name: model, file: %q, network: mlp128, pictures: 20, directions: 3}
model: {layers: [{linear: {out_features: classes}}]}
privacy: {epsilon: 3}
`, path)))
	script, tensors, err := exchange.PyTorch(m, "model.py", "model.safetensors")
	tiny.Check(t, err)
	if !strings.Contains(string(script), "self.backbone = nn.Sequential(") || !slices.ContainsFunc(tensors, func(t model.Tensor) bool { return t.Name == "features.backbone.1.weight" }) {
		t.Error("found no public network in the Python file and its tensors")
	}
	folder := filepath.Join(t.TempDir(), "backbone")
	write(t, folder, m, 4)
	if os.Getenv(pythonVariable) != "" {
		compare(t, []string{folder})
	}
}

// The same for every preset, with the features that it really has: this takes a minute, and is left
// out where there is nothing to compare with.
func TestOtherProgramsAgreeOnPresets(t *testing.T) {
	python(t)
	dir := t.TempDir()
	var folders []string
	for _, p := range configs.Presets() {
		c := tiny.Must(configs.Load(p.Name, nil))(t)
		folders = append(folders, filepath.Join(dir, p.Name))
		write(t, folders[len(folders)-1], untrained(t, c), 3)
	}
	compare(t, folders)
}

// python is one with torch, onnx, onnxruntime and peft.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv(pythonVariable)
	if path == "" {
		t.Skipf("no comparison: %s names no Python with torch, onnx, onnxruntime and peft", pythonVariable)
	}
	return path
}

// compare runs check.py.
func compare(t *testing.T, folders []string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), python(t), append([]string{filepath.Join("testdata", "check.py")}, folders...)...)
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, problems.String())
	}
	found := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); found++ {
		var line struct {
			Name                       string
			ONNX, Torch, PEFT, Largest float64
		}
		tiny.Check(t, json.Unmarshal(lines.Bytes(), &line))
		t.Logf("%-24s onnx %.1e  torch %.1e  peft %.1e  of logits up to %.2f", line.Name, line.ONNX, line.Torch, line.PEFT, line.Largest)
		if !(max(line.ONNX, line.Torch, line.PEFT) <= 1e-4*max(1, line.Largest) && line.Largest > 0.01) {
			t.Errorf("%s: found logits that differ by %v (onnx), %v (torch) and %v (peft), expected at most 1e-4 of them", line.Name, line.ONNX, line.Torch, line.PEFT)
		}
	}
	if found != len(folders) {
		t.Errorf("found %d comparisons, expected %d", found, len(folders))
	}
}
