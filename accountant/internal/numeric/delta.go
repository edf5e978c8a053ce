package numeric

import "math"

// The deltas that LeastDelta looks at.
const (
	minSolvedDelta = 1e-300
	maxSolvedDelta = 1 - 0x1p-53
)

// LeastDelta returns the least delta at which epsilonAt is at most epsilon, to a relative
// 1e-9 and on the private side: epsilonAt was at most epsilon there. It is 1 if there is
// none, and at least 1e-300. epsilonAt must not rise.
func LeastDelta(epsilonAt func(delta float64) float64, epsilon float64) float64 {
	// Epsilon is close to a power of log(1/δ), so the search is for the logarithm of that,
	// negated for a function that falls.
	deltaAt := func(x float64) float64 {
		return min(max(math.Exp(-math.Exp(-x)), minSolvedDelta), maxSolvedDelta)
	}
	excess := func(x float64) float64 {
		e := epsilonAt(deltaAt(x))
		if e > epsilon {
			// It is +Inf if epsilon is 0.
			return max(math.Log(e/epsilon), math.SmallestNonzeroFloat64)
		}
		if epsilon == 0 {
			return math.Inf(-1)
		}
		return min(math.Log(e/epsilon), 0)
	}
	least, most := -math.Log(-math.Log(minSolvedDelta)), -math.Log(-math.Log(maxSolvedDelta))
	around, root := Enclose(excess, -math.Log(-math.Log(1e-5)), least, most)
	switch root {
	case Negative:
		return minSolvedDelta
	case Positive:
		return 1
	}
	const tolerance = 1e-12 // of log log(1/δ): 1e-9 of δ at most, where log(1/δ) is 690
	return deltaAt(around.Narrow(excess, tolerance))
}
