package numeric

import "math"

// Bracket holds two points of a function f that falls through 0 between them: Lo < Hi, AtLo = f(Lo)
// is above 0 and AtHi = f(Hi) is at most 0.
type Bracket struct{ Lo, AtLo, Hi, AtHi float64 }

// Sign says where a function falls through 0, as seen from the two ends of an interval.
type Sign int

const (
	Inside   Sign = iota // it falls between the ends
	Positive             // it is above 0 at the right end, so it falls beyond, if at all
	Negative             // it is at most 0 at the left end
)

// Limits of the stride of Enclose.
const (
	minStride = 0x1p-7       // at first
	maxStride = 2 * math.Ln2 // at first where f is infinite
)

// Enclose looks for a bracket of f within [least, most], from x outwards. Here x is the
// logarithm of a parameter and f that of epsilon, so that f is close to a line of slope
// -1/2 to -2 most of the time. Each point lies a little beyond where the line through the
// last two reaches 0 (at first, one of slope -1), and not far from the last, since answers
// far from the root may be slow. If there is no bracket, the Sign is not Inside and says why.
func Enclose(f func(x float64) float64, x, least, most float64) (Bracket, Sign) {
	fx, slope := f(x), -1.0
	for shortest, blind := minStride, maxStride; ; shortest *= 4 {
		right := fx > 0
		end := least
		if right {
			end = most
		}
		if x == end {
			if right {
				return Bracket{}, Positive
			}
			return Bracket{}, Negative
		}
		stride := 1.25*math.Abs(fx/slope) + shortest
		if math.IsInf(fx, 0) {
			stride, blind = blind, 4*blind
		} else {
			stride = min(stride, maxStride)
		}
		next := max(x-stride, least)
		if right {
			next = min(x+stride, most)
		}
		fnext := f(next)
		switch {
		case right && fnext <= 0:
			return Bracket{x, fx, next, fnext}, Inside
		case !right && fnext > 0:
			return Bracket{next, fnext, x, fx}, Inside
		}
		slope = -1
		if s := (fnext - fx) / (next - x); s < -0.25 { // not NaN, nor nearly flat
			slope = s
		}
		x, fx = next, fnext
	}
}

// Narrow shrinks the bracket until it is at most tolerance wide and returns its right
// end: a point at which f was evaluated and found at most 0. f may return infinities.
func (b Bracket) Narrow(f func(x float64) float64, tolerance float64) float64 {
	for s := NewITP(b, tolerance); b.Hi-b.Lo > tolerance; {
		x := s.Next(b)
		if x == b.Lo || x == b.Hi { // neighbouring floats
			break
		}
		b.Cut(x, f(x))
	}
	return b.Hi
}

// Cut moves one end of the bracket to x: Lo if the value there, fx, is above 0, else Hi.
func (b *Bracket) Cut(x, fx float64) {
	if fx > 0 {
		b.Lo, b.AtLo = x, fx
	} else {
		b.Hi, b.AtHi = x, fx
	}
}

// ITP chooses where to look next in a shrinking bracket (Oliveira, Takahashi 2020, "An
// Enhancement of the Bisection Method Average Performance Preserving Minmax
// Optimality", ACM TOMS 47(1)): regula falsi pulled towards the middle, and at most one
// step more than bisection. In the notation of the paper k2 = 2 and n0 = 1.
type ITP struct {
	k1     float64
	radius float64 // ε 2^(n_max - j): half of what bisection would have left by now
}

// NewITP returns an ITP for narrowing the bracket b to a width of tolerance.
func NewITP(b Bracket, tolerance float64) *ITP {
	width := b.Hi - b.Lo
	bisections := math.Ceil(math.Log2(width/tolerance)) + 1
	return &ITP{k1: 0.2 / width, radius: tolerance / 2 * math.Exp2(bisections)}
}

// Next returns where in the bracket to evaluate next: it interpolates, truncates and projects. That
// is the middle if an end has an infinite value. Call it once for each cut.
func (s *ITP) Next(b Bracket) float64 {
	width := b.Hi - b.Lo
	middle := b.Lo + width/2
	radius := s.radius - width/2
	s.radius /= 2
	falsi := (b.AtLo*b.Hi - b.AtHi*b.Lo) / (b.AtLo - b.AtHi)
	toMiddle := math.Copysign(1, middle-falsi)
	x := middle
	if shift := s.k1 * width * width; shift <= math.Abs(middle-falsi) {
		x = falsi + toMiddle*shift
	}
	if math.Abs(x-middle) > radius {
		x = middle - toMiddle*radius
	}
	if !(x > b.Lo && x < b.Hi) {
		return middle
	}
	return x
}

// Bisect narrows [lo, hi] around where holds, true at lo and false at hi, begins to fail: to width,
// to relative times the larger end, or to neighbouring floats, by 200 halvings at most.
func Bisect(holds func(x float64) bool, lo, hi, width, relative float64) (float64, float64) {
	for range 200 {
		middle := lo + (hi-lo)/2
		if middle <= lo || middle >= hi || hi-lo <= max(width, relative*max(math.Abs(lo), math.Abs(hi))) {
			break
		}
		if holds(middle) {
			lo = middle
		} else {
			hi = middle
		}
	}
	return lo, hi
}

// The deltas that LeastDelta looks at.
const (
	minSolvedDelta = 1e-300
	maxSolvedDelta = 1 - 0x1p-53
)

// LeastDelta returns the least delta at which epsilonAt is at most epsilon, to a relative 1e-9 and
// on the private side: epsilonAt was at most epsilon there. It is 1 if there is none, and at least
// 1e-300. epsilonAt must not rise with delta.
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
