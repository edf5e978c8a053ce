package scattering

import (
	"math"
	"testing"
)

// Each group gets mean 0 and variance 1, whatever the others hold; the formula, value by value.
func TestGroupNormIsItsDefinition(t *testing.T) {
	const channels, groups, places = 6, 3, 5
	values := make([]float32, channels*places)
	want := make([]float64, len(values))
	for i := range values {
		values[i] = float32(i*i%17) * float32(i/10+1)
	}
	const n = channels / groups * places
	for g := range groups {
		group := float64s(values[g*n : (g+1)*n])
		mean, variance := sum(group)/n, 0.0
		for _, v := range group {
			variance += (v - mean) * (v - mean) / n
		}
		for i, v := range group {
			want[g*n+i] = (v - mean) / math.Sqrt(variance+1e-5)
		}
	}
	GroupNorm(values, groups)
	expectClose(t, values, want, 1e-6)
}

// A group of equal values becomes zero.
func TestGroupNormOfAConstant(t *testing.T) {
	values := []float32{0.3, 0.3, 0.3, 0.3, 1, 2, 3, 4}
	GroupNorm(values, 2)
	expectClose(t, values[:4], make([]float64, 4), 1e-4)
}
