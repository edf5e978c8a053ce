package accountant

import "fmt"

// DiscreteGaussian is the release of sums of integer contributions plus an integer of the discrete
// Gaussian distribution in every coordinate, Pr[N = n] ∝ exp(-n²/(2s²)) (Canonne, Kamath, Steinke
// 2020, arXiv:2004.00010v4). If every contribution has L2 norm at most C, NoiseMultiplier is s/C,
// finite and at least 0; 0 means no noise.
//
// Sensitivity is C where each record contributes to one coordinate alone, for which the exact
// profile is known; it is 0 where a record may contribute to several.
type DiscreteGaussian struct {
	NoiseMultiplier float64
	Sensitivity     int // at least 0
}

func (e DiscreteGaussian) String() string {
	return fmt.Sprintf("DiscreteGaussian(σ=%v, Δ=%d)", e.NoiseMultiplier, e.Sensitivity)
}

func (e DiscreteGaussian) simplest() (Event, error) { return nonPrivateIf(e.NoiseMultiplier == 0, e) }

// seenBy divides the noise by size, and sets Sensitivity to 0: records may differ in coordinates.
func (e DiscreteGaussian) seenBy(size int) (Event, error) {
	return DiscreteGaussian{NoiseMultiplier: shareDown(e.NoiseMultiplier, size)}, nil
}

func (e *DiscreteGaussian) parameters() []parameter {
	return []parameter{
		within("noise_multiplier", &e.NoiseMultiplier, atLeastZero),
		within("sensitivity", &e.Sensitivity, atLeast(0)),
	}
}
