package features

import (
	"math"

	"dpsgd/data"
	"dpsgd/internal/setting"
)

// Transform is a function of one picture, before it is known of what size.
type Transform interface {
	// Name is its name in configs.
	Name() string
	// Blocks says how the values of one picture of that shape are laid out.
	Blocks(shape data.Shape) []Block
	// Prepare makes the transform of pictures of that shape. What has to be learnt is learnt from
	// pictures of that shape that draw draws: n of them.
	Prepare(shape data.Shape, draw func(n int) (*Drawings, error)) (*Prepared, error)
}

// Prepared is a transform of pictures of one shape.
type Prepared struct {
	// Extractor returns the function that sets dst to the features of a picture: (channel, row,
	// column), from 0 to 1. It has memory of its own: one goroutine at a time calls it.
	Extractor func() func(dst, picture []float32)
	// define says what the features follow from; nil where nobody can compute them in another way.
	define func(d *Definition)
}

// Transforms lists the transforms that a configuration can name: to add one, write its file and add
// its kind here.
func Transforms() setting.Kinds[Transform] {
	return setting.Kinds[Transform]{none, patchesKind, scatteringKind}
}

// None leaves the pictures as they are: the network sees their pixels.
type None struct{}

var none = setting.Kind[Transform]{Name: None{}.Name(), Doc: "the network sees the pixels", New: func() Transform { return None{} }}

func (None) Name() string { return "none" }

// Blocks has nothing to lay out.
func (None) Blocks(data.Shape) []Block { return nil }

// Prepare has nothing to prepare: a [Recipe] without features never asks.
func (None) Prepare(data.Shape, func(int) (*Drawings, error)) (*Prepared, error) {
	return nil, nil
}

// powerArgument is the argument by which a configuration evens out values that are never negative:
// a root lifts weak responses and dampens strong ones, as Perronnin, Sánchez and Mensink,
// "Improving the Fisher Kernel for Large-Scale Image Classification" (ECCV 2010, section 3.2),
// found for sums over a picture.
func powerArgument(power *float64) setting.Argument {
	return setting.Argument{Name: "power", Doc: "Values are raised to this power before they are normalised; 0.5 lifts weak responses, 1 leaves all as they are.",
		Format: setting.Number{Min: 0, Max: 1, OpenMin: true}, Value: power}
}

// raise raises values of at least 0 to a power.
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
