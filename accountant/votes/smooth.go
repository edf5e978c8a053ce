package votes

import (
	"fmt"
	"math"

	"dpsgd/accountant"
)

// Smooth releases the divergence of an aggregation at one order, by Gaussian noise that is scaled
// to its smooth sensitivity (GNSS: 2018, Appendix B.3). Its fields are public and fixed before the
// votes are known.
type Smooth struct {
	Order float64 // of the divergence, above 1
	Beta  float64 // of the smooth sensitivity, above 0 and well below 1/(2·Order)
	Sigma float64 // of the noise, over the smooth sensitivity
	Z     float64 // the released number is too small with the probability that N(0,1) is below -Z
}

// Validate refuses fields out of range. Its error matches accountant.ErrInvalid.
func (s Smooth) Validate() error {
	switch {
	case !(s.Order > 1 && s.Order < 1e6):
		return fmt.Errorf("%w: order is %v, must be above 1", accountant.ErrInvalid, s.Order)
	case !(s.Beta > 0 && s.Beta < 1/(2*s.Order)):
		return fmt.Errorf("%w: beta is %v, must be above 0 and below 1/(2·order) = %v", accountant.ErrInvalid, s.Beta, 1/(2*s.Order))
	case !(s.Sigma > 0 && s.Z >= 0 && s.Z*s.Sigma*math.Expm1(s.Beta) < 1):
		return fmt.Errorf("%w: sigma is %v and z %v, must be above 0 and sigma·z·(e^beta - 1) below 1", accountant.ErrInvalid, s.Sigma, s.Z)
	}
	return nil
}

// Event returns the event that accounts for the release.
func (s Smooth) Event() accountant.Event {
	return accountant.SmoothGaussian{Beta: s.Beta, NoiseMultiplier: s.Sigma}
}

// Private holds the two numbers of a release that depend on the votes: the release is a draw of
// Centre + Deviation·N(0,1). Both numbers are NOT PRIVATE.
type Private struct{ Centre, Deviation float64 }

// Of returns the centre and the deviation for a release of f, whose local sensitivity at distance d
// is local[d].
//
// S = max_d e^(-β·d)·local[d] is a β-smooth bound on the local sensitivity of f (Nissim,
// Raskhodnikova, Smith 2007, Definition 3.1), so S itself differs by at most (e^β - 1)·S between
// neighbours. The number that is released should bound f and not only be near it: it is f + κ·S,
// which has the β-smooth bound S·(1 + κ·(e^β - 1)). With κ = z·σ/(1 - z·σ·(e^β - 1)) the noise has
// to be z of its deviations below 0 for the result to be below f.
func (s Smooth) Of(f float64, local []float64) Private {
	bound := 0.0
	for d, l := range local {
		bound = max(bound, math.Exp(-s.Beta*float64(d))*l)
	}
	bound += finest // a constant more is as smooth
	above := s.Z * s.Sigma / (1 - s.Z*s.Sigma*math.Expm1(s.Beta))
	return Private{Centre: f + above*bound, Deviation: s.Sigma * bound * (1 + above*math.Expm1(s.Beta))}
}

// finest is added to the sensitivity, so that the noise is far wider than the steps of the sampler
// that draws it, which may then round the centre to one of its steps.
const finest = 0x1p-20

// Epsilon returns the ε at delta of the answers, whose divergence was released as this number, and
// of that release together. It is public.
func (s Smooth) Epsilon(released, delta float64) float64 {
	return Epsilon(max(0, released)+s.Event().(accountant.SmoothGaussian).Divergence(s.Order), s.Order, delta)
}

// logTail returns log P[N(0,1) > x] for any x. The probability has a small relative error.
func logTail(x float64) float64 {
	if x < 5 {
		return math.Log(math.Erfc(x/math.Sqrt2) / 2)
	}
	// Mills ratio as a continued fraction (DLMF 7.9.1), backwards; from 5 on 60 levels are exact.
	ratio := x
	for k := 60.0; k >= 1; k-- {
		ratio = x + k/ratio
	}
	return -x*x/2 - math.Log(2*math.Pi)/2 - math.Log(ratio)
}

// tailAt returns the x whose logTail is log, for log below 0. The logarithm of the tail is concave
// and falls, so that Newton's method from above the root comes down to it.
func tailAt(log float64) float64 {
	x := -1.0
	if log < -math.Ln2 {
		x = math.Sqrt(-2 * (log + math.Ln2)) // P[N > x] ≤ e^(-x²/2)/2 for x ≥ 0
	} else {
		for logTail(x) > log { // the root lies above
			x += 0.25
		}
		for x > -40 && logTail(x) < log && logTail(x-1) < log {
			x--
		}
	}
	for range 200 {
		f := logTail(x) - log
		slope := -math.Exp(-x*x/2 - math.Log(2*math.Pi)/2 - logTail(x)) // -φ/Φ̄
		next := x - f/slope
		if math.Abs(next-x) <= 1e-15*math.Max(1, math.Abs(x)) || math.IsNaN(next) {
			break
		}
		x = next
	}
	return x
}

// log1mExp returns log(1 - e^x) for x < 0.
func log1mExp(x float64) float64 {
	if x > -math.Ln2 {
		return math.Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}
