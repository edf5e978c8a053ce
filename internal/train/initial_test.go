package train

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/naming"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// weights writes initial weights of the network tiny.Convolutional, but for its last layer, in
// PyTorch's layout.
func weights(t testing.TB, path string) []checkpoints.Tensor {
	t.Helper()
	var tensors []checkpoints.Tensor
	for i, tensor := range prepared(t, tiny.Convolutional, "training.seed=9").Model.Export() {
		if strings.HasPrefix(tensor.Name, "7.") {
			continue
		}
		for j := range tensor.Data {
			tensor.Data[j] += 0.01 * float32(i+1)
		}
		tensors = append(tensors, tensor)
	}
	tiny.Check(t, checkpoints.WriteModel(path, tensors, nil))
	return tensors
}

// from are the overrides of a run that begins with a file and trains the last two layers.
func from(path, trainedOn string) []string {
	return []string{tiny.Convolutional, "model.init=" + path, "model.init_trained_on=" + trainedOn, "model.init_except=[7]", "model.freeze=[0, 1, 4]"}
}

// modelOf reads the tensors that a run wrote.
func modelOf(t testing.TB, dir string) []checkpoints.Tensor {
	t.Helper()
	tensors, _, err := checkpoints.ReadModel(filepath.Join(dir, folder.Model))
	tiny.Check(t, err)
	return tensors
}

// A run begins with the weights of the file, frozen ones stay as they are, bit for bit, and all
// that is released, counted and claimed is about the others.
func TestTrainingFromWeights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights.safetensors")
	given := weights(t, path)
	o := options(t)
	r := create(t, tiny.Parse(t, from(path, "public")...), o)
	const trained = 144*8 + 8 + 8*3 + 3
	if len(r.Model.Values) != trained {
		t.Fatalf("%d values are trained, expected %d", len(r.Model.Values), trained)
	}
	if sum := clippedSum(t, r, []int{0, 1, 2}); len(sum) != trained {
		t.Errorf("a sum has %d coordinates, expected %d", len(sum), trained)
	}
	for i, tensor := range r.Model.Export()[:len(given)] {
		if !slices.Equal(tensor.Data, given[i].Data) {
			t.Errorf("%s begins with other values than in the file", tensor.Name)
		}
	}
	result := fit(t, r)
	for i, tensor := range modelOf(t, result.Run)[:len(given)] {
		frozen := !strings.HasPrefix(tensor.Name, "5.")
		if slices.Equal(tensor.Data, given[i].Data) != frozen {
			t.Errorf("%s: changed by training is %v, expected %v", tensor.Name, frozen, !frozen)
		}
	}
	measured(t, result, o)
	s, sum := tiny.Must(statement.Read(result.Run))(t), r.Initial
	if s.NoiseValues != 12*trained || s.FrozenValues != 36+4+4+4+144+144 || !strings.Contains(s.InitialWeights, "weights.safetensors; all weights at the start have the SHA-256 `"+sum+"`, declared as trained on public data") {
		t.Errorf("the statement has %d noise values, %d frozen ones and the weights %q", s.NoiseValues, s.FrozenValues, s.InitialWeights)
	}
}

// The hash that a statement publishes is one of what training begins with: a head that was trained
// on private data and dropped, or anything else in the file, has no part in it.
func TestHashOfWeightsIsOfThoseInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights.safetensors")
	given := weights(t, path)
	begin := func() string { return prepared(t, from(path, "private")...).Initial }
	before := begin()
	write := func(tensors []checkpoints.Tensor) {
		tiny.Check(t, checkpoints.WriteModel(path, tensors, map[string]string{"about": "more"}))
	}
	write(append(slices.Clone(given), checkpoints.Tensor{Name: "7.weight", Shape: []int{3, 8}, Data: make([]float32, 24)}, checkpoints.Tensor{Name: "head", Shape: []int{1}, Data: []float32{7}}))
	if begin() != before {
		t.Error("the hash depends on tensors that are not used")
	}
	given[0].Data[0]++
	write(given)
	if begin() == before {
		t.Error("the hash does not depend on a weight that is used")
	}
}

// What weights were trained on is said in the statement, and what that means for the guarantee.
func TestStatementSaysWhereWeightsComeFrom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights.safetensors")
	weights(t, path)
	for on, want := range map[string]string{
		"public":  "declared as public; if training examples of this run were among them, the guarantee does not hold for those",
		"private": "- what the initial weights tell of the PRIVATE data that they were trained on",
		"nothing": "- the initial weights, which are declared as trained on nothing",
	} {
		r := train(t, options(t), append(from(path, on), "training.steps=1")...)
		tiny.Says(t, r.Run, want, "| Parameters that are not trained: nothing of the examples is released for them | 336 |")
	}
}

// A run from weights goes on with the same file and with no other.
func TestResumeFromWeights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights.safetensors")
	given := weights(t, path)
	o := options(t)
	stopped := interruptAfter(t, create(t, tiny.Parse(t, from(path, "public")...), o), 4)
	given[0].Data[0]++
	tiny.Check(t, checkpoints.WriteModel(path, given, nil))
	if _, err := Open(stopped.Run, o); !errors.Is(err, books.ErrOtherPlan) || !strings.Contains(err.Error(), "was made with initial weights ") {
		t.Errorf("found error %v, expected one that speaks of other initial weights", err)
	}
	given = weights(t, path)
	resumed := fit(t, open(t, stopped.Run, o))
	if resumed.Steps != 12 || tiny.Releases(t, stopped.Run) != 12 {
		t.Errorf("resumed to step %d with %d releases, expected 12 and 12", resumed.Steps, tiny.Releases(t, stopped.Run))
	}
	if got := modelOf(t, stopped.Run)[0]; !slices.Equal(got.Data, given[0].Data) {
		t.Error("a frozen layer changed on the way")
	}
}

// Weights that do not fit are refused in one line, before a folder is made.
func TestWeightsRefuse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "weights.safetensors")
	weights(t, path)
	tiny.Write(t, filepath.Join(dir, "text.safetensors"), "these are no weights")
	for says, overrides := range map[string][]string{
		`model.init is ` + path + `: model: tensor "7.weight" is missing (train import fits other names; model.init_except says what begins at random)`: {"model.init_except=[]"},
		`model: tensor "5.weight" has shape [8 144] with 1152 values, expected [9 144]`:                                                                 {strings.Replace(tiny.Convolutional, "out_features: 8", "out_features: 9", 1)},
		"text.safetensors: found a header length": {"model.init=" + filepath.Join(dir, "text.safetensors")},
		"none.safetensors":                        {"model.init=" + filepath.Join(dir, "none.safetensors")},
		`model.freeze does not fit the network: model: found no layer with parameters and no parameter called "2"`:   {"model.freeze=[2]"},
		"model.freeze does not fit the network: model: all 10 parameters are frozen, expected at least one to train": {"model.freeze=[0, 1, 4, 5, 7]"},
	} {
		o := options(t)
		_, err := Create(tiny.Parse(t, append(from(path, "public"), overrides...)...), o)
		if !errors.Is(err, setup.ErrPlan) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("found error %v, expected one line that says %q", err, says)
		}
	}
}

// resNet is an override that spells out a network with frozen normalisations, as timm names it.
const resNet = "model.layers=[{conv2d: {out_channels: 4, kernel_size: 3, bias: false}}, frozen_batch_norm, relu, {residual: {body: [{conv2d: {out_channels: 4, kernel_size: 3, padding: 1, bias: false}}, frozen_batch_norm]}}, global_avg_pool2d, {linear: {out_features: classes}}]"

// A run begins with a file under the names of timm for other classes: all but the last layer is as
// there, the constants stay so, and no noise is for them. Without a file there are none.
func TestTrainingFromAFileOfTimm(t *testing.T) {
	if _, err := Create(tiny.Parse(t, resNet), options(t)); !errors.Is(err, setup.ErrPlan) || !strings.HasSuffix(err.Error(), "model.init is not there, expected a file of weights: the constants of frozen_batch_norm come with them") {
		t.Fatalf("found error %v, expected one that asks for weights", err)
	}
	c := tiny.Parse(t, resNet)
	layers := tiny.Must(c.Model.Network())(t)
	o := options(t)
	shape := o.Given.Train.Shape()
	other := tiny.Must(model.New(layers, model.Input{Height: shape.Height, Width: shape.Width, Channels: shape.Channels}, 7, 5))(t)
	tensors := other.Export()
	for i := range tensors {
		for j := range tensors[i].Data {
			tensors[i].Data[j] += 0.01 * float32(j+1)
		}
	}
	tiny.Check(t, other.Import(tensors))
	path := filepath.Join(t.TempDir(), "resnet.safetensors")
	tiny.Check(t, checkpoints.WriteModel(path, naming.Write(other, "timm"), nil))
	r := create(t, tiny.Parse(t, resNet, "model.init="+path, "model.init_trained_on=public"), o)
	for i, tensor := range r.Model.Export() {
		if slices.Equal(tensor.Data, tensors[i].Data) == strings.HasPrefix(tensor.Name, "5.") {
			t.Errorf("%s begins with the values of the file or not, expected the other", tensor.Name)
		}
	}
	result := fit(t, r)
	for i, tensor := range modelOf(t, result.Run) {
		if constant := strings.HasPrefix(tensor.Name, "1.") || strings.HasPrefix(tensor.Name, "3.body.1."); constant != slices.Equal(tensor.Data, tensors[i].Data) {
			t.Errorf("%s is a constant: %v, expected the other", tensor.Name, !constant)
		}
	}
	if s := tiny.Must(statement.Read(result.Run))(t); s.FrozenValues != 32 {
		t.Errorf("the statement has %d frozen values, expected 32", s.FrozenValues)
	}
}
