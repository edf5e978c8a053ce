package exchange

import (
	"fmt"

	"dpsgd/features"
	"dpsgd/model"
)

// prefix is that of the tensors that features are made with, in the file of weights.
const prefix = "features."

// constants are the tensors that the features of a network are made with.
func constants(d features.Definition, mean []float32) []model.Tensor {
	var tensors []model.Tensor
	add := func(name string, data []float32, shape ...int) {
		if len(data) > 0 {
			tensors = append(tensors, model.Tensor{Name: prefix + name, Shape: shape, Data: data})
		}
	}
	for i, p := range d.Patches {
		add(fmt.Sprint("filters", i), p.Weights, p.Filters, p.Scaled.Channels, p.Size, p.Size)
		add(fmt.Sprint("bias", i), p.Bias, p.Filters)
	}
	if s := d.Scattering; s != nil {
		add("fine.real", s.Fine.Real, s.Angles, 1, s.Fine.Size, s.Fine.Size)
		add("fine.imaginary", s.Fine.Imaginary, s.Angles, 1, s.Fine.Size, s.Fine.Size)
		add("coarse.real", s.Coarse.Real, s.Angles, 1, s.Coarse.Size, s.Coarse.Size)
		add("coarse.imaginary", s.Coarse.Imaginary, s.Angles, 1, s.Coarse.Size, s.Coarse.Size)
		add("full.vertical", s.Full.Vertical, s.Full.OutHeight, s.Full.Height)
		add("full.horizontal", s.Full.Horizontal, s.Full.OutWidth, s.Full.Width)
		add("half.vertical", s.Half.Vertical, s.Half.OutHeight, s.Half.Height)
		add("half.horizontal", s.Half.Horizontal, s.Half.OutWidth, s.Half.Width)
	}
	f := d.Flattening
	add("shift", f.Shift, len(f.Shift))
	add("gain", f.Gain, len(f.Gain))
	add("directions", f.Directions, len(f.Damping), len(f.Shift))
	add("damping", f.Damping, len(f.Damping))
	add("mean", mean, len(mean))
	return tensors
}
