package features

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/naming"
	"dpsgd/model"
)

// backbone is a recipe with a small ResNet, whose weights for 7 classes are written to path under
// timm's names, and that ResNet.
func backbone(t testing.TB, path string, shape data.Shape) (Recipe, *model.Model) {
	t.Helper()
	convolution := model.Conv2D{Out: 5, Kernel: model.Both(3), Stride: model.Both(2), Padding: model.Both(1), NoBias: true}
	layers := model.Sequential{convolution, model.FrozenBatchNorm{}, model.ReLU, model.GlobalAvgPool2D{}, model.Linear{Out: model.NumClasses}}
	m := must(model.New(layers, inputOf(shape), 7, 3))
	tensors := m.Export()
	for _, tensor := range tensors {
		for j := range tensor.Data {
			tensor.Data[j] += 0.03 * float32(j%7)
		}
	}
	check(t, m.Import(tensors))
	check(t, checkpoints.WriteModel(path, naming.Write(m, "timm"), nil))
	normalisation := "imagenet"
	if shape.Channels == 1 {
		normalisation = "none"
	}
	transform := &Backbone{File: path, Network: model.Ready{Name: "small", Layers: layers}, Normalisation: normalisation}
	return Recipe{Transform: transform, Drawn: "leaves", Pictures: 30, Seed: 2, Directions: 3}, m
}

// The network's last layer, applied to the features, gives the network's own logits of the normalised
// pixels.
func TestBackboneGivesWhatTheLastLayerTakes(t *testing.T) {
	shape := size(9, 8, 3)
	recipe, m := backbone(t, filepath.Join(t.TempDir(), "small.safetensors"), shape)
	prepared := must(recipe.Transform.Prepare(shape, nil))
	extract := must(prepared.batches(nil))
	const n = 2*forwardBatch + 3
	pictures := make([]float32, n*shape.Values()) // (channel, row, column)
	for i := range pictures {
		pictures[i] = float32(i*7919%256) / 255
	}
	rows := make([]float32, n*recipe.Width(shape))
	extract(rows, n, func(dst []float32, i int) { copy(dst, pictures[i*len(dst):]) })

	b := graph.NewBuilder(nil)
	network := must(m.Prediction(b, n))
	e := must(b.Compile(network.Logits))
	area := shape.Height * shape.Width
	mean, deviation := []float32{0.485, 0.456, 0.406}, []float32{0.229, 0.224, 0.225}
	for i, v := range pictures {
		picture, c, at := i/(3*area), i/area%3, i%area
		e.Values(network.Images).Float32[(picture*area+at)*3+c] = (v - mean[c]) / deviation[c]
	}
	for i := range n {
		e.Values(network.Mask).Float32[i] = 1
	}
	e.RunAll()
	weight, bias := m.Export()[5].Data, m.Export()[6].Data
	for i, want := range e.Values(network.Logits).Float32 {
		picture, class := i/7, i%7
		got := float64(bias[class])
		for j := range 5 {
			got += float64(weight[class*5+j]) * float64(rows[picture*5+j])
		}
		if !(math.Abs(got-float64(want)) <= 1e-5) {
			t.Fatalf("logit %d of picture %d is %v by its features, expected %v", class, picture, got, want)
		}
	}
}

// A recipe is known by the content of its file, wherever that lies, and says that it counts as
// public. What does not fit is refused in one line.
func TestBackboneIsKnownByItsWeights(t *testing.T) {
	shape, dir := size(9, 8, 3), t.TempDir()
	recipe, m := backbone(t, filepath.Join(dir, "a.safetensors"), shape)
	moved, _ := backbone(t, filepath.Join(dir, "b.safetensors"), shape)
	sum := must(recipe.Transform.(*Backbone).hash())
	if text := recipe.String(); text != moved.String() || !strings.HasPrefix(text, "model small without its last layer, with weights of SHA-256 "+sum+" that count as public, normalisation imagenet, version ") ||
		!strings.Contains((&Backbone{File: "gone.safetensors"}).describe(), "gone.safetensors") {
		t.Errorf("the recipe is %q, of the same file elsewhere %q", text, moved.String())
	}
	tensors := naming.Write(m, "timm")
	tensors[0].Data[0]++
	check(t, checkpoints.WriteModel(filepath.Join(dir, "b.safetensors"), tensors, nil))
	if _, err := moved.Prepare(shape, nil); err == nil || !strings.Contains(err.Error(), ", expected "+sum+", as it was at first") || moved.String() != recipe.String() {
		t.Errorf("a file that changed is read with %v, and described as %q", err, moved.String())
	}
	moved.Transform = &Backbone{File: filepath.Join(dir, "b.safetensors"), Network: moved.Transform.(*Backbone).Network, Normalisation: "imagenet"}
	halved := recipe
	halved.Transform = &Backbone{File: filepath.Join(dir, "a.safetensors"), Network: recipe.Transform.(*Backbone).Network, Normalisation: "half"}
	split := &data.Split{Train: noisy(3, shape), Test: noisy(2, shape)}
	for _, other := range []Recipe{moved, halved} {
		if fingerprintOf(recipe, split) == fingerprintOf(other, split) {
			t.Error("features of other weights or of other pixels have the same fingerprint")
		}
	}
	short := filepath.Join(dir, "short.safetensors")
	check(t, checkpoints.WriteModel(short, tensors[1:], nil))
	for name, c := range map[string]struct {
		change func(r *Recipe, b *Backbone)
		shape  data.Shape
		want   string
	}{
		"another file": {func(_ *Recipe, b *Backbone) { b.File = short }, shape, `short.safetensors: found no tensor "conv1.weight", expected one of shape [5 3 3 3]`},
		"no file":      {func(_ *Recipe, b *Backbone) { b.File = filepath.Join(dir, "none.safetensors") }, shape, "none.safetensors: no such file"},
		"none named":   {func(_ *Recipe, b *Backbone) { b.File = "" }, shape, `found the file "" and the network "small", expected a .safetensors file in features.file`},
		"too many":     {func(_ *Recipe, b *Backbone) { b.Normalisation = "none" }, size(9, 8, 4), "found pictures of 4 channels"},
		"grey":         {func(*Recipe, *Backbone) {}, size(9, 8, 1), "found pictures of 1 channels for the normalisation imagenet, expected 3"},
		"encoder":      {func(r *Recipe, _ *Backbone) { r.Encoder = 0.5 }, shape, "found features.encoder 0.5 beside the features of a model"},
		"no last layer": {func(_ *Recipe, b *Backbone) {
			b.Network.Layers = append(b.Network.Layers[:4:4], model.Linear{Out: 2}, model.Tanh)
		}, shape, "the network small does not end with a dense layer on a vector"},
	} {
		changed, own := recipe, recipe.Transform.(*Backbone)
		b := &Backbone{File: own.File, Network: own.Network, Normalisation: own.Normalisation}
		changed.Transform = b
		c.change(&changed, b)
		if _, err := changed.Prepare(c.shape, nil); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: found %v, expected one line that says %q", name, err, c.want)
		}
	}
}

// Rows of a model are kept as other rows are, and equal those that are computed.
func TestRowsOfAModelAreKept(t *testing.T) {
	shape := size(9, 8, 3)
	recipe, _ := backbone(t, filepath.Join(t.TempDir(), "small.safetensors"), shape)
	// The last pictures, which do not fill a block, have the rows that they have alone.
	last := must(data.NewImages(shape, []string{"a", "b"}, make([]uint8, 37), noisyPixels(block+37, shape)[block*shape.Values():]))
	split, computed := &data.Split{Train: noisy(block+37, shape), Test: last}, 0
	pool := kernel.NewPool(2)
	defer pool.Close()
	q := Request{Cache: t.TempDir(), Pool: pool, Computed: func(int, int) { computed++ }}
	first := must(Compute(recipe, split, q))
	for i := range last.Len() {
		if !slices.Equal(first.Train.(*data.Features).Halves(block+i), first.Test.(*data.Features).Halves(i)) || first.Train.Label(block+i) != split.Train.Label(block+i) {
			t.Errorf("row %d is not that of its picture alone", block+i)
		}
	}
	before := computed
	checkEqual(t, must(Compute(recipe, split, q)).Train.(*data.Features), first.Train.(*data.Features))
	if before == 0 || computed != before {
		t.Errorf("computed %d times and then %d times, expected once", before, computed-before)
	}
}
