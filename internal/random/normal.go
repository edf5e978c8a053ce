package random

import (
	"math"
	"math/bits"
)

// Normals fills dst with independent standard normal numbers.
//
// The method is Box and Muller's (1958): for uniform u and angle θ, r = sqrt(-2 ln u), the numbers r·cos θ and r·sin θ
// are independent normals. Both are used; an odd last element discards its partner. Each pair costs two words and
// the same operations whatever comes out, where ziggurat and other rejection methods take longer for some values
// than for others and let a clock tell which.
//
// Both uniforms keep all their 63 or 64 bits where it matters, which a plain float64 in [0, 1) does not:
//   - u near 0 is the tail: it reaches sqrt(2·64·ln 2) = 9.42 standard deviations (53 bits would end at 8.57);
//   - u near 1 is the centre: there r ≈ sqrt(2(1-u)), and 1-u is formed in integers, to a multiple of 2^-63, so
//     that pairs close to zero do not lie on visible circles;
//   - θ near an axis is measured from that axis, so that a coordinate close to zero has all its bits too.
//
// The last bit of a result may differ between processors (some fuse multiplications and additions).
func Normals(dst []float64, src *Source) {
	var words [256]uint64
	for len(dst) > 0 {
		n := min(len(dst), len(words))
		w := words[:n+n%2]
		src.Fill(w)
		for i := 0; i+1 < n; i += 2 {
			dst[i], dst[i+1] = pair(w[i], w[i+1])
		}
		if n%2 == 1 {
			dst[n-1], _ = pair(w[n-1], w[n])
		}
		dst = dst[n:]
	}
}

// pair is the Box-Muller transform of one word for the radius and one for the angle.
func pair(radius, angle uint64) (x, y float64) {
	r := math.Sqrt(2 * exponential(radius))
	sin, cos := sincos(angle)
	return r * cos, r * sin
}

// exponential returns -ln u for u = (x|1)·2^-64, an odd multiple of 2^-64: symmetric about 1/2, never 0 or 1.
//
// Write u = (1+g)·2^-k with 1+g between sqrt(1/2) and sqrt(2), then -ln u = k·ln 2 - ln(1+g). As an integer x·2^j
// that wraps around at 2^64, 1+g loses its 1 by itself: g is exact, and u close to 1 gives a small g with all its bits.
func exponential(x uint64) float64 {
	const sqrtHalf = 0xb504f333f9de6485 // of 2^64
	x |= 1
	k := bits.LeadingZeros64(x)
	x <<= k
	below := (x - sqrtHalf) >> 63 // 1 if x < sqrtHalf, given x >= 2^63
	g := float64(int64(x<<below)) * 0x1p-64
	return float64(k+int(below))*math.Ln2 - log1p(g)
}

// log1p returns ln(1+g) for sqrt(1/2) <= 1+g <= sqrt(2) with a relative error of about 2^-52. Method and polynomial
// are those of FreeBSD's s_log1p.c (Sun Microsystems, 1993), which the standard library uses too, without the cases
// that do not occur here: with s = g/(2+g), ln(1+g) = 2·artanh s = g - g²/2 + s·(g²/2 + R(s²)).
func log1p(g float64) float64 {
	half := 0.5 * g * g
	s := g / (2 + g)
	z := s * s
	r := z * (6.666666666666735130e-01 + z*(3.999999999940941908e-01+z*(2.857142874366239149e-01+
		z*(2.222219843214978396e-01+z*(1.818357216161805012e-01+z*(1.531383769920937332e-01+z*1.479819860511658591e-01))))))
	return g - (half - s*(half+r))
}

// sincos returns the sine and cosine of the angle x·2^-64 turns: those of its signed distance t from the nearest
// quarter turn, |t| <= π/4, exchanged and negated as the quarter asks, without a branch. The polynomials are those of
// Cephes (Moshier, sin.c, release 2.8), which the standard library uses too; relative error about 2^-53.
func sincos(x uint64) (sin, cos float64) {
	quarter := (x + 1<<61) >> 62
	t := float64(int64(x-quarter<<62)) * (2 * math.Pi * 0x1p-64)
	z := t * t
	s := t + t*z*(((((1.58962301576546568060e-10*z-2.50507477628578072866e-8)*z+2.75573136213857245213e-6)*z-
		1.98412698295895385996e-4)*z+8.33333333332211858878e-3)*z-1.66666666666666307295e-1)
	c := 1 - 0.5*z + z*z*(((((-1.13585365213876817300e-11*z+2.08757008419747316778e-9)*z-2.75573141792967388112e-7)*z+
		2.48015872888517045348e-5)*z-1.38888888888730564116e-3)*z+4.16666666666665929218e-2)
	// Quarter 0: (s, c), 1: (c, -s), 2: (-s, -c), 3: (-c, s).
	either := [2]float64{s, c}
	return negateIf(quarter>>1, either[quarter&1]), negateIf((quarter+1)>>1&1, either[1-quarter&1])
}

// negateIf returns -v if bit is 1 and v if it is 0.
func negateIf(bit uint64, v float64) float64 {
	return math.Float64frombits(math.Float64bits(v) ^ bit<<63)
}
