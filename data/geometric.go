package data

import (
	"math"
	"math/bits"
)

// skipTable is the distribution of how many records in a row are left out before the next one
// joins: survival[k−1] is the chance (1−q)^k that at least k are left out, rounded as fill says. A
// uniform number u leaves out as many records as there are entries above u (inversion).
//
// The table ends where (1−q)^k falls below 1/16, or at maxSkips entries. A u below all entries
// leaves out as many records as the table has entries, and no record joins; the next draw goes on
// from there: coin flips have no memory.
type skipTable struct {
	survival [maxSkips]fixed
	len      int
}

const maxSkips = 512

// fill sets survival[k−1] to S_k, with S₁ = 1 − ⌊q⌋ and S_{k+1} = S_k − ⌊q·S_k⌋, where ⌊ ⌋ rounds
// down to multiples of 2⁻¹²⁸. With S₀ = 1, the record after k left out joins with chance
// ⌊q·S_k⌋/S_k. It is at most q, and above q − 2⁻¹²⁸/S_k ≥ q − 2⁻¹²⁴, as the table ends at the first
// S_k < 1/16 (proofs/sampler.v). fill needs 2⁻¹²⁸ ≤ q ≤ 1. n records need at most n entries.
func (t *skipTable) fill(q float64, n int) {
	mantissa, shift := split(q)
	// S₀ = 2¹²⁸ does not fit. Half of it does, and the difference is taken mod 2¹²⁸.
	t.survival[0] = fixed{}.minus(fixed{hi: 1 << 63}.times(mantissa, shift-1))
	t.len = 1
	for t.len < min(maxSkips, n) {
		s := t.survival[t.len-1]
		if s.hi < 1<<60 { // 2¹²⁸/16 = 2⁶⁰·2⁶⁴
			return
		}
		t.survival[t.len] = s.minus(s.times(mantissa, shift))
		t.len++
	}
}

// draw returns how many records are left out and whether the one after them joins.
func (t *skipTable) draw(src words) (run int, joins bool) {
	u := uniform{hi: src.Uint64()}
	low, high := 0, t.len // entries before low are above u, those from high on are not
	for low < high {
		middle := int(uint(low+high) >> 1)
		if u.below(t.survival[middle], src) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < t.len
}

// uniform is a random multiple of 2⁻¹²⁸ in [0, 1). Its second word is drawn when a comparison needs
// it, which is once in about 2⁵⁵ draws.
type uniform struct {
	hi, lo   uint64
	complete bool
}

func (u *uniform) below(x fixed, src words) bool {
	if u.hi != x.hi {
		return u.hi < x.hi
	}
	if !u.complete {
		u.lo, u.complete = src.Uint64(), true
	}
	return u.lo < x.lo
}

// fixed is a multiple of 2⁻¹²⁸ in [0, 1): hi·2⁻⁶⁴ + lo·2⁻¹²⁸.
type fixed struct{ hi, lo uint64 }

func (x fixed) minus(y fixed) fixed {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	hi, _ := bits.Sub64(x.hi, y.hi, borrow)
	return fixed{hi, lo}
}

// times returns x·mantissa/2^shift mod 1, rounded down. The product has 192 bits; a shift of 192 or
// more leaves nothing.
func (x fixed) times(mantissa uint64, shift uint) fixed {
	carry, p0 := bits.Mul64(x.lo, mantissa)
	p2, p1 := bits.Mul64(x.hi, mantissa)
	p1, c := bits.Add64(p1, carry, 0)
	p2 += c
	for ; shift >= 64; shift -= 64 {
		p2, p1, p0 = 0, p2, p1
	}
	return fixed{hi: p2<<(64-shift) | p1>>shift, lo: p1<<(64-shift) | p0>>shift}
}

// split writes q > 0 exactly as mantissa/2^shift with a mantissa below 2⁵³.
func split(q float64) (mantissa uint64, shift uint) {
	fraction, exponent := math.Frexp(q)
	return uint64(math.Ldexp(fraction, 53)), uint(53 - exponent)
}
