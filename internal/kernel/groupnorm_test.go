package kernel

import (
	"math"
	"slices"
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

// normShapes reach every path: few and many channels, multiples of a vector or not,
// one group and many, more channels than the vector kernels take.
var normShapes = []struct{ positions, channels, groups int }{
	{1, 4, 1}, {9, 4, 2}, {6, 6, 6}, {16, 8, 1}, {5, 12, 3}, {64, 16, 8}, {33, 32, 8}, {7, 64, 8}, {40, 10, 5}, {3, 100, 1}, {1, 1000, 1}, {2, 1032, 4},
}

func TestGroupNorm(t *testing.T) { onEachKernelSet(t, testGroupNorm) }

func testGroupNorm(t *testing.T) {
	for _, c := range normShapes {
		const eps = 1e-3
		n := c.positions * c.channels
		x, dxhat := randoms(1, n), randoms(2, n)
		for i := range x {
			x[i] += 3
		}
		xhat, dx, inverseStd := make([]float32, n), make([]float32, n), make([]float32, c.groups)
		GroupNormForward(xhat, inverseStd, x, c.positions, c.channels, c.groups, eps)
		checkClose(t, "forward", xhat, groupNorm(toFloat64(x), c.channels, c.groups, eps), 1e-6)
		GroupNormGrad(dx, xhat, dxhat, inverseStd, c.positions, c.channels, c.groups)
		checkClose(t, "gradient", dx, groupNormGrad(x, dxhat, c.channels, c.groups, eps), 2e-6)
		if n <= 64 {
			checkGradient(t, "gradient by differences", dx, x, func(x []float64) float64 {
				return weighted(dxhat, groupNorm(x, c.channels, c.groups, eps))
			})
		}

		inPlace := slices.Clone(x)
		GroupNormForward(inPlace, inverseStd, inPlace, c.positions, c.channels, c.groups, eps)
		checkClose(t, "in place", inPlace, toFloat64(xhat), 0)
		GroupNormGrad(inPlace, inPlace, dxhat, inverseStd, c.positions, c.channels, c.groups)
		checkClose(t, "gradient in the place of xhat", inPlace, toFloat64(dx), 0)
		GroupNormGrad(dxhat, xhat, dxhat, inverseStd, c.positions, c.channels, c.groups)
		checkClose(t, "gradient in the place of dxhat", dxhat, toFloat64(dx), 0)
	}
}

// groupNormGrad is the formula of GroupNormGrad, in float64.
func groupNormGrad(x, dxhat []float32, channels, groups int, eps float64) []float64 {
	xhat := groupNorm(toFloat64(x), channels, groups, eps)
	width, count := channels/groups, float64(len(x)/groups)
	avg, dot, mean, variance := make([]float64, groups), make([]float64, groups), make([]float64, groups), make([]float64, groups)
	group := func(i int) int { return i % channels / width }
	for i, d := range dxhat {
		avg[group(i)] += float64(d) / count
		dot[group(i)] += float64(d) * xhat[i] / count
		mean[group(i)] += float64(x[i]) / count
	}
	for i, v := range x {
		variance[group(i)] += (float64(v) - mean[group(i)]) * (float64(v) - mean[group(i)]) / count
	}
	dx := make([]float64, len(x))
	for i, d := range dxhat {
		g := group(i)
		dx[i] = (float64(d) - avg[g] - xhat[i]*dot[g]) / math.Sqrt(variance[g]+eps)
	}
	return dx
}

// TestGroupNormMean has a mean of a million standard deviations, at which a one-pass variance and a
// mean rounded to float32 would both be nothing but error, and a first value far from all others.
func TestGroupNormMean(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, c := range normShapes {
			n := c.positions * c.channels
			x, xhat, dxhat, dx, std := randoms(1, n), make([]float32, n), randoms(2, n), make([]float32, n), make([]float32, c.groups)
			for i := range x {
				x[i] = 1e6 + x[i]
			}
			x[0] = 1e6 + 300
			GroupNormForward(xhat, std, x, c.positions, c.channels, c.groups, 1e-5)
			checkClose(t, "forward", xhat, groupNorm(toFloat64(x), c.channels, c.groups, 1e-5), 1e-6)
			GroupNormGrad(dx, xhat, dxhat, std, c.positions, c.channels, c.groups)
			checkClose(t, "gradient", dx, groupNormGrad(x, dxhat, c.channels, c.groups, 1e-5), 4e-6)
		}
	})
}

// TestGroupNormConstant divides by √eps, not by zero.
func TestGroupNormConstant(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, c := range normShapes {
			n := c.positions * c.channels
			x, xhat, std := make([]float32, n), make([]float32, n), make([]float32, c.groups)
			fill(x, 1e6/3)
			GroupNormForward(xhat, std, x, c.positions, c.channels, c.groups, 1e-5)
			for i, v := range xhat {
				if v != 0 {
					t.Fatalf("%+v: element %d of a constant image becomes %v, want 0", c, i, v)
				}
			}
		}
	})
}

// TestGroupNormNaN stays in its group, in the gradients too.
func TestGroupNormNaN(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, c := range normShapes {
			for _, bad := range []float32{nan32, inf32} {
				for _, at := range []int{0, c.positions * c.channels / 2, c.positions*c.channels - 1} {
					n, width := c.positions*c.channels, c.channels/c.groups
					x, xhat, d, dx, std := randoms(1, n), make([]float32, n), randoms(2, n), make([]float32, n), make([]float32, c.groups)
					check := func(what string, got []float32) {
						t.Helper()
						for i, v := range got {
							if isNaN := v != v; isNaN != (i%c.channels/width == at%c.channels/width) {
								t.Fatalf("%+v, %s: element %d is %v with %v at %d", c, what, i, v, bad, at)
							}
						}
					}
					clean := x[at]
					x[at] = bad
					GroupNormForward(xhat, std, x, c.positions, c.channels, c.groups, 1e-5)
					check("forward", xhat)
					GroupNormGrad(dx, xhat, d, std, c.positions, c.channels, c.groups)
					check("gradient", dx)
					x[at], d[at] = clean, bad
					GroupNormForward(xhat, std, x, c.positions, c.channels, c.groups, 1e-5)
					GroupNormGrad(dx, xhat, d, std, c.positions, c.channels, c.groups)
					if bad != bad { // an infinite dz may leave infinities
						check("gradient from a gradient", dx)
					}
				}
			}
		}
	})
}
