package votes

import "math"

// logTail returns log P[N(0,1) > x] for any x. The probability has a small relative error.
func logTail(x float64) float64 {
	if x < 5 {
		return math.Log(math.Erfc(x/math.Sqrt2) / 2)
	}
	// Mills ratio as a continued fraction (DLMF 7.9.1), backwards; from 5 on 60 levels are exact.
	ratio := x
	for k := 60.0; k >= 1; k-- {
		ratio = x + k/ratio
	}
	return -x*x/2 - math.Log(2*math.Pi)/2 - math.Log(ratio)
}

// tailAt returns the x whose logTail is log, for log below 0. The logarithm of the tail is concave
// and falls, so that Newton's method from above the root comes down to it.
func tailAt(log float64) float64 {
	x := -1.0
	if log < -math.Ln2 {
		x = math.Sqrt(-2 * (log + math.Ln2)) // P[N > x] ≤ e^(-x²/2)/2 for x ≥ 0
	} else {
		for logTail(x) > log { // the root lies above
			x += 0.25
		}
		for x > -40 && logTail(x) < log && logTail(x-1) < log {
			x--
		}
	}
	for range 200 {
		f := logTail(x) - log
		slope := -math.Exp(-x*x/2 - math.Log(2*math.Pi)/2 - logTail(x)) // -φ/Φ̄
		next := x - f/slope
		if math.Abs(next-x) <= 1e-15*math.Max(1, math.Abs(x)) || math.IsNaN(next) {
			break
		}
		x = next
	}
	return x
}

// log1mExp returns log(1 - e^x) for x < 0.
func log1mExp(x float64) float64 {
	if x > -math.Ln2 {
		return math.Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}
