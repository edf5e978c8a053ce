package accountant

import "math"

// roundUp is x ≥ 0 moved up by more than the rounding of a few sums and products.
func roundUp(x float64) float64 { return x * (1 + 0x1p-46) }

// sumUp is a + b of numbers of at least 0: the sum if it is a float64, else one above.
func sumUp(a, b float64) float64 {
	s := a + b
	if b > a {
		a, b = b, a
	}
	if b > s-a { // exact, Dekker's FastTwoSum
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}

// productUp is a·b of numbers of at least 0: the product if it is a float64, else one
// above.
func productUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	// Where the error of the product underflows its sign is unknown.
	if math.FMA(a, b, -p) > 0 || p < 0x1p-900 {
		return math.Nextafter(p, math.Inf(1))
	}
	return p
}

// quotientUp is a/b of numbers above 0: the quotient if it is a float64, else one above.
func quotientUp(a, b float64) float64 {
	q := a / b
	if !math.IsInf(q, 1) && (math.FMA(q, b, -a) < 0 || a < 0x1p-900) {
		return math.Nextafter(q, math.Inf(1))
	}
	return q
}
