package setup

import (
	"fmt"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/model"
)

// Seen is the shape of what the network sees of examples of the given shape: of them, or of their
// features.
func Seen(c *configs.Config, shape data.Shape) data.Shape {
	if c.Features.Any() {
		return data.Row(c.Features.Width(shape))
	}
	return shape
}

// Model declares the configured network for examples of the given shape, or for features of them.
func Model(c *configs.Config, shape data.Shape, classes int) (*model.Model, error) {
	if c.Features.Any() && shape.IsRow() {
		return nil, fmt.Errorf("%w: features.name is %s, expected none: features are computed of pictures, and the examples are rows", ErrPlan, c.Features.Transform.Name())
	}
	shape = Seen(c, shape)
	layers, err := c.Model.Network()
	if err != nil {
		return nil, err
	}
	m, err := model.New(layers, model.Input{Height: shape.Height, Width: shape.Width, Channels: shape.Channels}, classes, c.Training.Seed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return m, nil
}
