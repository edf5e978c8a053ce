package kernel

import (
	"math"
	"testing"
)

// TestGramProduct holds the sum against the squared norm of the gradient, formed in float64, and
// the magnitude against its definition; the scratch it gets is full of NaN.
func TestGramProduct(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, c := range append(geometries[:len(geometries):len(geometries)], square(16, 8, 16)) {
			if c.Groups > 1 {
				continue
			}
			x, dz := randoms(1, c.Height*c.Width*c.In), randoms(2, c.Positions()*c.Out)
			want := sumOfSquares(c.filterGradientReference(x, dz))
			v := NewConvolution(c, nil)
			fill(v.grams.get(0, 1<<20), nan32)
			sum, magnitude, underflow := v.GramProduct(0, x, dz)
			if !(math.Abs(sum-want) <= 2e-7*magnitude) {
				t.Errorf("%+v: squared norm is %v, want %v", c, sum, want)
			}
			if !(underflow > 0 && underflow < 1e-30*sum) {
				t.Errorf("%+v: underflow is %v of %v", c, underflow, sum)
			}
			if c.Positions() <= 128 {
				if want := c.gramMagnitude(x, dz); !(math.Abs(magnitude-want) <= 1e-6*want) {
					t.Errorf("%+v: magnitude is %v, want %v", c, magnitude, want)
				}
			}
		}
	})
}

func sumOfSquares(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}

// gramMagnitude is Σ|UUᵀ∘VVᵀ| in float64.
func (c Conv) gramMagnitude(x, dz []float32) float64 {
	t, taps := c.Positions(), c.Taps()
	u := make([]float32, t*taps)
	c.Lower(u, x, 0)
	var sum float64
	for i := range t {
		for j := range t {
			uu := weighted(u[i*taps:(i+1)*taps], toFloat64(u[j*taps:(j+1)*taps]))
			sum += math.Abs(uu * weighted(dz[i*c.Out:(i+1)*c.Out], toFloat64(dz[j*c.Out:(j+1)*c.Out])))
		}
	}
	return sum
}

// TestGramProductWithoutCancellation: where the terms do not cancel the norm is right to 1e-6.
func TestGramProductWithoutCancellation(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		c := square(16, 16, 8)
		x, dz := randoms(1, c.Height*c.Width*c.In), randoms(2, c.Positions()*c.Out)
		addTo(x, 3)
		addTo(dz, 1)
		want := sumOfSquares(c.filterGradientReference(x, dz))
		sum, magnitude, _ := NewConvolution(c, nil).GramProduct(0, x, dz)
		if sum < magnitude/2 {
			t.Fatalf("%v of %v is left", sum, magnitude)
		}
		if e := math.Sqrt(sum/want) - 1; !(math.Abs(e) <= 1e-6) {
			t.Errorf("norm is off by %.2g", e)
		}
	})
}

// TestGramProductCancels: the gradient of an image of one value is zero when the gradients of the
// outputs sum to zero; the magnitude shows that the digits of the sum mean nothing.
func TestGramProductCancels(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		c := square(8, 8, 8)
		c.PadH, c.PadW = 0, 0
		x, dz := make([]float32, c.Height*c.Width*c.In), make([]float32, c.Positions()*c.Out)
		fill(x, 1000.1)
		for i := range dz {
			dz[i] = float32(1 - 2*(i/c.Out%2))
		}
		sum, magnitude, _ := NewConvolution(c, nil).GramProduct(0, x, dz)
		if !(math.Abs(sum) < 1e-6*magnitude) || magnitude < 1e9 {
			t.Errorf("%v of %v is left, want nothing", sum, magnitude)
		}
	})
}

// TestGramProductUnderflows: products of two values below the range of float32 are missing from the
// sum, and the bound says how much that may be.
func TestGramProductUnderflows(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		c := square(8, 8, 8)
		for _, scales := range [][2]float32{{1e-24, 1}, {1, 1e-24}, {1e-22, 1e-22}, {3e-23, 1e-10}} {
			x, dz := randoms(1, c.Height*c.Width*c.In), randoms(2, c.Positions()*c.Out)
			for i := range x {
				x[i] *= scales[0]
			}
			for i := range dz {
				dz[i] *= scales[1]
			}
			want := sumOfSquares(c.filterGradientReference(x, dz))
			sum, magnitude, underflow := NewConvolution(c, nil).GramProduct(0, x, dz)
			if missing := math.Abs(sum - want); missing > underflow+1e-6*magnitude {
				t.Errorf("%v: %v is missing from %v, bound %v", scales, missing, want, underflow)
			}
			if want*0x1p-21 > underflow {
				t.Errorf("%v: bound %v says that nothing of %v is lost", scales, underflow, want)
			}
		}
	})
}

// TestGramProductOfNaN: an image that is not finite has no finite squared norm.
func TestGramProductOfNaN(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, bad := range []float32{nan32, inf32} {
			c := square(8, 8, 8)
			v := NewConvolution(c, nil)
			x, dz := randoms(1, c.Height*c.Width*c.In), randoms(2, c.Positions()*c.Out)
			want, _, _ := v.GramProduct(0, x, dz)
			x[100] = bad
			if sum, _, _ := v.GramProduct(0, x, dz); !math.IsNaN(sum) && !math.IsInf(sum, 0) {
				t.Errorf("%v: sum is %v", bad, sum)
			}
			x[100] = randoms(1, 101)[100]
			if sum, _, _ := v.GramProduct(0, x, dz); sum != want {
				t.Errorf("after a %v the sum is %v, want %v", bad, sum, want)
			}
		}
	})
}
