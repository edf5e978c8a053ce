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
	network, err := sequential(layers, classes)
	if err != nil {
		return nil, err
	}
	m, err := model.New(network, model.Input{Height: shape.Height, Width: shape.Width, Channels: shape.Channels}, classes, c.Training.Seed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return m, nil
}

func sequential(layers []configs.Layer, classes int) (model.Sequential, error) {
	network := make(model.Sequential, len(layers))
	for i, l := range layers {
		var err error
		if network[i], err = layer(l, classes); err != nil {
			return nil, err
		}
	}
	return network, nil
}

// layer translates one layer of the YAML.
func layer(l configs.Layer, classes int) (model.Layer, error) {
	switch l.Kind {
	case "conv2d":
		return model.Conv2D{Out: l.OutChannels, Kernel: l.KernelSize, Stride: l.Stride, Padding: l.Padding, NoBias: !l.Bias}, nil
	case "linear":
		out := l.OutFeatures
		if out == configs.NumClasses {
			out = classes
		}
		return model.Linear{Out: out, NoBias: !l.Bias}, nil
	case "max_pool2d":
		return model.MaxPool2D{Kernel: l.KernelSize, Stride: l.Stride, Padding: l.Padding}, nil
	case "avg_pool2d":
		return model.AvgPool2D{Kernel: l.KernelSize, Stride: l.Stride, Padding: l.Padding}, nil
	case "group_norm":
		return model.GroupNorm{Groups: l.NumGroups}, nil
	case "dropout":
		return model.Dropout{P: l.P}, nil
	case "residual":
		return residual(l, classes)
	}
	if plain, ok := plainLayers[l.Kind]; ok {
		return plain, nil
	}
	return nil, fmt.Errorf("%w: %s is a layer %q that the trainer cannot build", ErrPlan, l.Where, l.Kind)
}

// plainLayers have no arguments.
var plainLayers = map[string]model.Layer{
	"global_avg_pool2d": model.GlobalAvgPool2D{},
	"flatten":           model.Flatten{},
	"relu":              model.ReLU,
	"tanh":              model.Tanh,
	"sigmoid":           model.Sigmoid,
	"gelu":              model.GELU,
	"silu":              model.SiLU,
	"layer_norm":        model.LayerNorm{},
}

func residual(l configs.Layer, classes int) (model.Layer, error) {
	body, err := sequential(l.Body, classes)
	if err != nil {
		return nil, err
	}
	shortcut, err := sequential(l.Shortcut, classes)
	return model.Residual{Body: body, Shortcut: shortcut}, err
}
