package kernel

import "math"

// Standard normals from random words: the portable form of what [AddRoundedNormals] rounds.

// NormalsBlock is the number of normals that are made together: lengths of [AddRoundedNormals] are
// multiples of it. The words of a block are those of eight radii and eight angles; the normals are
// eight times radius·cosine, then eight times radius·sine.
//
// The method is Box and Muller's (1958): for uniform u and angle θ, r = sqrt(-2 ln u), the numbers
// r·cos θ and r·sin θ are independent normals. The operations are the same whatever comes out,
// where ziggurat and other rejection methods take longer for some values than for others and let a
// clock tell which.
//
// Both uniforms keep all their 63 or 64 bits where it matters, which a plain float64 in [0, 1) does
// not:
//   - u near 0 is the tail: it reaches sqrt(2·64·ln 2) = 9.42 standard deviations (53 bits would
//     end at 8.57);
//   - u near 1 is the centre: there r ≈ sqrt(2(1-u)), and 1-u is formed in integers, to a multiple
//     of 2^-63, so that pairs close to zero do not lie on visible circles;
//   - θ near an axis is measured from that axis, so that a coordinate close to zero has all its
//     bits too.
//
// The result is the same to the last bit on every processor: all operations round as IEEE 754 says,
// and every fused multiplication and addition is written as one.
const NormalsBlock = 16

// normalPairs counts the pairs of a block.
const normalPairs = NormalsBlock / 2

// radius returns sqrt(-2 ln u) for the u that exponential makes of the word x.
func radius(x uint64) float64 { return math.Sqrt(2 * exponential(x)) }

// exponential returns -ln u for u = (x|1)·2^-64, an odd multiple of 2^-64: never 0 or 1.
//
// Write u = (1+g)·2^-k with 1+g from sqrt(1/2) to sqrt(2), then -ln u = k·ln 2 - ln(1+g). For u
// above sqrt(1/2), k is 0 and g is the integer x - 2^64, so that u close to 1 gives a small g with
// all its bits; below, -ln u is not small, u may be rounded to a float64, and g and k are in its
// bits.
func exponential(x uint64) float64 {
	x |= 1
	const one, half = 0x3ff0000000000000, 0x3fe6a09e667f3bcd // the bits of 1 and of sqrt(1/2) as float64
	rounded := math.Float64bits(float64(x)*0x1p-64) + (one - half)
	g := math.Float64frombits(rounded&(1<<52-1)+half) - 1
	k := 1023 - float64(rounded>>52)
	near := float64(int64(x)) * 0x1p-64
	small := x < sqrtHalf
	return math.FMA(choose(small, k, 0), math.Ln2, minusLog1p(choose(small, g, near)))
}

// choose returns a if c is true and b if it is not, without a branch.
func choose(c bool, a, b float64) float64 {
	var mask uint64
	if c {
		mask = 1
	}
	mask = -mask
	return math.Float64frombits(math.Float64bits(a)&mask | math.Float64bits(b)&^mask)
}

// sqrtHalf is sqrt(1/2) times 2^64, rounded: the least word x that counts as above sqrt(1/2).
const sqrtHalf = 0xb504f333f9de6485

// minusLog1p returns -ln(1+g) for sqrt(1/2) <= 1+g <= sqrt(2) with a relative error of about 2^-52.
// Method and polynomial come from FreeBSD's s_log1p.c (Sun Microsystems, 1993), which the standard
// library uses too, without the cases that do not occur here: with s = g/(2+g), ln(1+g) = 2·artanh
// s = g - g²/2 + s·(g²/2 + R(s²)). proofs/log1p.gappa bounds its rounding.
func minusLog1p(g float64) float64 {
	half := float64(0.5*g) * g
	s := g / (2 + g)
	z := float64(s * s)
	r := math.FMA(1.479819860511658591e-01, float64(z*z), math.FMA(1.531383769920937332e-01, z, 1.818357216161805012e-01))
	r = estrin(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01, r)
	return math.FMA(-s, math.FMA(r, z, half), half) - g
}

// sincos returns the sine and cosine of the angle x·2^-64 turns. It computes both for the signed
// distance t from the nearest quarter turn, |t| <= π/4, and exchanges and negates them as the
// quarter asks, without a branch. The polynomials come from Cephes (Moshier, sin.c, release 2.8),
// which the standard library uses too; relative error about 2^-53 (proofs/sincos.gappa).
func sincos(x uint64) (sin, cos float64) {
	quarter := (x + 1<<61) >> 62
	t := float64(int64(x-quarter<<62)) * (2 * math.Pi * 0x1p-64)
	z := float64(t * t)
	s := math.FMA(1.58962301576546568060e-10, z, -2.50507477628578072866e-8)
	s = estrin(z, -1.66666666666666307295e-1, 8.33333333332211858878e-3, -1.98412698295895385996e-4, 2.75573136213857245213e-6, s)
	s = math.FMA(s, float64(z*t), t)
	c := math.FMA(-1.13585365213876817300e-11, z, 2.08757008419747316778e-9)
	c = estrin(z, 4.16666666666665929218e-2, -1.38888888888730564116e-3, 2.48015872888517045348e-5, -2.75573141792967388112e-7, c)
	c = math.FMA(c, float64(z*z), math.FMA(z, -0.5, 1))
	// Quarter 0: (s, c), 1: (c, -s), 2: (-s, -c), 3: (-c, s).
	either := [2]float64{s, c}
	return negateIf(quarter>>1, either[quarter&1]), negateIf((quarter+1)>>1&1, either[1-quarter&1])
}

// estrin returns c0 + c1·z + c2·z² + c3·z³ + high·z⁴ by Estrin's scheme, whose steps wait for each
// other less than in Horner's rule.
func estrin(z, c0, c1, c2, c3, high float64) float64 {
	square := float64(z * z)
	low := math.FMA(math.FMA(c3, z, c2), square, math.FMA(c1, z, c0))
	return math.FMA(high, float64(square*square), low)
}

func negateIf(bit uint64, v float64) float64 {
	return math.Float64frombits(math.Float64bits(v) ^ bit<<63)
}
