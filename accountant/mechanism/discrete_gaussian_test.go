package mechanism

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigDiscreteDelta is the difference of the two probabilities, each summed over all its
// integers, at 400 bits.
func bigDiscreteDelta(sigma float64, sensitivity int, epsilon float64) *big.Float {
	variance, s := mul(bf(sigma), bf(sigma)), bf(float64(sensitivity))
	c := sub(div(mul(bf(epsilon), variance), s), div(s, bf(2)))
	factor := bigExp(bf(epsilon))
	// The weights of neighbours: w(y+1) = w(y) r(y), r(y+1) = r(y) exp(-1/σ²).
	end := int(50*sigma+50/sigma) + 2*sensitivity + 60 // far in the tail for δ > 1e-300
	weight, total, delta := bf(1), bf(0), bf(0)
	ratio := bigExp(div(bf(-0.5), variance))
	step := mul(ratio, ratio)
	count := func(y int) {
		if bf(float64(y)).Cmp(c) > 0 {
			delta = add(delta, weight)
		}
		if bf(float64(y)).Cmp(add(c, s)) > 0 {
			delta = sub(delta, mul(factor, weight))
		}
		total = add(total, weight)
	}
	for y := range end {
		count(y)
		if y > 0 {
			count(-y)
		}
		weight, ratio = mul(weight, ratio), mul(ratio, step)
	}
	return div(delta, total)
}

// randomDiscrete draws a case whose δ is a normal float64.
func randomDiscrete(rng *rand.Rand, minSigma, maxSigma float64) (sigma float64, sensitivity int, epsilon float64) {
	sigma = logUniform(rng, minSigma, maxSigma)
	sensitivity = int(logUniform(rng, 1, 20*max(1, sigma)))
	ratio := float64(sensitivity) / sigma
	if rng.IntN(8) > 0 {
		epsilon = max(0, ratio*(42*rng.Float64()-6+ratio/2))
	}
	return sigma, sensitivity, epsilon
}

func TestDiscreteGaussianDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	worst := 0.0
	for range 300 {
		sigma, sensitivity, epsilon := randomDiscrete(rng, 0.02, 15)
		want := bigDiscreteDelta(sigma, sensitivity, epsilon)
		if f, _ := want.Float64(); f < 1e-300 {
			continue
		}
		got, err := DiscreteGaussianDelta(sigma, sensitivity, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if got < 1 {
			mustBeJustAbove(t, got, want, 1e-14, "σ=%v s=%d ε=%v", sigma, sensitivity, epsilon)
		}
		worst = max(worst, math.Abs(relativeTo(newDiscreteProfile(sigma, sensitivity, epsilon).delta, want)))
	}
	t.Logf("worst relative error of δ: %.1f ulp, slack %.0f ulp", worst/ulp, discreteSlack/ulp)
	if !(worst < discreteSlack/2) {
		t.Errorf("relative error of δ up to %.1e, more than half of the slack %.1e", worst, discreteSlack)
	}
}

// Where the sums come from the Euler-Maclaurin formula, or from fewer terms: every term
// added up instead, with compensation.
func TestDiscreteGaussianDeltaOfLargeSigma(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for range 120 {
		sigma, sensitivity, epsilon := randomDiscrete(rng, 10, 1000)
		s := float64(sensitivity)
		c := dd{epsilon, 0}.mul(product(sigma, sigma)).div(dd{s, 0}).sub(dd{s / 2, 0})
		delta, total := dd{}, dd{}
		for y := -math.Ceil(40*sigma) - s; y <= math.Ceil(40*sigma)+s; y++ {
			weight := latticeWeight(sigma, y)
			total = total.add(dd{weight, 0})
			if gap := (dd{y, 0}).sub(c).value(); gap > 0 {
				delta = delta.add(product(weight, -math.Expm1(-s*gap/sigma/sigma)))
			}
		}
		want := delta.div(total).value()
		if got := newDiscreteProfile(sigma, sensitivity, epsilon).delta; want > 1e-300 && math.Abs(got/want-1) > discreteSlack/2 {
			t.Errorf("σ=%v s=%d ε=%v: δ = %v, want %v (relative difference %.1e)", sigma, sensitivity, epsilon, got, want, got/want-1)
		}
	}
}

// The two ways to sum agree where both can be used.
func TestTailSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	for range 300 {
		h := logUniform(rng, 1e-3, smooth)
		x := min(smooth/h, 39*rng.Float64()) - rng.Float64()
		want := directSum(h, func(u float64) float64 { return math.Exp(-u * (x + u/2)) })
		if got := tailSum(x, h); math.Abs(got/want-1) > 16*ulp {
			t.Errorf("x=%v h=%v: %v, want %v (relative difference %.1e)", x, h, got, want, got/want-1)
		}
		d := logUniform(rng, h, max(h, min(smooth/h-x, 2*max(1, x)))) // of sensitivity d/h
		theta := d * h * logUniform(rng, 1e-9, 1)
		want = directSum(h, func(u float64) float64 { return -math.Exp(-u*(x+u/2)) * math.Expm1(-theta-d*u) })
		if got := tailDecrement(x, d, theta, h); math.Abs(got/want-1) > 16*ulp {
			t.Errorf("x=%v d=%v θ=%v h=%v: %v, want %v (relative difference %.1e)", x, d, theta, h, got, want, got/want-1)
		}
	}
}

// With much noise the discrete Gaussian is the continuous one, up to about 1/σ².
func TestDiscreteGaussianApproachesGaussian(t *testing.T) {
	for _, sigma := range []float64{1e7, 1e8, 1e9} {
		for _, epsilon := range []float64{0, 0.3, 2, 10} {
			const ratio = 0.5 // sensitivity over σ
			discrete, err := DiscreteGaussianDelta(sigma, int(sigma*ratio), epsilon)
			if err != nil {
				t.Fatal(err)
			}
			continuous, err := GaussianDelta(1/ratio, epsilon)
			if err != nil || math.Abs(discrete/continuous-1) > 1e-14+100/sigma/sigma {
				t.Errorf("σ=%v ε=%v: δ = %v, of the continuous Gaussian %v", sigma, epsilon, discrete, continuous)
			}
		}
	}
}

// The theorem takes the largest change for the worst one.
func TestDiscreteGaussianSensitivityIsWorst(t *testing.T) {
	for _, sigma := range []float64{0.2, 0.5, 0.9, 1.7, 4, 20} {
		for _, epsilon := range []float64{0, 0.01, 0.3, 1, 4, 20} {
			previous := 0.0
			for sensitivity := 1; sensitivity <= 40; sensitivity++ {
				delta := newDiscreteProfile(sigma, sensitivity, epsilon).delta
				if delta < previous*(1-discreteSlack) {
					t.Errorf("σ=%v ε=%v: δ falls to %v at sensitivity %d", sigma, epsilon, delta, sensitivity)
				}
				previous = delta
			}
		}
	}
}

func TestDiscreteGaussianEpsilon(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 4))
	for range 120 {
		sigma, sensitivity, _ := randomDiscrete(rng, 0.05, 20)
		delta := randomDelta(rng)
		epsilon, err := DiscreteGaussianEpsilon(sigma, sensitivity, delta)
		if err != nil || !(epsilon >= 0) || math.IsInf(epsilon, 1) {
			t.Fatal(sigma, sensitivity, delta, epsilon, err)
		}
		if bigDiscreteDelta(sigma, sensitivity, epsilon).Cmp(bf(delta)) > 0 {
			t.Errorf("σ=%v s=%d δ=%v: ε = %v is below the true one", sigma, sensitivity, delta, epsilon)
		}
		less := epsilon * (1 - 1e-14)
		if epsilon > 0 && bigDiscreteDelta(sigma, sensitivity, less).Cmp(mul(bf(delta), bf(1-1e-14))) < 0 {
			t.Errorf("σ=%v s=%d δ=%v: ε = %v, but %v is private", sigma, sensitivity, delta, epsilon, less)
		}
	}
}

// At the result and everywhere above it the release is private, and just below it is not.
func TestDiscreteGaussianSigma(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 60 {
		sensitivity := int(logUniform(rng, 1, 200))
		epsilon, delta := logUniform(rng, 1e-2, 1e3)*float64(sensitivity), logUniform(rng, 1e-290, 0.9)
		if rng.IntN(2) == 0 {
			delta = logUniform(rng, 1e-10, 0.9)
		}
		sigma, err := DiscreteGaussianSigma(epsilon, delta, sensitivity)
		if err != nil {
			t.Fatal(epsilon, delta, sensitivity, err)
		}
		for i := range 500 {
			above := sigma * math.Exp(float64(i)/400)
			if got, err := DiscreteGaussianDelta(above, sensitivity, epsilon); err != nil || got > delta*(1+1e-12) || i == 0 && got > delta {
				t.Errorf("ε=%v δ=%v s=%d: σ = %v, but %v has δ = %v, %v", epsilon, delta, sensitivity, sigma, above, got, err)
				break
			}
		}
		if below := sigma * (1 - 1e-12); newDiscreteProfile(below, sensitivity, epsilon).delta < delta*(1-1e-13) {
			t.Errorf("ε=%v δ=%v s=%d: σ = %v, but %v is private too", epsilon, delta, sensitivity, sigma, below)
		}
	}
}

// What DiscreteGaussianSigma relies on: δ(σ) falls steadily for ε ≤ 0.6 s, and from σ = 64
// on.
func TestDiscreteGaussianFallsSteadily(t *testing.T) {
	scan := func(sensitivity int, epsilon, from, to float64) {
		previous := math.Inf(1)
		const n = 1500
		for i := range n {
			sigma := from * math.Pow(to/from, float64(i)/n)
			delta := newDiscreteProfile(sigma, sensitivity, epsilon).delta
			if delta > previous*(1+discreteSlack) && delta > 1e-300 {
				t.Errorf("s=%d ε=%v: δ rises from %v to %v at σ = %v", sensitivity, epsilon, previous, delta, sigma)
				return
			}
			previous = delta
		}
	}
	for _, sensitivity := range []int{1, 2, 3, 4, 5, 7, 10, 30, 100} {
		for _, ratio := range []float64{0, 0.01, 0.1, 0.3, 0.5, 0.6} {
			scan(sensitivity, ratio*float64(sensitivity), 0.02, 100)
		}
		for _, ratio := range []float64{0.62, 0.7} { // δ below 1e-300 beyond σ = 37/ratio
			scan(sensitivity, ratio*float64(sensitivity), 64, 70)
		}
	}
	for _, sensitivity := range []int{3000, 10_000, 100_000} { // σ above 64 with a δ that is not tiny
		for _, ratio := range []float64{0.7, 1, 3, 10} {
			scan(sensitivity, ratio*float64(sensitivity), 64, 64*6)
		}
	}
}

// And that between two kinks δ(σ) has one maximum, which peak finds.
func TestDiscreteGaussianPeaks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		sensitivity := 1 + rng.IntN(12)
		s := float64(sensitivity)
		r := logUniform(rng, 0.6, 100)
		c := discreteCalibration{epsilon: r * s, delta: 0.1, sensitivity: sensitivity}
		kink := float64(rng.IntN(sensitivity+30)) - math.Floor(s/2)
		lo, hi := math.Sqrt((kink+s/2)/r), math.Sqrt((kink+1+s/2)/r)
		lo = max(lo, minDiscreteSigma)
		peak := newDiscreteProfile(c.peak(lo, hi), sensitivity, c.epsilon).delta
		for i := 1; i < 200; i++ { // at lo itself rounding decides which side of the kink it is
			sigma := lo + (hi-lo)*float64(i)/200
			if got := newDiscreteProfile(sigma, sensitivity, c.epsilon).delta; got > peak*(1+1e-9) && got > 1e-300 {
				t.Errorf("ε=%v s=%d: between σ = %v and %v the peak is %v, but at %v it is %v", c.epsilon, sensitivity, lo, hi, peak, sigma, got)
				break
			}
		}
	}
}
