package noise

import (
	"math"
	"math/big"
	"sync"
)

// The pairs that the kernel leaves in doubt: Box and Muller's transform with ever more digits.

const (
	leastDigits = 128  // of U, 1-U and Θ that the first attempt has
	mostDigits  = 4096 // and the last
	guardDigits = 64   // more that are carried in calculations
)

// exactPair returns the integers nearest to restX + deviation·X and restY + deviation·Y. X and Y
// are the normals of U and Θ (see the package). The binary digits of U begin with the word radius,
// those of Θ with the word angle, and both go on with words of src.
//
// With p digits, E = -ln U and r = sqrt(2E):
//
//   - U and 1-U have p significant digits: u, in the middle of the numbers that begin with those
//     drawn, is within 2^-p·min(u, 1-u) of U. So E is within 2^(1-p)·E of -ln u, and r within
//     2^(1-p)·r.
//   - θ is within 2^(-p-1) of Θ, which moves sine and cosine by at most 2^(-p-1)·2π < 2^(2-p).
//   - Every operation has a relative error of 2^(-p-64). There are fewer than 2^14, and none loses
//     leading digits but the exact u-1 and θ-q/4: less than 2^(1-p) in all.
//
// That is 2^(3-p)·r in each of X and Y, and r < 2^7 since u > 2^-8200: a product that is computed
// to be further than deviation·2^(10-p) from half-way between integers is on the same side of it as
// the exact one.
//
// The last attempt's integers are returned, certain or not. They may be wrong if a product is
// within 2^40·2^(10-4096) of half-way, with probability below 2^-4044 (the density of D·Z, summed
// over these points, is below 2), or if U begins with more than 4096 equal digits: 2^-4096.
func exactPair(radius, angle uint64, restX, restY, deviation float64, src source) (x, y float64) {
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
		exactX, exactY := boxMuller(&u, &theta, quarterOf(angle), uint(digits+guardDigits))
		x, certainX := nearest(exactX, restX, deviation, digits)
		y, certainY := nearest(exactY, restY, deviation, digits)
		if certainX && certainY || digits == mostDigits {
			return x, y
		}
	}
}

// quarterOf returns the number of quarter turns nearest to an angle, 0 to 4: within 1/8 turn of it.
func quarterOf(angle uint64) uint64 { return (angle>>61 + 1) >> 1 }

// nearest returns the integer next to rest + deviation·z, and whether z's digits make it certain.
func nearest(z *big.Float, rest, deviation float64, digits int) (n float64, certain bool) {
	x := new(big.Float).Mul(z, big.NewFloat(deviation))
	x = new(big.Float).SetPrec(4*mostDigits).Add(x, big.NewFloat(rest)) // exact
	half := big.NewFloat(math.Copysign(0.5, float64(x.Sign())))
	integer, _ := new(big.Float).Add(x, half).Int64() // toward zero; |x| < 2^47
	fraction := x.Sub(x, new(big.Float).SetInt64(integer))
	margin := new(big.Float).Sub(big.NewFloat(0.5), fraction.Abs(fraction))
	return float64(integer), margin.Cmp(scaled(big.NewFloat(deviation), 10-digits)) > 0
}

// expansion holds the first digits of the binary expansion of a number in (0, 1).
type expansion struct {
	digits big.Int
	count  int
}

func (e *expansion) extend(word uint64) {
	e.digits.Lsh(&e.digits, 64)
	e.digits.Or(&e.digits, new(big.Int).SetUint64(word))
	e.count += 64
}

// significant returns how many digits follow the leading zeros of e, or of 1 - e where fewer do.
func (e *expansion) significant() int {
	end := new(big.Int).Lsh(big.NewInt(1), uint(e.count))
	complement := end.Sub(end, big.NewInt(1)).Sub(end, &e.digits)
	return min(e.digits.BitLen(), complement.BitLen())
}

// middle returns the number in the middle of all numbers that begin with the digits, exactly. It is
// never 0 or 1.
func (e *expansion) middle() *big.Float {
	odd := new(big.Int).Lsh(&e.digits, 1)
	odd.SetBit(odd, 0, 1)
	return scaled(new(big.Float).SetInt(odd), -e.count-1)
}

// boxMuller returns X and Y for u and theta; quarter is the quarter turn nearest to theta.
func boxMuller(u, theta *expansion, quarter uint64, precision uint) (x, y *big.Float) {
	r := minusLog(u.middle(), precision)
	r.Sqrt(scaled(r, 1))
	turns := theta.middle()
	t := rounded(precision, turns.Sub(turns, big.NewFloat(float64(quarter)/4)))
	sin, cos := sincos(t.Mul(t, scaled(rounded(precision, pi()), 1)))
	if quarter&1 != 0 {
		sin, cos = cos, sin.Neg(sin)
	}
	if quarter&2 != 0 {
		sin, cos = sin.Neg(sin), cos.Neg(cos)
	}
	return cos.Mul(r, cos), sin.Mul(r, sin)
}

// minusLog returns -ln u for u = 2^k·m with m from sqrt(1/2) to sqrt(2): -k·ln 2 -
// 2·artanh((m-1)/(m+1)). Near 1, k is 0 and m-1 exact, so that no digits are lost; below, -k·ln 2
// is at least twice the rest.
func minusLog(u *big.Float, precision uint) *big.Float {
	m := new(big.Float)
	k := u.MantExp(m) // m in [1/2, 1)
	if m.Cmp(big.NewFloat(math.Sqrt2/2)) < 0 {
		m, k = scaled(m, 1), k-1
	}
	m.SetPrec(m.Prec() + 2) // for the sum; the difference is exact too
	above := rounded(precision, new(big.Float).Sub(m, big.NewFloat(1)))
	below := rounded(precision, new(big.Float).Add(m, big.NewFloat(1)))
	log := scaled(arctan(above.Quo(above, below), 1), 1)
	whole := rounded(precision, ln2())
	log.Add(log, whole.Mul(whole, big.NewFloat(float64(k))))
	return log.Neg(log)
}

// sincos returns sin t by Taylor's series, and cos t = sqrt(1 - sin² t), for |t| <= π/4, where sin²
// t <= 1/2.
func sincos(t *big.Float) (sin, cos *big.Float) {
	sin = series(t, -1, func(k int64) (over, under int64) { return 1, 2 * k * (2*k + 1) })
	square := new(big.Float).Mul(sin, sin)
	cos = square.Sub(big.NewFloat(1), square)
	return sin, cos.Sqrt(cos)
}

// arctan returns x + sign·x³/3 + x⁵/5 + sign·x⁷/7 + … for |x| <= 1/3: artanh x if sign is 1 and
// arctan x if it is -1.
func arctan(x *big.Float, sign float64) *big.Float {
	return series(x, sign, func(k int64) (over, under int64) { return 2*k - 1, 2*k + 1 })
}

// series returns the sum of the terms t(0) = x and t(k) = t(k-1)·sign·x²·over/under, as far as they
// reach a digit of x. Each is less than a ninth of the one before, so those left out make less than
// an eighth of the last.
func series(x *big.Float, sign float64, ratio func(k int64) (over, under int64)) *big.Float {
	square := new(big.Float).Mul(x, x)
	square.Mul(square, big.NewFloat(sign))
	sum, term := rounded(x.Prec(), x), rounded(x.Prec(), x)
	for k := int64(1); term.Sign() != 0 && term.MantExp(nil)+int(x.Prec()) >= x.MantExp(nil); k++ {
		over, under := ratio(k)
		term.Mul(term, square).Mul(term, new(big.Float).SetInt64(over))
		sum.Add(sum, term.Quo(term, new(big.Float).SetInt64(under)))
	}
	return sum
}

// The constants, to as many digits as are ever asked for.
var (
	ln2 = sync.OnceValue(func() *big.Float { return scaled(arctan(inverse(3), 1), 1) }) // 2·artanh(1/3)
	pi  = sync.OnceValue(func() *big.Float {                                            // Machin (1706): 16·arctan(1/5) - 4·arctan(1/239)
		fifth := scaled(arctan(inverse(5), -1), 4)
		return fifth.Sub(fifth, scaled(arctan(inverse(239), -1), 2))
	})
)

func inverse(n float64) *big.Float {
	return new(big.Float).SetPrec(mostDigits+2*guardDigits).Quo(big.NewFloat(1), big.NewFloat(n))
}

// rounded returns x rounded to so many binary digits; scaled returns x·2^power.
func rounded(digits uint, x *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Set(x) }
func scaled(x *big.Float, power int) *big.Float    { return new(big.Float).SetMantExp(x, power) }
