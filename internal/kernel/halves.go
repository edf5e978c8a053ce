package kernel

import "math"

// Half-precision numbers: binary16 of IEEE 754-2008, with eleven significant bits, in a uint16.

// FromHalves writes the numbers that the halves of src stand for to dst, exactly. A NaN keeps its
// sign and payload and becomes quiet. It panics when dst is shorter than src.
func FromHalves(dst []float32, src []uint16) { active.fromHalves(dst[:len(src)], src) }

// ToHalves rounds src to halves, to nearest, ties to even: by at most 2^-11 of a value from 2^-14,
// the smallest normal half, and by at most 2^-25 below that. What rounds to more than 65,504, the
// largest, becomes infinite. It panics when dst is shorter than src.
func ToHalves(dst []uint16, src []float32) { active.toHalves(dst[:len(src)], src) }

const (
	halfSign     = 0x8000
	halfInfinity = 0x7c00 // every bit of the exponent
	halfQuiet    = 0x0200 // the first bit of the fraction of a NaN
	halfFraction = 10     // bits
	floatExtra   = 13     // bits that a fraction of float32 has beyond those
	exponentGap  = 127 - 15
)

func portableFromHalves(dst []float32, src []uint16) {
	for i, h := range src {
		dst[i] = fromHalf(h)
	}
}

func fromHalf(h uint16) float32 {
	sign, magnitude := uint32(h&halfSign)<<16, uint32(h&^halfSign)
	switch {
	case magnitude > halfInfinity:
		return math.Float32frombits(sign | 0xff<<23 | (magnitude|halfQuiet)<<floatExtra)
	case magnitude == halfInfinity:
		return math.Float32frombits(sign | 0xff<<23)
	case magnitude < 1<<halfFraction: // zero, or a multiple of the smallest
		return math.Float32frombits(sign | math.Float32bits(float32(magnitude)*0x1p-24))
	}
	return math.Float32frombits(sign | (magnitude<<floatExtra + exponentGap<<23))
}

func portableToHalves(dst []uint16, src []float32) {
	for i, v := range src {
		dst[i] = toHalf(v)
	}
}

func toHalf(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, magnitude := uint16(bits>>16)&halfSign, bits&^(1<<31)
	switch {
	case magnitude > 0xff<<23:
		return sign | halfInfinity | halfQuiet | uint16(magnitude>>floatExtra)&(halfQuiet-1)
	case magnitude >= 0x477ff000: // 65,520, halfway between the largest and what would follow
		return sign | halfInfinity
	case magnitude < (exponentGap+1)<<23: // below the smallest normal: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(magnitude))*0x1p24))
	}
	// A fraction that rounds up to 2 carries into the exponent.
	odd := magnitude >> floatExtra & 1
	return sign | uint16((magnitude-exponentGap<<23+1<<(floatExtra-1)-1+odd)>>floatExtra)
}
