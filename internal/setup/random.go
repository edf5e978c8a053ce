package setup

import (
	"math"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

// RandomExamples draws n examples as the network of a configuration sees them: random pixels, rows
// whose columns have about the configured mean and deviation, features of length about 1, or texts
// of random tokens, with random labels. They are nobody's.
func RandomExamples(c *configs.Config, o Outline, n int, src *random.Public) (data.Set, error) {
	return Draw(Seen(c, o.Shape), o.Classes, n, src).AsSeen(c, o)
}

// Drawn are examples before it is known what they are bytes of: a label for each, and a byte for
// each of its values.
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
