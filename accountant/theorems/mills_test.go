package theorems

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestMillsDecrement(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 800 {
		x := logUniform(rng, 1e-3, 1e4)
		if rng.IntN(2) == 0 {
			x = 14*rng.Float64() - 1
		}
		d := logUniform(rng, 1e-20, 1e6)
		want := sub(bigMills(bf(x)), bigMills(add(bf(x), bf(d))))
		if e := relativeTo(millsDecrement(x, d), want); math.Abs(e) > 8*ulp {
			t.Errorf("x=%v d=%v: off by %.1f ulp", x, d, e/ulp)
		}
	}
}

// The arithmetic with 106 bits, against 400.
func TestDoubleDouble(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	exact := func(x dd) *big.Float { return add(bf(x.hi), bf(x.lo)) }
	check := func(name string, got dd, want *big.Float) {
		t.Helper()
		if e := sub(exact(got), want); e.Sign() != 0 && e.MantExp(nil) > want.MantExp(nil)-98 {
			t.Errorf("%s: %v + %v, want %.40g", name, got.hi, got.lo, want)
		}
	}
	draw := func() dd {
		x := logUniform(rng, 1e-30, 1e30) * (1 - 2*float64(rng.IntN(2)))
		return quickTwoSum(x, x*ulp/2*(rng.Float64()-0.5))
	}
	for range 2000 {
		x, y := draw(), draw()
		check("mul", x.mul(y), mul(exact(x), exact(y)))
		check("half", x.half(), div(exact(x), bf(2)))
		check("product", exactProduct(x.hi, y.hi), mul(bf(x.hi), bf(y.hi)))
		check("quotient", quotient(x.hi, y.hi), div(bf(x.hi), bf(y.hi)))
		y = dd{-x.hi * (1 - math.Round(100*rng.Float64())*ulp), y.lo * 1e-60} // nearly -x: all digits of the rest stay
		if s := x.add(y); s.hi != 0 {
			if e := relativeTo(s.hi, add(exact(x), exact(y))); math.Abs(e) > 1e-14 {
				t.Errorf("add: %v and %v give %v, off by %.1e", x, y, s, e)
			}
		}
	}
}
