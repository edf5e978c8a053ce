package theorems

import (
	"math"
	"math/big"
	"testing"
)

// The slow references of these tests: the textbook formulas with 400 bits, in which
// cancellation does not matter.

const bigPrec = 400

func bf(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

// add leaves out what is far below the last bit: big.Float would write it out first.
func add(x, y *big.Float) *big.Float {
	if x.Sign() != 0 && y.Sign() != 0 {
		if gap := x.MantExp(nil) - y.MantExp(nil); gap > 2*bigPrec {
			return x
		} else if gap < -2*bigPrec {
			return y
		}
	}
	return bf(0).Add(x, y)
}

func sub(x, y *big.Float) *big.Float { return add(x, bf(0).Neg(y)) }
func mul(x, y *big.Float) *big.Float { return bf(0).Mul(x, y) }
func div(x, y *big.Float) *big.Float { return bf(0).Quo(x, y) }

// bigExp is the Taylor series after x is halved to below 2^-8, squared up again.
func bigExp(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return bf(1)
	}
	halvings := max(0, x.MantExp(nil)+8)
	x = bf(0).SetMantExp(x, -halvings)
	sum, term := bf(1), bf(1)
	for k := 1.0; term.Sign() != 0 && term.MantExp(nil) > -bigPrec-20; k++ {
		term = div(mul(term, x), bf(k))
		sum = add(sum, term)
	}
	for range halvings {
		sum = mul(sum, sum)
	}
	return sum
}

// bigLog is Halley's iteration for exp(y) = x from the float64 value, cubic.
func bigLog(x *big.Float) *big.Float {
	mantissa := new(big.Float)
	exponent := x.MantExp(mantissa)
	m, _ := mantissa.Float64()
	y := bf(math.Log(m) + float64(exponent)*math.Ln2)
	for range 5 {
		e := bigExp(y)
		y = add(y, div(mul(bf(2), sub(x, e)), add(x, e)))
	}
	return y
}

// π from mpmath 1.3.0.
var bigPi, _ = bf(0).SetString("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328230664709384461")

// bigMills is the Mills ratio: below 12 from the series DLMF 7.6.2 of the error function,
// which cancels 104 bits there, above by the continued fraction DLMF 7.9.3.
func bigMills(x *big.Float) *big.Float {
	if f, _ := x.Float64(); f >= 12 {
		r := bf(0)
		for k := 300.0; k >= 1; k-- {
			r = div(bf(k), add(x, r))
		}
		return div(bf(1), add(x, r))
	}
	x2 := mul(x, x)
	all := mul(bf(0).Sqrt(mul(bf(2), bigPi)), bigExp(div(x2, bf(2))))
	if x.Sign() < 0 {
		return sub(all, bigMills(bf(0).Neg(x)))
	}
	sum, term := bf(0), x
	for k := 3.0; term.Sign() != 0 && term.MantExp(nil) > -bigPrec; k += 2 {
		sum = add(sum, term)
		term = div(mul(term, x2), bf(k))
	}
	return sub(div(all, bf(2)), sum)
}

// relativeTo returns got/want - 1.
func relativeTo(got float64, want *big.Float) float64 {
	ratio, _ := sub(div(bf(got), want), bf(1)).Float64()
	return ratio
}

// mustBeJustAbove checks the contract of every rounded-up result: want ≤ got ≤ want·(1 + room).
func mustBeJustAbove(t *testing.T, got float64, want *big.Float, room float64, format string, arguments ...any) {
	t.Helper()
	if want.Sign() == 0 && got == 0 {
		return
	}
	if e := relativeTo(got, want); !(e >= 0 && e <= room) {
		t.Errorf(format+": %v, want %.17g or up to %.0e more (relative difference %.2e)", append(arguments, got, want, room, e)...)
	}
}

// The references themselves, against numbers of mpmath 1.3.0.
func TestBigReferences(t *testing.T) {
	for _, tt := range []struct {
		name string
		got  *big.Float
		want string
	}{
		{"exp(-700.5)", bigExp(bf(-700.5)), "5.98019611863979120641210733049510004798077289264143028991014e-305"},
		{"log(1e-300)", bigLog(bf(1e-300)), "-690.775527898213705180338344570100502908613341583641344062547"},
		{"R(0.25)", bigMills(bf(0.25)), "1.03782457585372681230036470613396257225636792879273548138701"},
		{"R(11.75)", bigMills(bf(11.75)), "0.0845028819218957583311835534840869454657237249331819561917982"},
		{"R(12)", bigMills(bf(12)), "0.0827662865013691772522650500419059018601746479369780271322919"},
		{"R(-20)", bigMills(bf(-20)), "1.81128301589259161561126780867156641511693012970123625614567e+87"},
	} {
		want, _ := bf(0).SetString(tt.want)
		if e := sub(div(tt.got, want), bf(1)); e.Sign() != 0 && e.MantExp(nil) > -190 {
			t.Errorf("%s = %.60g, want %s", tt.name, tt.got, tt.want)
		}
	}
}
