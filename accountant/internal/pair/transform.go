package pair

import "math"

// Transformer is a pair whose transform can be computed,
//
//	M(s) = E_P[e^(sL); L < ∞] = E_Q[(dP/dQ)^(1+s)],   Re s ≥ 0.
//
// M(0) is 1 less the infinite mass, and K = log M is convex on the real line.
type Transformer interface {
	Pair

	// Cumulant returns the function K(c) = log M(c), c > 0, with its first two derivatives, to
	// about ten digits. The function may keep tables, and is for one goroutine.
	Cumulant() func(c float64) (k, k1, k2 float64)

	// Line returns M at c, c + i·step, …, count places of the line Re s = c > 0.
	Line(c, step float64, count int) Line

	// Tail returns a bound for log |M(c+iy)| that holds for all |y| ≥ reach.
	Tail(c, reach float64) float64
}

// Line is the transform at equally spaced places of a vertical line, with bounds for the
// absolute errors of the values. If Scale is 0 they are values of M - 1, which keeps its
// digits where M is close to 1; else they are M·e^(-Scale).
type Line struct {
	Values []complex128
	Errors []float64
	Scale  float64
}

// Log returns log M at place j, its imaginary part up to a multiple of 2π, and a number e such that
// the true |M|^n and M^n are within |M|^n (e^(ne) - 1) of the computed ones.
func (l Line) Log(j int) (logM complex128, e float64) {
	x, y := real(l.Values[j]), imag(l.Values[j])
	if l.Scale == 0 {
		if z := 2*x + x*x + y*y; z > -0.5 {
			return complex(math.Log1p(z)/2, math.Atan2(y, 1+x)), math.Log1p(l.Errors[j] / math.Sqrt(1+z))
		}
		x++
	}
	size := math.Hypot(x, y)
	if size == 0 { // as good a value as 0, and with a logarithm
		size = l.Errors[j] + math.SmallestNonzeroFloat64
		return complex(l.Scale+math.Log(size), 0), math.Ln2
	}
	return complex(l.Scale+math.Log(size), math.Atan2(y, x)), math.Log1p(l.Errors[j] / size)
}

// phi2 returns e^v - 1 - v for v = x + iy, given e^x, without cancellation next to 0.
func phi2(x, y, expX float64) (re, im float64) {
	if math.Abs(x)+math.Abs(y) < 0.25 {
		v := complex(x, y)
		sum := complex(1.0/6227020800, 0) // 1/13!
		for _, c := range [...]float64{1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
			1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2} {
			sum = sum*v + complex(c, 0)
		}
		sum *= v * v
		return real(sum), imag(sum)
	}
	sin, cos := math.Sincos(y)
	return expX*cos - 1 - x, expX*sin - y
}

// ulp is the relative error of one rounding.
const ulp = 1.0 / (1 << 53)
