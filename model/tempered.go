package model

import (
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"

	"gorgonia.org/gorgonia"
)

// TemperedSigmoid is Scale·sigmoid(InverseTemperature·x) - Offset, applied to every value (Papernot
// et al., arXiv:2007.14191): bounded activations keep gradients short, so that
// clipping takes less away. With 2, 2 and 1 it is the hyperbolic tangent.
type TemperedSigmoid struct{ Scale, InverseTemperature, Offset float64 }

var temperedSigmoid = kind("scale times the sigmoid of (inverse_temperature times x), less offset; tanh by default.",
	func() Layer { return &TemperedSigmoid{Scale: 2, InverseTemperature: 2, Offset: 1} })

func (l *TemperedSigmoid) Arguments() []setting.Argument {
	positive := setting.Number{Min: 0, Max: 100, OpenMin: true}
	return []setting.Argument{
		{Name: "scale", Doc: "Distance between the two ends of its range; default 2.", Format: positive, Value: &l.Scale},
		{Name: "inverse_temperature", Doc: "How steeply it rises; default 2.", Format: positive, Value: &l.InverseTemperature},
		{Name: "offset", Doc: "What is subtracted; default 1.", Format: setting.Number{Min: -100, Max: 100}, Value: &l.Offset},
	}
}

func (TemperedSigmoid) Kind() string { return "tempered_sigmoid" }

func (l TemperedSigmoid) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if err := setting.Check(l.Kind(), l); err != nil {
		return p.reject("%v", err)
	}
	return Activation{kind: l.Kind(), value: l.value, gradient: l.gradient}.Forward(p, x)
}

// value works where y is the memory of x, too.
func (l TemperedSigmoid) value(y, x []float32) {
	scale, steepness, offset := float32(l.Scale), float32(l.InverseTemperature), float32(l.Offset)
	for i, v := range x {
		y[i] = steepness * v
	}
	kernel.Sigmoid(y, y)
	for i, s := range y {
		y[i] = scale*s - offset
	}
}

// gradient is dx = s·T·u·(1-u)·dy, where u = (y+o)/s is the sigmoid.
func (l TemperedSigmoid) gradient(dx, y, dy []float32) {
	perScale, slope, offset := float32(1/l.Scale), float32(l.Scale*l.InverseTemperature), float32(l.Offset)
	for i, d := range dy {
		u := (y[i] + offset) * perScale
		dx[i] = slope * u * (1 - u) * d
	}
}
