package kernel

import "math"

func exp32(x float32) float32     { return float32(math.Exp(float64(x))) }
func tanh32(x float32) float32    { return float32(math.Tanh(float64(x))) }
func sigmoid32(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }
