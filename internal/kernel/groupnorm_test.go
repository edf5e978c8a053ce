package kernel

import (
	"math"
	"testing"
)

// groupNorm is the definition, in float64.
func groupNorm(x []float64, channels, groups int, eps float64) []float64 {
	width := channels / groups
	mean, variance, count := make([]float64, groups), make([]float64, groups), float64(len(x)/groups)
	group := func(i int) int { return i % channels / width }
	for i, v := range x {
		mean[group(i)] += v / count
	}
	for i, v := range x {
		variance[group(i)] += (v - mean[group(i)]) * (v - mean[group(i)]) / count
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v - mean[group(i)]) / math.Sqrt(variance[group(i)]+eps)
	}
	return y
}

func TestGroupNorm(t *testing.T) {
	for _, c := range []struct{ positions, channels, groups int }{
		{1, 4, 1}, {9, 4, 2}, {6, 6, 6}, {16, 8, 1}, {5, 12, 3},
	} {
		const eps = 1e-3
		n := c.positions * c.channels
		x, dxhat := randoms(1, n), randoms(2, n)
		for i := range x {
			x[i] += 3 // a mean that a one-pass variance would feel
		}
		xhat, dx := make([]float32, n), make([]float32, n)
		GroupNormForward(xhat, x, c.positions, c.channels, c.groups, eps)
		checkClose(t, "forward", xhat, groupNorm(toFloat64(x), c.channels, c.groups, eps), 1e-6)
		GroupNormGrad(dx, x, dxhat, c.positions, c.channels, c.groups, eps)
		checkGradient(t, "gradient", dx, x, func(x []float64) float64 {
			return weighted(dxhat, groupNorm(x, c.channels, c.groups, eps))
		})

		inPlace := append([]float32(nil), x...)
		GroupNormForward(inPlace, inPlace, c.positions, c.channels, c.groups, eps)
		checkClose(t, "in place", inPlace, toFloat64(xhat), 0)
		GroupNormGrad(dxhat, x, dxhat, c.positions, c.channels, c.groups, eps)
		checkClose(t, "gradient in place", dxhat, toFloat64(dx), 0)
	}
}

// TestGroupNormConstant divides by √eps, not by zero.
func TestGroupNormConstant(t *testing.T) {
	x, xhat := []float32{1e6, 1e6, 1e6, 1e6}, make([]float32, 4)
	GroupNormForward(xhat, x, 2, 2, 1, 1e-5)
	for i, v := range xhat {
		if v != 0 {
			t.Errorf("element %d of a constant image becomes %v, want 0", i, v)
		}
	}
}

// TestGroupNormNaN stays in its group.
func TestGroupNormNaN(t *testing.T) {
	x, xhat := randoms(1, 12), make([]float32, 12)
	x[5] = nan32 // channel 1 of 4: group 0 of 2
	GroupNormForward(xhat, x, 3, 4, 2, 1e-5)
	for i, v := range xhat {
		if isNaN := v != v; isNaN != (i%4 < 2) {
			t.Errorf("element %d is %v with a NaN in group 0", i, v)
		}
	}
}
