package theorems

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigGaussianDelta is φ(x) (R(x) - R(y)), at 400 bits.
func bigGaussianDelta(sigma, epsilon float64) *big.Float {
	t, m := mul(bf(epsilon), bf(sigma)), div(bf(0.5), bf(sigma))
	x, y := sub(t, m), add(t, m)
	phi := div(bigExp(div(mul(x, x), bf(-2))), bf(0).Sqrt(mul(bf(2), bigPi)))
	return mul(phi, sub(bigMills(x), bigMills(y)))
}

// logUniform draws from [lo, hi].
func logUniform(rng *rand.Rand, lo, hi float64) float64 {
	return math.Exp(math.Log(lo) + rng.Float64()*(math.Log(hi)-math.Log(lo)))
}

// randomDelta draws δ between 1e-300 and 0.999, from both ends and the middle.
func randomDelta(rng *rand.Rand) float64 {
	switch rng.IntN(3) {
	case 0:
		return logUniform(rng, 1e-300, 0.5)
	case 1:
		return logUniform(rng, 1e-12, 0.5)
	}
	return 1 - logUniform(rng, 1e-3, 0.9)
}

func TestGaussianDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for range 1200 {
		sigma := logUniform(rng, 1e-4, 1e8)
		x := 45*rng.Float64() - 8 // δ from 1 to 1e-300
		epsilon := (x + 0.5/sigma) / sigma
		if epsilon < 0 || rng.IntN(10) == 0 {
			epsilon = logUniform(rng, 1e-20, 1) * 0.5 / (sigma * sigma)
		}
		want := bigGaussianDelta(sigma, epsilon)
		if f, _ := want.Float64(); f < 1e-304 {
			continue
		}
		got, err := GaussianDelta(sigma, epsilon)
		if err != nil || got > 1 {
			t.Fatal(sigma, epsilon, got, err)
		}
		if got < 1 {
			mustBeJustAbove(t, got, want, 1e-14, "σ=%v ε=%v", sigma, epsilon)
		}
	}
}

// What is computed before the rounding up has half of the slack to spare.
func TestGaussianSlackIsAmple(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	worst := 0.0
	for range 800 {
		sigma := logUniform(rng, 1e-4, 1e8)
		epsilon := max(0, (45*rng.Float64()-8+0.5/sigma)/sigma)
		worst = max(worst, math.Abs(relativeTo(newGaussianProfile(sigma, epsilon).delta(), bigGaussianDelta(sigma, epsilon))))
	}
	t.Logf("worst relative error of δ: %.1f ulp, slack %.0f ulp", worst/ulp, gaussianSlack/ulp)
	if !(worst < gaussianSlack/2) {
		t.Errorf("relative error of δ up to %.1e, more than half of the slack %.1e", worst, gaussianSlack)
	}
}

// logDelta is log δ, also where no float64 holds δ.
func logDelta(sigma, epsilon float64) float64 {
	return min(0, newGaussianProfile(sigma, epsilon).logUpper())
}

func TestGaussianLogDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for range 1000 {
		sigma := logUniform(rng, 1e-4, 1e8)
		x := logUniform(rng, 1e-3, 3e4) // ln δ down to -4.5e8
		epsilon := (x + 0.5/sigma) / sigma
		want, _ := bigLog(bigGaussianDelta(sigma, epsilon)).Float64()
		got := logDelta(sigma, epsilon)
		if room := 1e-14 + 1e-15*math.Abs(want); !(got >= want && got <= want+room) {
			t.Errorf("σ=%v ε=%v: ln δ = %v, want %v or up to %.0e more", sigma, epsilon, got, want, room)
		}
	}
}

// The definition of the inverse, checked with exact arithmetic: private at ε, not private a
// little below it.
func TestGaussianEpsilon(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 4))
	zeros := 0
	for range 1200 {
		sigma, delta := logUniform(rng, 1e-4, 1e8), randomDelta(rng)
		if rng.IntN(4) == 0 { // near the δ at which ε reaches 0
			delta, _ = bigGaussianDelta(sigma, 0).Float64()
			delta = min(0.999, delta*(1+math.Copysign(logUniform(rng, 1e-14, 0.5), rng.Float64()-0.8)))
		}
		epsilon, err := GaussianEpsilon(sigma, delta)
		if err != nil || !(epsilon >= 0) || math.IsInf(epsilon, 1) {
			t.Fatal(sigma, delta, epsilon, err)
		}
		if bigGaussianDelta(sigma, epsilon).Cmp(bf(delta)) > 0 {
			t.Errorf("σ=%v δ=%v: ε = %v is below the true one", sigma, delta, epsilon)
		}
		if epsilon == 0 {
			zeros++
			continue
		}
		if less := epsilon * (1 - 1e-14); bigGaussianDelta(sigma, less).Cmp(mul(bf(delta), bf(1-1e-14))) < 0 {
			t.Errorf("σ=%v δ=%v: ε = %v, but %v is private", sigma, delta, epsilon, less)
		}
	}
	if zeros == 0 || zeros > 1000 {
		t.Errorf("ε is 0 in %d of 1200 cases", zeros)
	}
}

func TestGaussianNoiseMultiplier(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 5))
	for range 1000 {
		epsilon, delta := logUniform(rng, 1e-9, 1e8), randomDelta(rng)
		if rng.IntN(10) == 0 { // for a smaller δ the reference cancels all of its 400 bits
			epsilon, delta = 0, max(1e-80, delta)
		}
		sigma, err := GaussianNoiseMultiplier(epsilon, delta)
		if err != nil {
			t.Fatal(epsilon, delta, err)
		}
		if bigGaussianDelta(sigma, epsilon).Cmp(bf(delta)) > 0 {
			t.Errorf("ε=%v δ=%v: σ = %v is below the true one", epsilon, delta, sigma)
		}
		if less := sigma * (1 - 1e-14); bigGaussianDelta(less, epsilon).Cmp(mul(bf(delta), bf(1-1e-14))) < 0 {
			t.Errorf("ε=%v δ=%v: σ = %v, but %v is private", epsilon, delta, sigma, less)
		}
	}
}

// Computed with mpmath 1.3.0 at 400 digits from Φ(1/(2σ) - εσ) - exp(ε) Φ(-1/(2σ) - εσ).
func TestGaussianGolden(t *testing.T) {
	for _, tt := range []struct{ sigma, epsilon, delta, log float64 }{
		{0.0001, 50000000.0, 0.4999601057721676189341, -0.6932269721988782267254},
		{0.0001, 50300000.0, 4.892021543027416739619e-198, -454.3242427912798517122},
		{0.001, 499000.0, 0.8411025333737786729993, -0.1730417080413718186735},
		{0.05, 300.0, 2.272774882319472858988e-7, -15.29709415088733243334},
		{1.0, 0.0, 0.3829249225480262072754, -0.9599163336956223193328},
		{1.0, 38.0, 1.194565647495188807211e-309, -711.3210110907490782926},
		{7.5, 4.5, 1.995634231847704342757e-251, -577.2578964309859354448},
		{1000.0, 0.02, 1.383781177086430814045e-93, -213.8155939127929191913},
		{100000000.0, 0.0, 3.989422804014326762777e-9, -19.33961927715703821809},
		{100000000.0, 1e-08, 8.33154710042636483824e-10, -20.90580176466500685668},
		{100000000.0, 3.6e-07, 1.160054142182383525256e-293, -674.5089655689311649501},
		{100000000.0, 4e-07, 0, -826.7192489005722532322},
		{2.0, 1000.0, 0, -1999516.845141367223154},
	} {
		delta, err := GaussianDelta(tt.sigma, tt.epsilon)
		room := 1e-14
		if tt.delta < 1e-305 { // from its logarithm
			room = 1e-12
		}
		if err != nil || !(delta >= tt.delta*(1-1e-16) && delta <= max(tt.delta*(1+room), tinyFloat)) {
			t.Errorf("σ=%v ε=%v: δ = %v, %v, want %v", tt.sigma, tt.epsilon, delta, err, tt.delta)
		}
		log := logDelta(tt.sigma, tt.epsilon)
		if room := 1e-14 + 1e-15*math.Abs(tt.log); !(log >= tt.log && log <= tt.log+room) {
			t.Errorf("σ=%v ε=%v: ln δ = %v, want %v", tt.sigma, tt.epsilon, log, tt.log)
		}
	}
}

// The ends of the float64 range: no NaN, nothing negative, always on the private side.
func TestGaussianExtremes(t *testing.T) {
	ends := []float64{tinyFloat, 1e-310, 1e-300, 1e-141, 1e-139, 1e-20, 1e-8, 1, 1e8, 1e20, 1e140, 1e155, 1e299, 1e301, math.MaxFloat64}
	for _, sigma := range ends {
		for _, epsilon := range append(ends, 0) {
			delta, err := GaussianDelta(sigma, epsilon)
			if err != nil || !(delta > 0 && delta <= 1) {
				t.Errorf("σ=%v ε=%v: δ = %v, %v", sigma, epsilon, delta, err)
			}
			log := logDelta(sigma, epsilon)
			if !(log <= 0 && log >= -math.MaxFloat64) {
				t.Errorf("σ=%v ε=%v: ln δ = %v", sigma, epsilon, log)
			}
		}
		for _, delta := range []float64{tinyFloat, 1e-310, 1e-305, 1e-300, 1e-16, 0.5, 0.999, 1 - 1e-12, math.Nextafter(1, 0)} {
			epsilon, err := GaussianEpsilon(sigma, delta)
			if err != nil || !(epsilon >= 0) {
				t.Errorf("σ=%v δ=%v: ε = %v, %v", sigma, delta, epsilon, err)
			}
			if log := logDelta(sigma, min(epsilon, math.MaxFloat64)); !math.IsInf(epsilon, 1) && log > math.Log(delta)+1e-12 {
				t.Errorf("σ=%v δ=%v: ε = %v has ln δ = %v", sigma, delta, epsilon, log)
			}
		}
	}
}

func TestMillsDecrement(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 800 {
		x := logUniform(rng, 1e-3, 1e4)
		if rng.IntN(2) == 0 {
			x = 14*rng.Float64() - 1
		}
		d := logUniform(rng, 1e-20, 1e6)
		want := sub(bigMills(bf(x)), bigMills(add(bf(x), bf(d))))
		if e := relativeTo(millsDecrement(x, d), want); !(math.Abs(e) <= 8*ulp) {
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
			if e := relativeTo(s.hi, add(exact(x), exact(y))); !(math.Abs(e) <= 1e-14) {
				t.Errorf("add: %v and %v give %v, off by %.1e", x, y, s, e)
			}
		}
	}
}
