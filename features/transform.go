package features

import (
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
	Prepare(shape data.Shape, draw func(n int) (*Drawings, error)) (Prepared, error)
}

// Prepared is a transform of pictures of one shape.
type Prepared interface {
	// Extractor returns the function that sets dst to the features of a picture: (channel, row,
	// column), from 0 to 1. It has memory of its own: one goroutine at a time calls it.
	Extractor() func(dst, picture []float32)
}

// Transforms lists the transforms that a configuration can name: to add one, write its file and add
// its kind here.
func Transforms() setting.Kinds[Transform] {
	return setting.Kinds[Transform]{none, patchesKind, scatteringKind}
}

// None leaves the pictures as they are: the network sees their pixels.
type None struct{}

var none = setting.Kind[Transform]{Name: None{}.Name(), Doc: "the network sees the pixels", New: func() Transform { return None{} }}

// Name returns "none".
func (None) Name() string { return "none" }

// Blocks has nothing to lay out.
func (None) Blocks(data.Shape) []Block { return nil }

// Prepare has nothing to prepare: a [Recipe] without features never asks.
func (None) Prepare(data.Shape, func(int) (*Drawings, error)) (Prepared, error) {
	return nil, nil
}
