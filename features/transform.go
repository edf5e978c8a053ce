package features

import (
	"math"

	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
)

// Transform says how features are computed of one picture, whatever its shape.
type Transform interface {
	// Name returns the transform's name in configurations.
	Name() string
	// Blocks returns how the features of one picture of that shape are laid out in a row.
	Blocks(shape data.Shape) []Block
	// Prepare makes the transform of pictures of that shape. What it has to learn it learns from
	// pictures of that shape, of which draw draws n.
	Prepare(shape data.Shape, draw func(n int) (*Drawings, error)) (*Prepared, error)
}

// Prepared is a transform of pictures of one shape.
type Prepared struct {
	// Extractor returns a function that sets dst to the features of picture: (channel, row, column)
	// from 0 to 1. The function has memory of its own: one goroutine at a time calls it.
	Extractor func() func(dst, picture []float32)
	// batches stands in place of Extractor where many pictures at a time are quicker.
	batches func(pool *kernel.Pool) (extractBatches, error)
	// define writes to d what the features follow from; nil if no other program can compute them.
	define func(d *Definition)
}

// extractBatches sets rows to the features of n pictures, of which picture writes number i to dst:
// (channel, row, column) from 0 to 1.
type extractBatches = func(rows []float32, n int, picture func(dst []float32, i int))

// Transforms lists the transforms that a configuration can name: to add one, write its file and add
// its kind here.
func Transforms() setting.Kinds[Transform] {
	return setting.Kinds[Transform]{none, patchesKind, scatteringKind, backboneKind}
}

// None leaves the pictures as they are: the network sees their pixels.
type None struct{}

var none = setting.Kind[Transform]{Name: None{}.Name(), Doc: "the network sees the pixels", New: func() Transform { return None{} }}

func (None) Name() string { return "none" }

// Blocks returns nil: there are no values.
func (None) Blocks(data.Shape) []Block { return nil }

// Prepare returns nil. Nobody calls it, because a [Recipe] with None computes nothing.
func (None) Prepare(data.Shape, func(int) (*Drawings, error)) (*Prepared, error) {
	return nil, nil
}

// powerArgument returns the argument by which a configuration evens out values that are not
// negative: a root lifts weak responses and dampens strong ones, as Perronnin, Sánchez and Mensink,
// "Improving the Fisher Kernel for Large-Scale Image Classification" (ECCV 2010, section 3.2),
// found for sums over a picture.
func powerArgument(power *float64) setting.Argument {
	return setting.Argument{Name: "power", Doc: "Values are raised to this power before they are normalised; 0.5 lifts weak responses, 1 leaves all as they are.",
		Format: setting.Number{Min: 0, Max: 1, OpenMin: true}, Value: power}
}

// raise raises values, which are at least 0, to a power, in place.
func raise(values []float32, power float64) {
	switch power {
	case 1:
	case 0.5:
		for i, v := range values {
			values[i] = float32(math.Sqrt(float64(v)))
		}
	default:
		for i, v := range values {
			values[i] = float32(math.Pow(float64(v), power))
		}
	}
}
