package theorems

import "math"

// dd is the unevaluated sum hi + lo, |lo| ≤ ulp(hi)/2, about 106 bits. It is used where a small
// difference of large numbers, or a large exponent, would lose digits. The algorithms are from
// Dekker 1971, "A Floating-Point Technique for Extending the Available Precision", with a fused
// multiply-add for the exact product.
//
// The conversions float64(a*b) forbid the compiler to fuse the product with a later
// addition, as it may on some architectures.
type dd struct{ hi, lo float64 }

// quickTwoSum returns a + b, exactly, for |a| ≥ |b|.
func quickTwoSum(a, b float64) dd {
	s := a + b
	return dd{s, b - (s - a)}
}

// twoSum returns a + b, exactly (Knuth).
func twoSum(a, b float64) dd {
	s := a + b
	v := s - a
	return dd{s, (a - (s - v)) + (b - v)}
}

// exactProduct returns a·b, exactly unless it underflows.
func exactProduct(a, b float64) dd {
	p := float64(a * b)
	return dd{p, math.FMA(a, b, -p)}
}

// quotient returns a/b, to about 106 bits.
func quotient(a, b float64) dd {
	q := a / b
	return quickTwoSum(q, math.FMA(-q, b, a)/b)
}

func (x dd) neg() dd { return dd{-x.hi, -x.lo} }

func (x dd) add(y dd) dd {
	s, t := twoSum(x.hi, y.hi), twoSum(x.lo, y.lo)
	s = quickTwoSum(s.hi, s.lo+t.hi)
	return quickTwoSum(s.hi, s.lo+t.lo)
}

func (x dd) sub(y dd) dd { return x.add(y.neg()) }

func (x dd) mul(y dd) dd {
	p := exactProduct(x.hi, y.hi)
	cross := float64(x.hi*y.lo) + float64(x.lo*y.hi)
	return quickTwoSum(p.hi, p.lo+cross)
}

// half returns x/2, exactly.
func (x dd) half() dd { return dd{x.hi / 2, x.lo / 2} }

// expNeg returns exp(-x) to about an ulp, for x ≥ 0 or close to 0: x.lo gives the factor 1 - lo.
func expNeg(x dd) float64 {
	e := math.Exp(-x.hi)
	if e == 0 {
		return 0
	}
	return e - float64(e*x.lo)
}
