package noise

import (
	"fmt"
	"math"
)

// Ratio is Num/Den, both at least 1: a scale for which the laws of this package are exact.
type Ratio struct{ Num, Den uint64 }

// The largest scale of Laplace noise, and the largest deviation of Gaussian noise.
const (
	MaxScale     = 1 << 40
	MaxDeviation = 1<<31 - 1
)

// RatioUp returns the least ratio that is at least x with a power of two up to 2^20 as denominator
// and a numerator below 2^31, or with denominator 1. It fails unless x is above 0 and at most most.
func RatioUp(x, most float64) (Ratio, error) {
	if !(x > 0 && x <= most) {
		return Ratio{}, fmt.Errorf("found noise of scale %v, expected above 0 and at most %v", x, most)
	}
	den := float64(1 << 20)
	for den > 1 && math.Ceil(x*den) >= 1<<31 {
		den /= 2
	}
	return Ratio{uint64(math.Ceil(x * den)), uint64(den)}, nil
}

// Float64 returns Num/Den, exactly if RatioUp made the ratio.
func (r Ratio) Float64() float64 { return float64(r.Num) / float64(r.Den) }
