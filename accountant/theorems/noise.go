package theorems

import (
	"fmt"
	"math"
)

// ulp is the distance from 1 to the next float64.
const ulp = 0x1p-52

// tinyFloat is the smallest positive float64: the least δ above 0.
const tinyFloat = math.SmallestNonzeroFloat64

func validatePositive(name string, x float64) error {
	if !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%w: %s is %v, must be finite and above 0", ErrInvalid, name, x)
	}
	return nil
}

func validateEpsilon(epsilon float64) error {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return fmt.Errorf("%w: epsilon is %v, must be finite and at least 0", ErrInvalid, epsilon)
	}
	return nil
}

func validateOpen(delta float64) error {
	if !(delta > 0 && delta < 1) {
		return fmt.Errorf("%w: delta is %v, must be in (0, 1)", ErrInvalid, delta)
	}
	return nil
}

func validateAlpha(alpha float64) error {
	if !(alpha > 1) {
		return fmt.Errorf("%w: order alpha is %v, must be above 1", ErrInvalid, alpha)
	}
	return nil
}

// roundUp is x ≥ 0 raised by n ulp, at least to the next float64 if x is not 0.
func roundUp(x, n float64) float64 {
	if x == 0 || math.IsInf(x, 1) {
		return x
	}
	return math.Nextafter(x+float64(x*n)*ulp, math.Inf(1))
}
