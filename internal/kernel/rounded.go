package kernel

import "math"

// Rounded normals: the integers next to normals that are known well enough, and which ones are not.

// AddRoundedNormals adds deviation·z to every number sum + rest, an integer and a fraction, where
// z is Box and Muller's normal of words (normals.go), rounds to an integer and scales:
//
//	dst = spacing · (sum + round(rest + deviation·z))
//
// The words are the first 64 bits of the infinite binary expansions of a radius U and an angle Θ,
// and z stands for the normal Z that real arithmetic makes of those. Bit i of doubts[j] is set
// unless both integers of pair i of block j, values 16j+i and 16j+8+i, are certain. An integer is
// certain if every continuation of the two words has it next to rest + deviation·Z. The caller
// settles the pairs in doubt with further words; there dst holds the result for the known words
// alone.
//
// sum holds integers of any size in float64; above 2^53 its sum with the noise is rounded once, to
// a number that depends on nothing but the exact sum of the two integers. A result of zero is +0,
// whatever the sign of a zero in sum. dst, sum, rest and words have the same length, a multiple of
// [NormalsBlock], and doubts a sixteenth of it; it panics otherwise. dst may be sum. Numbers of
// rest are from -1/2 to 1/2, deviation is above 0 and at most [MaxRoundedDeviation].
//
// # When an integer is certain
//
// It is if the radius word w is in [2^45, 2^64 - 2^34) and x, the float64 for rest + deviation·z,
// is within 1/2 - 2^-50 - 2^-44·deviation of it. This is right because, for such w, |x - (rest +
// deviation·Z)| < 2^-54 + 2^-46·deviation, a quarter of the margin. With ε = 2^-53, the relative
// error of one rounding, E = -ln U, r = sqrt(2E) and r ≤ 5.133 = r(2^-19):
//
//   - The bits of U that follow w. u = (w|1)·2^-64 is within 2^-64 of U, so r is within
//     2^-64/(u·r): convex in u and at most 2^-45/5.132 < 49.9ε at u = 2^-19 and 2^-64/2^-14.5 <
//     11.4ε at u = 1 - 2^-30.
//   - E for u > sqrt(1/2). 1-u is rounded once, which moves E by at most 1.2ε·E; [minusLog1p] has a
//     relative error of 1.9ε: its last subtraction gives ε and all before it, with weights of g²/2
//     and less, at most 0.28ε of E ≥ 0.3466 at the far end, where g = -0.2929, and less near it. So
//     r is within 1.6ε·r ≤ 1.4ε.
//   - E for u < sqrt(1/2). u is rounded once: ε. k·ln 2 has the error of the constant, 0.3ε·k·ln 2
//     ≤ 4ε, minusLog1p 0.63ε, and the sum is rounded: E·ε. Divided by r: at most 2.7ε at E =
//     0.3466 and 3.7ε at E = 19·ln 2.
//   - The root is rounded: ε·r ≤ 5.2ε. All of the radius: 49.9ε + 3.7ε + 5.2ε = 58.8ε.
//   - Sine and cosine of Θ. t, at most π/4, is rounded twice and has the relative error 0.4ε of the
//     constant 2π: 2.4ε·t, which moves the sine by 2.4ε·t·cos t ≤ 1.4ε and the cosine by 2.4ε·t·sin
//     t ≤ 1.4ε. The bits of Θ that follow its word move t by 2π·2^-64 < 0.004ε. Evaluation: of the
//     sine 0.3ε in t³·P(t²), ε·sin t ≤ 0.71ε in its addition to t; of the cosine 0.5ε and 0.31ε in
//     1 - t²/2, 0.1ε in t⁴·Q(t²), 0.5ε in their sum. The polynomials themselves are within 0.1ε of
//     the functions. So both are within 3ε, and times r: 15.4ε.
//   - r·deviation and x = rest + (r·deviation)·cos are rounded once each: 2ε·5.133 ≤ 10.3ε times
//     deviation, and ε/2 of 1/2, which rest can be.
//
// The sum is 84.5ε < 2^-46, times deviation, and 2^-54. x - round(x) is exact, and the margin is
// rounded by up to 2^-54. In proofs, normals.v has the radius and the cosine, rounded.v what follows,
// and Gappa bounds what rounding does inside minusLog1p and sincos.
func AddRoundedNormals(dst, sum, rest []float64, words []uint64, doubts []uint8, deviation, spacing float64) {
	if n := len(dst); n%NormalsBlock != 0 || len(words) != n || len(sum) != n || len(rest) != n || len(doubts) != n/NormalsBlock {
		panic("kernel: AddRoundedNormals: a length is wrong, or no multiple of 16")
	}
	active.addRoundedNormals(dst, sum, rest, words, doubts, deviation, spacing)
}

// Split splits x[i]·2^-digits into an integer whole[i], rounded if above 2^53, and an exact rest[i]
// from -1/2 to 1/2. digits is from 0 to 53. It panics when whole or rest is shorter than x.
func Split(whole, rest []float64, x []int64, digits int) {
	active.split(whole[:len(x)], rest[:len(x)], x, digits)
}

func portableSplit(whole, rest []float64, x []int64, digits int) {
	whole, rest = whole[:len(x)], rest[:len(x)]
	half, unit, shift := int64(1)<<digits>>1, math.Ldexp(1, -digits), uint(digits)&63
	for i, v := range x {
		n := (v + half) >> shift
		whole[i], rest[i] = float64(n), float64(v-n<<shift)*unit
	}
}

// MaxRoundedDeviation is the largest deviation of [AddRoundedNormals]; there, every eighth value is
// in doubt.
const MaxRoundedDeviation = 0x1p40

// The error bound holds for radius words from leastRadius on, except the last nearCentre words.
// Adding nearCentre moves the words on both sides of the range below one threshold.
const (
	leastRadius = 1 << 45
	nearCentre  = 1 << 34
)

// certainty returns the largest distance from an integer at which that integer is certain.
func certainty(deviation float64) float64 { return math.FMA(-0x1p-44, deviation, 0.5-0x1p-50) }

func portableAddRoundedNormals(dst, sum, rest []float64, words []uint64, doubts []uint8, deviation, spacing float64) {
	limit := certainty(deviation)
	for block := range doubts {
		var doubt uint8
		for pair := range normalPairs {
			i, j := block*NormalsBlock+pair, block*NormalsBlock+normalPairs+pair
			r := deviation * radius(words[i])
			sin, cos := sincos(words[j])
			x, y := math.FMA(r, cos, rest[i]), math.FMA(r, sin, rest[j])
			n, m := math.RoundToEven(x), math.RoundToEven(y)
			if !(max(math.Abs(x-n), math.Abs(y-m)) <= limit) || words[i]+nearCentre < leastRadius+nearCentre {
				doubt |= 1 << pair
			}
			dst[i], dst[j] = math.FMA(sum[i]+n, spacing, 0), math.FMA(sum[j]+m, spacing, 0) // -0 + 0 is +0
		}
		doubts[block] = doubt
	}
}
