package composition

import "math"

// ulp is the spacing of the floats just above 1, 2⁻⁵².
const ulp = 0x1p-52

// up returns x, at least 0, moved up by a relative n ulp. Infinities stay.
func up(x float64, n float64) float64 { return x * (1 + n*ulp) }

// logOf returns log x. math.Log is wrong for subnormal x on amd64 (it takes 1e-320 for
// 1e-308), and a delta may be that small.
func logOf(x float64) float64 {
	if x < 0x1p-1000 {
		return math.Log(x*0x1p100) - 100*math.Ln2
	}
	return math.Log(x)
}

// addUp returns a + b for numbers of at least 0, rounded up, not to nearest: it is
// the sum where the sum is a float, else the float above.
func addUp(a, b float64) float64 {
	s := a + b
	if math.IsInf(s, 1) {
		return s
	}
	// The rounding error of a sum is a float (Knuth, TAOCP 2, 4.2.2, Theorem B).
	bb := s - a
	if (a-(s-bb))+(b-bb) > 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}

// mulUp returns a·b for numbers of at least 0, rounded up; 0·∞ is 0.
func mulUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	if math.IsInf(p, 1) {
		return p
	}
	// FMA rounds once, so that its sign is that of the error of p; where the error
	// underflows it is unknown, and the step up is taken.
	if r := math.FMA(a, b, -p); r > 0 || p < 0x1p-900 {
		return math.Nextafter(p, math.Inf(1))
	}
	return p
}

// afterDeltas returns 1 - (1-delta)·Π(1-δᵢ)^kᵢ for logKeep = Σ kᵢ log(1-δᵢ), the
// form in which composition theorems join deltas, rounded up.
func afterDeltas(logKeep, delta float64) float64 {
	if delta == 0 && logKeep == 0 {
		return 0
	}
	return math.Min(1, up(-math.Expm1(logKeep+math.Log1p(-delta)), 8))
}

// beforeDeltas is the inverse in delta: what is left of a total delta for the
// epsilons to use, rounded down. It is negative if the total is below what the
// δᵢ alone cost.
func beforeDeltas(logKeep, total float64) float64 {
	if logKeep == 0 {
		return total
	}
	left := -math.Expm1(math.Log1p(-total) - logKeep)
	return left - 8*ulp*total
}
