package model

import (
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"

	"gorgonia.org/gorgonia"
)

// LeakyReLU is x above 0 and Slope·x below it. PyTorch: nn.LeakyReLU.
type LeakyReLU struct{ Slope float64 }

var leakyReLU = kind("x above 0, slope times x below it.", func() Layer { return &LeakyReLU{Slope: 0.01} })

func (l *LeakyReLU) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "slope", Also: []string{"negative_slope"}, Doc: "Slope below 0; default 0.01.",
		Format: setting.Number{Min: 0, Max: 1}, Value: &l.Slope}}
}

func (LeakyReLU) Kind() string { return "leaky_relu" }

func (l LeakyReLU) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if err := setting.Check(l.Kind(), l); err != nil {
		return p.reject("%v", err)
	}
	slope := float32(l.Slope)
	return Activation{kind: l.Kind(), value: func(y, x []float32) {
		for i, v := range x {
			y[i] = max(v, slope*v)
		}
	}, gradient: func(dx, y, dy []float32) { // the sign of y is that of x, or y is 0 as slope is
		for i, d := range dy {
			if !(y[i] > 0) {
				d *= slope
			}
			dx[i] = d
		}
	}}.Forward(p, x)
}

// ELU is x above 0 and Alpha·(exp(x)-1) below it (Clevert et al., arXiv:1511.07289). PyTorch:
// nn.ELU.
type ELU struct{ Alpha float64 }

var elu = kind("x above 0, alpha times (exp(x)-1) below it.", func() Layer { return &ELU{Alpha: 1} })

func (l *ELU) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "alpha", Doc: "How far it goes below 0; default 1.",
		Format: setting.Number{Min: 0, Max: 100, OpenMin: true}, Value: &l.Alpha}}
}

func (ELU) Kind() string { return "elu" }

func (l ELU) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if err := setting.Check(l.Kind(), l); err != nil {
		return p.reject("%v", err)
	}
	return Activation{kind: l.Kind(), value: l.value, gradient: l.gradient}.Forward(p, x)
}

// value takes exp(x)-1 as 2t/(1-t) with t = tanh(x/2), which loses no digits near 0.
func (l ELU) value(y, x []float32) {
	alpha := float32(l.Alpha)
	var halves [256]float32
	for len(x) > 0 {
		n := min(len(x), len(halves))
		t := halves[:n]
		for i, v := range x[:n] {
			t[i] = min(v, 0) / 2
		}
		kernel.Tanh(t, t)
		for i, v := range x[:n] {
			y[i] = max(v, 0) + alpha*2*t[i]/(1-t[i])
		}
		x, y = x[n:], y[n:]
	}
}

// gradient takes the derivative below 0, alpha·exp(x), as y + alpha.
func (l ELU) gradient(dx, y, dy []float32) {
	alpha := float32(l.Alpha)
	for i, d := range dy {
		if y[i] < 0 {
			d *= y[i] + alpha
		}
		dx[i] = d
	}
}
