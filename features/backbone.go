package features

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dpsgd/checkpoints"
	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/naming"
	"dpsgd/internal/setting"
	"dpsgd/model"
)

// Backbone computes features with a public network and its public weights: the values that enter the
// network's last layer. Nothing is learnt from the pictures.
type Backbone struct {
	File          string // of the weights, safetensors
	Network       model.Ready
	Normalisation string // of pixels from 0 to 1: a name in normalisations

	mutex sync.Mutex
	sum   string // SHA-256 of the file when it was first asked for; "" before
}

// normalisations maps names to the mean and deviation of red, green and blue that are subtracted and
// divided by.
var normalisations = map[string]struct{ mean, deviation [3]float64 }{
	"imagenet": {[3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}},
	"half":     {[3]float64{0.5, 0.5, 0.5}, [3]float64{0.5, 0.5, 0.5}},
	"none":     {deviation: [3]float64{1, 1, 1}},
}

var backboneKind = setting.Kind[Transform]{
	Name: (&Backbone{}).Name(), Doc: "a public network with public weights, without its last layer",
	New: func() Transform { return &Backbone{Normalisation: "imagenet"} },
}

func (*Backbone) Name() string { return "model" }

// Arguments lists the keys that a configuration can set, each with its field of b.
func (b *Backbone) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "file", Doc: "The weights, under the names of the network, or those of timm, torchvision or Hugging Face.", Format: weightFile{}, Value: &b.File},
		{Name: "network", Doc: "The ready network that the weights are of; its last layer is left out.", Format: model.ReadyFormat{}, Value: &b.Network},
		{Name: "normalisation", Doc: "What is subtracted from pixels from 0 to 1, and what they are divided by: imagenet (0.485, 0.456, 0.406 and 0.229, 0.224, 0.225), half (0.5 and 0.5) or none.",
			Format: setting.Choice{"imagenet", "half", "none"}, Value: &b.Normalisation},
	}
}

// weightFile is the format of the path of a file of weights, stored in a *string.
type weightFile struct{}

func (weightFile) Parse(text string, _ bool, into any) bool {
	if text != "" && !strings.HasSuffix(text, ".safetensors") || len(text) > 4096 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
		return false
	}
	*into.(*string) = text
	return true
}

func (weightFile) Encode(from any) string { return strconv.Quote(*from.(*string)) }
func (weightFile) Expected() string       { return "the path of a .safetensors file" }
func (weightFile) Schema() setting.Object {
	return setting.Object{"type", "string", "pattern", `^$|\.safetensors$`}
}

// describe says what the features are, by the SHA-256 of the file when it was first read.
func (b *Backbone) describe() string {
	sum, err := b.hash()
	if err != nil {
		sum = "unknown (" + err.Error() + ")"
	}
	return fmt.Sprintf("model %s without its last layer, with weights of SHA-256 %s that count as public, normalisation %s", b.Network.Name, sum, b.Normalisation)
}

// hash returns the SHA-256 of the file. It stays what it was the first time: a file that changes is
// another one, which read refuses.
func (b *Backbone) hash() (string, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.sum != "" {
		return b.sum, nil
	}
	var err error
	b.sum, err = checkpoints.SHA256(b.File)
	return b.sum, err
}

// read returns the tensors of the file, if the bytes that they were read from have its hash.
func (b *Backbone) read() ([]model.Tensor, error) {
	want, err := b.hash()
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	tensors, _, err := checkpoints.ReadModelThrough(b.File, h)
	if found := fmt.Sprintf("%x", h.Sum(nil)); err == nil && found != want {
		err = fmt.Errorf("found %s of SHA-256 %s, expected %s, as it was at first", b.File, found, want)
	}
	return tensors, err
}

// check refuses pictures that the network does not take, and networks that do not end with one dense
// layer on a vector.
func (b *Backbone) check(shape data.Shape) (width int, err error) {
	switch {
	case b.File == "" || b.Network.Name == "":
		return 0, fmt.Errorf("features: found the file %q and the network %q, expected a .safetensors file in features.file and the ready network of its weights in features.network", b.File, b.Network.Name)
	case shape.Channels > 3 || shape.Channels != 3 && b.Normalisation != "none":
		return 0, fmt.Errorf("features: found pictures of %d channels for the normalisation %s, expected 3, or the normalisation none", shape.Channels, b.Normalisation)
	}
	whole, err := model.Sketch(b.Network.Layers, inputOf(shape), 2)
	if err != nil {
		return 0, fmt.Errorf("features: the network %s: %w", b.Network.Name, err)
	}
	top := slices.DeleteFunc(whole.Layers(), func(l model.LayerInfo) bool { return strings.Contains(l.Name, ".") })
	if n := len(top); n > 1 && top[n-1].Kind == (model.Linear{}).Kind() && len(top[n-2].Output) == 1 {
		return top[n-2].Output[0], nil
	}
	return 0, fmt.Errorf("features: the network %s does not end with a dense layer on a vector, expected one that does", b.Network.Name)
}

func inputOf(shape data.Shape) model.Input {
	return model.Input{Height: shape.Height, Width: shape.Width, Channels: shape.Channels}
}

// Blocks implements [Transform]: one, of as many values as the last layer takes; none where check
// refuses the network.
func (b *Backbone) Blocks(shape data.Shape) []Block {
	width, err := b.check(shape)
	if err != nil {
		return nil
	}
	return []Block{{Channels: width, Positions: 1}}
}

// Prepare reads the weights. It has nothing drawn.
func (b *Backbone) Prepare(shape data.Shape, _ func(n int) (*Drawings, error)) (*Prepared, error) {
	body, err := b.body(shape)
	if err != nil {
		return nil, err
	}
	constants := normalisations[b.Normalisation]
	return &Prepared{
		batches: func(pool *kernel.Pool) (extractBatches, error) { return forward(body, shape, constants, pool) },
		define: func(d *Definition) {
			d.Backbone = &BackboneDefinition{Layers: b.Network.Layers[:len(b.Network.Layers)-1], Network: body,
				Mean: constants.mean[:shape.Channels], Deviation: constants.deviation[:shape.Channels]}
		},
	}, nil
}

// BackboneDefinition is the network behind features, with its weights. It takes pixels from 0 to 1,
// less Mean and divided by Deviation, of each channel.
type BackboneDefinition struct {
	Layers          model.Sequential
	Network         *model.Model
	Mean, Deviation []float64
}

// body returns the network without its last layer, with the weights of the file.
func (b *Backbone) body(shape data.Shape) (*model.Model, error) {
	width, err := b.check(shape)
	if err != nil {
		return nil, err
	}
	file, err := b.read()
	if err != nil {
		return nil, fmt.Errorf("features: features.file: %w", err)
	}
	layers := b.Network.Layers
	whole, err := model.New(layers, inputOf(shape), 2, 1)
	if err != nil {
		return nil, err
	}
	last := strconv.Itoa(len(layers) - 1)
	tensors, random, err := naming.Read(whole, file, []string{last})
	if err == nil {
		err = whole.Start(tensors, random)
	}
	if err != nil {
		return nil, fmt.Errorf("features: features.file is %s: %w", b.File, err)
	}
	body, err := model.New(layers[:len(layers)-1], inputOf(shape), width, 1)
	if err != nil {
		return nil, err
	}
	return body, body.Import(slices.DeleteFunc(whole.Export(), func(t model.Tensor) bool { return strings.HasPrefix(t.Name, last+".") }))
}

// Bytes estimates what reading the weights and running the network on pictures of a shape take.
func (b *Backbone) Bytes(shape data.Shape) (float64, error) {
	m, err := model.Sketch(b.Network.Layers, inputOf(shape), 2)
	if err != nil {
		return 0, err
	}
	trained, frozen := m.Sizes()
	bytes, err := graph.BytesOf(forwardBatch, func(n int) (*graph.Executor, error) {
		g := graph.NewSketch()
		network, err := m.Prediction(g, n)
		if err != nil {
			return nil, err
		}
		return g.Compile(network.Logits)
	})
	// The file's tensors, the network, a copy of it and the network without its last layer.
	return bytes + 4*float64(4*(trained+frozen)+forwardBatch*shape.Values()), err
}

// forwardBatch is the number of pictures that the network sees at a time.
const forwardBatch = 16

// forward returns what runs a network forward on pictures of a shape, some at a time. The rows of a
// picture depend on that picture alone.
func forward(m *model.Model, shape data.Shape, by struct{ mean, deviation [3]float64 }, pool *kernel.Pool) (extractBatches, error) {
	b := graph.NewBuilder(pool)
	network, err := m.Prediction(b, forwardBatch)
	if err != nil {
		return nil, err
	}
	e, err := b.Compile(network.Logits)
	if err != nil {
		return nil, err
	}
	images, mask, logits := e.Values(network.Images).Float32, e.Values(network.Mask).Float32, e.Values(network.Logits)
	area, planes := shape.Height*shape.Width, make([]float32, shape.Values())
	return func(rows []float32, n int, picture func(dst []float32, i int)) {
		width := len(rows) / n
		for lo := 0; lo < n; lo += forwardBatch {
			size := min(forwardBatch, n-lo)
			for i := range size {
				one := images[i*len(planes) : (i+1)*len(planes)]
				mask[i] = 1
				picture(planes, lo+i)
				for j, v := range planes {
					c := j / area
					one[j%area*shape.Channels+c] = float32((float64(v) - by.mean[c]) / by.deviation[c])
				}
			}
			e.RunFirst(size, forwardBatch)
			copy(rows[lo*width:(lo+size)*width], logits.Float32)
		}
	}, nil
}
