package noise

import (
	"math"
	"math/big"
	"sync"
)

// The pairs that the kernel leaves in doubt: Box and Muller's transform in arithmetic as long as it takes.

// uniform is a source of independent uniform words.
type uniform interface{ Uint64() uint64 }

const (
	leastDigits = 128  // of U, 1-U and Θ that the first attempt has
	mostDigits  = 4096 // and the last
	guardDigits = 64   // more that are carried in calculations
)

// exactPair returns the integers nearest to deviation·X and deviation·Y for the radius U and the angle Θ whose binary
// expansions begin with two words and go on with those of src.
//
// With p digits, E = -ln U and r = sqrt(2E):
//
//   - U and 1-U have p significant digits: u, in the middle of the numbers that begin with those, is within 2^-p·min(u, 1-u)
//     of U. So E is within 2^(1-p)·E of that of u, and r within 2^(1-p)·r.
//   - θ is within 2^(-p-1) of Θ, which moves sine and cosine by at most 2^(-p-1)·2π < 2^(2-p).
//   - Every operation below has a relative error of 2^(-p-64). There are fewer than 2^14 of them and none that loses leading
//     digits but the exact u-1 and θ-q/4: less than 2^(1-p) in all.
//
// That is 2^(3-p)·r in each of X and Y, and r < 2^7 since u > 2^-8257: a product is certain to be on the same side of
// every half-way point as its computed value if it is further than deviation·2^(10-p) away from it.
//
// The last attempt is taken for certain. It need not be if a product is within 2^40·2^(10-4096) of a half-way point, which
// has probability below 2^-4044 (the density of D·Z, summed over these points, is below 2), or if U begins
// with more than 4096 equal digits: 2^-4096.
func exactPair(radius, angle uint64, deviation float64, src uniform) (x, y float64) {
	u, theta := expansion{}, expansion{}
	u.extend(radius)
	theta.extend(angle)
	for digits := leastDigits; ; digits *= 2 {
		for u.significant() < digits && u.count < digits+mostDigits {
			u.extend(src.Uint64())
		}
		for theta.count < digits {
			theta.extend(src.Uint64())
		}
		exactX, exactY := boxMuller(&u, &theta, (angle>>61+1)>>1, uint(digits+guardDigits))
		x, certainX := nearest(exactX, deviation, digits)
		y, certainY := nearest(exactY, deviation, digits)
		if certainX && certainY || digits == mostDigits {
			return x, y
		}
	}
}

// nearest returns the integer nearest to deviation·z, and whether it is nearest to all numbers within the margin too.
func nearest(z *big.Float, deviation float64, digits int) (n float64, certain bool) {
	x := new(big.Float).Mul(z, big.NewFloat(deviation))
	margin := scaled(big.NewFloat(deviation), 10-digits)
	half := big.NewFloat(math.Copysign(0.5, float64(x.Sign())))
	integer, _ := new(big.Float).Add(x, half).Int64() // toward zero; |x| < 2^47
	distance := new(big.Float).Sub(x, new(big.Float).SetInt64(integer))
	distance.Sub(big.NewFloat(0.5), distance.Abs(distance))
	return float64(integer), distance.Cmp(margin) > 0
}

// expansion is the first digits of the binary expansion of a number in (0, 1).
type expansion struct {
	digits big.Int
	count  int
}

func (e *expansion) extend(word uint64) {
	e.digits.Lsh(&e.digits, 64)
	e.digits.Or(&e.digits, new(big.Int).SetUint64(word))
	e.count += 64
}

// significant returns how many digits are left of those of the number, and of those of 1 less the number, without
// leading zeros.
func (e *expansion) significant() int {
	all := new(big.Int).Lsh(big.NewInt(1), uint(e.count))
	complement := all.Sub(all, big.NewInt(1)).Sub(all, &e.digits)
	return min(e.digits.BitLen(), complement.BitLen())
}

// middle returns the number in the middle of those that begin with the digits, exactly. It is never 0 or 1.
func (e *expansion) middle() *big.Float {
	odd := new(big.Int).Lsh(&e.digits, 1)
	odd.SetBit(odd, 0, 1)
	return scaled(new(big.Float).SetInt(odd), -e.count-1)
}

// boxMuller returns the two normals of u and theta, an angle in turns that is at most an eighth away from the given quarter.
func boxMuller(u, theta *expansion, quarter uint64, precision uint) (x, y *big.Float) {
	r := minusLog(u.middle(), precision)
	r.Sqrt(scaled(r, 1))
	turns := theta.middle()
	turns.Sub(turns, big.NewFloat(float64(quarter)/4))
	t := rounded(precision, turns)
	sin, cos := sincos(t.Mul(t, scaled(rounded(precision, pi()), 1)))
	if quarter&1 != 0 {
		sin, cos = cos, sin.Neg(sin)
	}
	if quarter&2 != 0 {
		sin, cos = sin.Neg(sin), cos.Neg(cos)
	}
	return cos.Mul(r, cos), sin.Mul(r, sin)
}

// minusLog returns -ln u. With u = 2^k·m and sqrt(1/2) <= m <= sqrt(2), that is -k·ln 2 - 2·artanh((m-1)/(m+1)); k is
// 0 for u close to 1, where m-1 is exact and nothing is lost, and -k·ln 2 is twice the rest or more where it is not.
func minusLog(u *big.Float, precision uint) *big.Float {
	m := new(big.Float)
	k := u.MantExp(m) // m in [1/2, 1)
	if m.Cmp(big.NewFloat(math.Sqrt2/2)) < 0 {
		m = scaled(m, 1)
		k--
	}
	one := big.NewFloat(1)
	above := rounded(precision, new(big.Float).SetPrec(m.Prec()+2).Sub(m, one))
	below := rounded(precision, new(big.Float).SetPrec(m.Prec()+2).Add(m, one))
	log := scaled(arctan(above.Quo(above, below), 1), 1)
	whole := rounded(precision, ln2())
	log.Add(log, whole.Mul(whole, big.NewFloat(float64(k))))
	return log.Neg(log)
}

// sincos returns sin t and cos t = sqrt(1 - sin² t) for |t| <= π/4, where sin² t <= 1/2. The series is Taylor's, whose rest
// is smaller than the first term that is left out.
func sincos(t *big.Float) (sin, cos *big.Float) {
	square := rounded(t.Prec(), t)
	square.Mul(square, t).Neg(square)
	sin, term := rounded(t.Prec(), t), rounded(t.Prec(), t)
	for k := int64(2); continues(term, t); k += 2 {
		term.Mul(term, square)
		term.Quo(term, new(big.Float).SetInt64(k*(k+1)))
		sin.Add(sin, term)
	}
	cos = rounded(t.Prec(), sin)
	cos.Mul(cos, sin)
	cos.Sub(big.NewFloat(1).SetPrec(t.Prec()), cos)
	return sin, cos.Sqrt(cos)
}

// arctan returns x + sign·x³/3 + sign²·x⁵/5 + …: artanh x for sign 1 and arctan x for -1, |x| <= 1/3. The terms left out
// are less than an eighth of the last one.
func arctan(x *big.Float, sign float64) *big.Float {
	square := rounded(x.Prec(), x)
	square.Mul(square, x).Mul(square, big.NewFloat(sign))
	sum, power, term := rounded(x.Prec(), x), rounded(x.Prec(), x), rounded(x.Prec(), x)
	for k := int64(3); continues(term, x); k += 2 {
		power.Mul(power, square)
		sum.Add(sum, term.Quo(power, new(big.Float).SetInt64(k)))
	}
	return sum
}

// continues tells whether a series that begins with first may have a term after this one that is not below its last digit.
func continues(term, first *big.Float) bool {
	return term.Sign() != 0 && term.MantExp(nil)+int(first.Prec()) >= first.MantExp(nil)
}

// The constants, to as many digits as are ever asked for.
var (
	ln2 = sync.OnceValue(func() *big.Float { // 2·artanh(1/3)
		return scaled(arctan(inverse(3), 1), 1)
	})
	pi = sync.OnceValue(func() *big.Float { // Machin (1706): 16·arctan(1/5) - 4·arctan(1/239)
		fifth := scaled(arctan(inverse(5), -1), 4)
		return fifth.Sub(fifth, scaled(arctan(inverse(239), -1), 2))
	})
)

func inverse(n float64) *big.Float {
	one := big.NewFloat(1).SetPrec(mostDigits + 2*guardDigits)
	return one.Quo(one, big.NewFloat(n))
}

// rounded returns a copy of x with so many digits.
func rounded(precision uint, x *big.Float) *big.Float {
	return new(big.Float).SetPrec(precision).Set(x)
}

// scaled returns x·2^power.
func scaled(x *big.Float, power int) *big.Float { return new(big.Float).SetMantExp(x, power) }
