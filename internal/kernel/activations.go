package kernel

import "math"

// The activations write to y the function of each element of x, the gradients to
// dx the derivative times each element of dy. ReLU, Tanh and Sigmoid take the
// derivative from the result y, GELU and SiLU from the argument x. NaN in gives
// NaN out, in the gradients through either argument. All slices have the length
// of the first; a longer source is cut.

// ReLU computes max(x, 0).
func ReLU(y, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		if v < 0 { // false for a NaN, which stays
			v = 0
		}
		y[i] = v
	}
}

// ReLUGrad computes dy where y > 0 and 0 elsewhere; y may be the argument of ReLU
// as well as its result.
func ReLUGrad(dx, y, dy []float32) {
	y, dy = y[:len(dx)], dy[:len(dx)]
	for i, v := range y {
		d := dy[i]
		if v <= 0 {
			d *= 0 // a NaN in dy stays a NaN
		} else if v != v {
			d = v
		}
		dx[i] = d
	}
}

// Tanh computes the hyperbolic tangent.
func Tanh(y, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = tanh32(v)
	}
}

// TanhGrad computes (1 - y²)·dy for y = tanh(x).
func TanhGrad(dx, y, dy []float32) {
	y, dy = y[:len(dx)], dy[:len(dx)]
	for i, v := range y {
		dx[i] = (1 - v*v) * dy[i]
	}
}

// Sigmoid computes 1/(1 + exp(-x)).
func Sigmoid(y, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = sigmoid32(v)
	}
}

// SigmoidGrad computes y·(1 - y)·dy for y = sigmoid(x).
func SigmoidGrad(dx, y, dy []float32) {
	y, dy = y[:len(dx)], dy[:len(dx)]
	for i, v := range y {
		dx[i] = v * (1 - v) * dy[i]
	}
}

// SiLU computes x·sigmoid(x), also called swish.
func SiLU(y, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = v * sigmoid32(v)
	}
}

// SiLUGrad computes s·(1 + x·(1 - s))·dy with s = sigmoid(x).
func SiLUGrad(dx, x, dy []float32) {
	x, dy = x[:len(dx)], dy[:len(dx)]
	for i, v := range x {
		s := sigmoid32(v)
		// 1 - s would cancel for large x.
		dx[i] = s * (1 + v*sigmoid32(-v)) * dy[i]
	}
}

// GELU computes x·Φ(x) with the distribution function Φ of the standard normal,
// the exact form, which is PyTorch's default.
func GELU(y, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = float32(float64(v) * normalCDF(float64(v)))
	}
}

// GELUGrad computes (Φ(x) + x·φ(x))·dy.
func GELUGrad(dx, x, dy []float32) {
	x, dy = x[:len(dx)], dy[:len(dx)]
	for i, v := range x {
		u := float64(v)
		density := math.Exp(-u*u/2) / math.Sqrt(2*math.Pi)
		dx[i] = float32(normalCDF(u)+u*density) * dy[i]
	}
}

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
