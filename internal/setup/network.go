package setup

import (
	"fmt"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/model"
)

// Model declares the configured network for examples of the given shape.
func Model(c *configs.Config, shape data.Shape, classes int) (*model.Model, error) {
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
