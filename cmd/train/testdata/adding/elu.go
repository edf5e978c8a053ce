package model

import "math"

// ELU is x above 0 and exp(x)-1 below it.
var ELU = Activation{kind: "elu", value: eluOf, gradient: eluGradient}

var elu = kind("x above 0, exp(x)-1 below it.", func() Layer { return &ELU })

func eluOf(y, x []float32) {
	for i, v := range x {
		y[i] = max(v, float32(math.Expm1(min(0, float64(v)))))
	}
}

func eluGradient(dx, y, dy []float32) {
	for i, d := range dy {
		dx[i] = d * min(1, 1+y[i])
	}
}
