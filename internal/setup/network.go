package setup

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/naming"
	"dpsgd/internal/random"
	"dpsgd/model"
)

// Seen returns the shape of what the network sees of examples of the given shape: their own, or
// that of their features.
func Seen(c *configs.Config, shape data.Shape) data.Shape {
	if c.Features.Any() {
		return data.Row(c.Features.Width(shape))
	}
	return shape
}

// Model returns the configured network with random weights, for examples of the given shape, or for
// features of them.
func Model(c *configs.Config, shape data.Shape, classes int) (*model.Model, error) {
	return declare(c, shape, func(layers model.Sequential, in model.Input) (*model.Model, error) {
		return model.New(layers, in, classes, c.Training.Seed)
	})
}

// Sketch returns the network of [Model] without values, so that it takes no memory: see
// [model.Sketch].
func Sketch(c *configs.Config, shape data.Shape, classes int) (*model.Model, error) {
	return declare(c, shape, func(layers model.Sequential, in model.Input) (*model.Model, error) {
		return model.Sketch(layers, in, classes)
	})
}

func declare(c *configs.Config, shape data.Shape, with func(layers model.Sequential, in model.Input) (*model.Model, error)) (*model.Model, error) {
	if c.Features.Any() && !shape.IsPicture() {
		return nil, Misfit("features.name", "is %s, expected none: features are computed of pictures, and the examples are %s", c.Features.Transform.Name(), shape.Noun())
	}
	if c.Features.Any() {
		if err := c.Features.Check(shape); err != nil {
			return nil, Misfit("features.name", "does not fit the pictures: %v", err)
		}
	}
	shape = Seen(c, shape)
	layers, err := c.Model.Network()
	if err != nil {
		return nil, err
	}
	in := model.Input{Height: shape.Height, Width: shape.Width, Channels: shape.Channels}
	if shape.IsText() {
		in = model.Input{Length: shape.Length(), Vocabulary: shape.Vocabulary()}
	}
	m, err := with(layers, in)
	if err != nil && c.Model.Name != "" {
		return nil, Misfit("model.name", "is %s, which does not fit the data: %v", c.Model.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	learnt := model.Learnt{Loss: c.Training.Loss, Weights: c.Training.ClassWeights}
	if b := c.Data.Bounds; len(b) == 2 {
		learnt.Low, learnt.High = b[0], b[1]
	}
	if err := m.Learn(learnt); err != nil {
		return nil, Misfit("training.loss", "does not fit the data: %v", err)
	}
	if l := c.Model.LoRA; l.Rank > 0 {
		if err := m.Adapt(model.LoRA(l), c.Training.Seed); err != nil {
			return nil, Misfit("model.lora.rank", "does not fit the network: %v", err)
		}
	}
	if err := m.TrainOnly(c.Model.TrainOnly); err != nil {
		return nil, Misfit("model.train_only", "does not fit the network: %v", err)
	}
	if err := m.Freeze(c.Model.Freeze); err != nil {
		return nil, Misfit("model.freeze", "does not fit the network: %v", err)
	}
	return m, nil
}

// Trained says in words what is trained of a network of which something is not; "" where
// everything is but what model.freeze names.
func Trained(c *configs.Config) string {
	only, l := c.Model.TrainOnly, c.Model.LoRA
	if l.Rank == 0 && only == nil {
		return ""
	}
	said := "trained alone: "
	if l.Rank > 0 {
		of := cmp.Or(strings.Join(l.Layers, ", "), "all linear and attention layers but the head")
		said += fmt.Sprintf("low-rank factors (LoRA, rank %d, alpha %v) beside the weights of %s; and ", l.Rank, l.Alpha, of)
	}
	said += cmp.Or(strings.Join(only, ", "), model.Head)
	if c.Model.Freeze != nil {
		said += "; without " + strings.Join(c.Model.Freeze, ", ")
	}
	return said
}

// Views returns the views in which a network sees examples of the given shape while it trains; nil
// if it sees them as they are.
func Views(c *configs.Config, shape data.Shape) (*data.Views, error) {
	views, err := data.NewViews(c.Training.Augmentation, Seen(c, shape), random.New())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return views, nil
}

// Start gives a network the weights of model.init, and returns the SHA-256 of all weights that it
// begins with. Names of other programs are those of package naming; a last layer for other classes
// begins at random. Without model.init it changes nothing and returns "". The hash is published: what
// the file holds besides, which nobody gets to see, has no part in it.
func Start(c *configs.Config, m *model.Model) (sum string, err error) {
	path := c.Model.Init
	if path == "" {
		if slices.ContainsFunc(m.Layers(), func(l model.LayerInfo) bool { return l.Kind == model.FrozenBatchNorm{}.Kind() }) {
			return "", Misfit("model.init", "is not there, expected a file of weights: the constants of frozen_batch_norm come with them")
		}
		return "", nil
	}
	tensors, _, err := checkpoints.ReadModel(path)
	if err != nil {
		return "", Misfit("model.init", "is %s, expected a file of weights: %v", path, err)
	}
	tensors, random, err := naming.Read(m, tensors, c.Model.InitExcept)
	if err == nil {
		err = m.Start(tensors, random)
	}
	if err != nil {
		return "", Misfit("model.init", "is %s: %v (train import fits other names; model.init_except says what begins at random)", path, err)
	}
	h := sha256.New()
	for _, t := range m.Export() {
		fmt.Fprintf(h, "%q %v\n", t.Name, t.Shape)
		if err := binary.Write(h, binary.LittleEndian, t.Data); err != nil {
			return "", fmt.Errorf("%w: model.init: %w", ErrPlan, err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// RandomExamples draws n examples as the network of a configuration sees them: random pixels, rows
// whose columns have about the configured mean and deviation, features of length about 1, or texts
// of random tokens, with random labels. They are nobody's.
func RandomExamples(c *configs.Config, o Outline, n int, src *random.Public) (data.Set, error) {
	return Draw(Seen(c, o.Shape), o.Classes, n, src).AsSeen(c, o)
}

// Drawn are examples before it is known what they are bytes of: a label and a byte for each value.
type Drawn struct{ Labels, Values []uint8 }

// Draw draws the bytes of n examples.
func Draw(shape data.Shape, classes, n int, src *random.Public) Drawn {
	b := Drawn{make([]uint8, n), make([]uint8, n*shape.Values())}
	for i := range b.Labels {
		b.Labels[i] = uint8(src.Uint64() % uint64(min(classes, 256)))
	}
	for i := range b.Values {
		b.Values[i] = uint8(src.Uint64() >> 56)
	}
	return b
}

// AsSeen returns examples as the network of a configuration sees them. It keeps the bytes.
func (b Drawn) AsSeen(c *configs.Config, o Outline) (data.Set, error) {
	return b.set(c, Seen(c, o.Shape), o.Names, SeesFeatures(c))
}

// AsRead returns examples as reading the configured data finds them. It keeps the bytes.
func (b Drawn) AsRead(c *configs.Config, o Outline) (data.Set, error) {
	return b.set(c, o.Shape, o.Names, c.Data.Vectors != "")
}

func (b Drawn) set(c *configs.Config, shape data.Shape, names []string, features bool) (data.Set, error) {
	if shape.IsText() {
		return data.NewTexts(scaledBytes(shape.Vocabulary()), shape.Length(), names, b.Labels, b.texts(shape.Length()))
	}
	if shape.IsPicture() {
		return data.NewImages(shape, names, b.Labels, b.Values)
	}
	values := make([]float32, len(b.Values))
	for i, v := range b.Values {
		values[i] = (float32(v) - 127.5) / 73.9 // of deviation 1
	}
	if features {
		for i := range values {
			values[i] /= float32(math.Sqrt(float64(shape.Channels)))
		}
		halves := make([]uint16, len(values))
		kernel.ToHalves(halves, values)
		return data.NewFeatures(shape.Channels, names, b.Labels, halves)
	}
	as := Normalisation(c, shape.Channels)
	for i := range values {
		column := i % shape.Channels
		values[i] = float32(as.Mean[column] + as.Std[column]*float64(values[i]))
	}
	if c.Data.Task() == data.Class {
		return data.NewRows(shape.Channels, names, b.Labels, values)
	}
	return data.NewTargetRows(shape.Channels, names, b.targets(c, len(names)), values)
}

// scaledBytes is the tokenizer of drawn bytes, for so many different tokens.
type scaledBytes int

func (v scaledBytes) Vocabulary() int { return int(v) }

func (v scaledBytes) Tokens(to []int32, text string, limit int) []int32 {
	for _, b := range []byte(text[:min(len(text), limit)]) {
		to = append(to, int32(b)*int32(v)/256)
	}
	return to
}

// texts returns a text for each example, whose first byte says how long it is.
func (b Drawn) texts(length int) []string {
	texts := make([]string, len(b.Labels))
	for i := range texts {
		own := b.Values[i*length : (i+1)*length]
		texts[i] = string(own[:1+int(own[0])%length])
	}
	return texts
}

// targets returns what is learnt in place of classes: every second label, from one on that the byte
// of the example says, or a number between the bounds, by the first of its values.
func (b Drawn) targets(c *configs.Config, names int) []float32 {
	targets := make([]float32, len(b.Labels)*names)
	for i := range targets {
		example := i / names
		if bounds := c.Data.Bounds; len(bounds) == 2 {
			share := float64(b.Values[example*len(b.Values)/len(b.Labels)]) / 255
			targets[i] = float32(bounds[0] + share*(bounds[1]-bounds[0]))
		} else {
			targets[i] = float32((int(b.Labels[example]) + i%names) % 2)
		}
	}
	return targets
}
