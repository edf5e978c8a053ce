package accountant_test

import (
	"fmt"
	"math"

	"dpsgd/accountant"
)

// gaussians returns an accountant of one's own: of Gaussian releases without sampling alone, by the
// exact profile of their composition, which is one Gaussian (Balle and Wang, arXiv:1805.06530,
// Theorem 8).
func gaussians() accountant.Accountant {
	const method = "exact profile of a Gaussian"
	delta := func(l *accountant.Ledger, epsilon float64) (float64, string, error) {
		var square float64 // of the sensitivity over the deviation, all releases together
		for _, entry := range l.Entries() {
			e, ok := entry.Event.(accountant.Gaussian)
			if !ok {
				return 0, method, fmt.Errorf("%w: gaussians knows nothing of %v", accountant.ErrUnsupported, entry.Event)
			}
			square += float64(entry.Count) / (e.NoiseMultiplier * e.NoiseMultiplier)
		}
		mu := math.Sqrt(square)
		below := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
		return below(mu/2-epsilon/mu) - math.Exp(epsilon)*below(-mu/2-epsilon/mu), method, nil
	}
	epsilon := func(l *accountant.Ledger, most float64) (float64, string, error) {
		low, high := 0.0, 100.0
		for range 60 { // high is always private enough
			middle := (low + high) / 2
			switch at, _, err := delta(l, middle); {
			case err != nil:
				return 0, method, err
			case at > most:
				low = middle
			default:
				high = middle
			}
		}
		return high, method, nil
	}
	a, err := accountant.Make("gaussians", accountant.AddOrRemoveOne, epsilon, delta)
	if err != nil {
		panic(err)
	}
	return a
}

// An accountant is two bounds. Calibration, and everything else that asks one, takes any.
func Example_ownAccountant() {
	event := func(noiseMultiplier float64) accountant.Event {
		return accountant.Gaussian{NoiseMultiplier: noiseMultiplier}
	}
	target := accountant.Guarantee{Epsilon: 3, Delta: 1e-5}
	noiseMultiplier, err := accountant.CalibrateNoiseMultiplier(gaussians(), event, 120, target)
	if err != nil {
		panic(err)
	}
	fmt.Printf("120 releases with noise multiplier %.2f, μ = %.4f\n", noiseMultiplier, math.Sqrt(120)/noiseMultiplier)
	// Output: 120 releases with noise multiplier 15.23, μ = 0.7191
}
