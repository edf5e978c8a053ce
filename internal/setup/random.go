package setup

import (
	"math"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

// RandomExamples draws n examples as the network of a configuration sees them: random pixels, rows
// whose columns have about the configured mean and deviation, or features of length about 1, with
// random labels. They are nobody's.
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
	if !shape.IsRow() {
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
	return data.NewRows(shape.Channels, names, b.Labels, values)
}
