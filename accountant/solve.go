package accountant

import "math"

// narrow shrinks a bracket of a function that falls through 0: f(lo) > 0 ≥ f(hi),
// lo < hi. It returns the right end once the bracket is at most tolerance wide, so
// the answer is a point at which f was evaluated and found at most 0. f may
// return infinities.
//
// The method is ITP (Oliveira, Takahashi 2020, "An Enhancement of the Bisection
// Method Average Performance Preserving Minmax Optimality", ACM TOMS 47(1)): regula
// falsi pulled towards the middle, at most one step more than bisection.
func narrow(f func(x float64) float64, lo, flo, hi, fhi, tolerance float64) float64 {
	bisections := math.Ceil(math.Log2((hi-lo)/tolerance)) + 1
	k1 := 0.2 / (hi - lo)
	for j := 0.0; hi-lo > tolerance; j++ {
		middle := lo + (hi-lo)/2
		radius := tolerance/2*math.Exp2(bisections-j) - (hi-lo)/2
		x := itpPoint(lo, flo, hi, fhi, k1, radius)
		if !(x > lo && x < hi) {
			x = middle
		}
		if x == lo || x == hi { // neighbouring floats
			break
		}
		if fx := f(x); fx > 0 {
			lo, flo = x, fx
		} else {
			hi, fhi = x, fx
		}
	}
	return hi
}

// itpPoint interpolates, truncates and projects, in the notation of the paper
// (a = lo, b = hi, n0 = 1, k2 = 2). It is NaN if an end has an infinite value.
func itpPoint(a, fa, b, fb, k1, radius float64) float64 {
	middle := a + (b-a)/2
	falsi := (fa*b - fb*a) / (fa - fb)
	sign := math.Copysign(1, middle-falsi)
	x := middle
	if shift := k1 * (b - a) * (b - a); shift <= math.Abs(middle-falsi) {
		x = falsi + sign*shift
	}
	if math.Abs(x-middle) > radius {
		x = middle - sign*radius
	}
	if math.IsNaN(falsi) {
		return falsi
	}
	return x
}
