package model

import "math"

// Softsign is x/(1+|x|).
var Softsign = Activation{kind: "softsign", value: softsignOf, gradient: softsignGradient}

var softsign = kind("x divided by one more than its magnitude.", func() Layer { return &Softsign })

func softsignOf(y, x []float32) {
	for i, v := range x {
		y[i] = v / (1 + float32(math.Abs(float64(v))))
	}
}

func softsignGradient(dx, y, dy []float32) {
	for i, d := range dy {
		flat := 1 - float32(math.Abs(float64(y[i])))
		dx[i] = d * flat * flat
	}
}
