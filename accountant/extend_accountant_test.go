package accountant_test

import (
	"fmt"
	"math"

	"dpsgd/accountant"
)

// gaussians is an accountant of one's own: of Gaussian releases without sampling alone, by the exact
// profile of their composition, which is one Gaussian (Balle and Wang, arXiv:1805.06530, Theorem 8).
type gaussians struct{}

func (gaussians) Name() string                  { return "gaussians" }
func (gaussians) Relation() accountant.Relation { return accountant.AddOrRemoveOne }

func (g gaussians) Delta(l *accountant.Ledger, epsilon float64) (accountant.Guarantee, error) {
	var square float64 // of the sensitivity over the deviation, all releases together
	for _, entry := range l.Entries() {
		e, ok := entry.Event.(accountant.Gaussian)
		if !ok {
			return accountant.Guarantee{}, fmt.Errorf("%w: gaussians knows nothing of %v", accountant.ErrUnsupported, entry.Event)
		}
		square += float64(entry.Count) / (e.NoiseMultiplier * e.NoiseMultiplier)
	}
	mu := math.Sqrt(square)
	below := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	delta := below(mu/2-epsilon/mu) - math.Exp(epsilon)*below(-mu/2-epsilon/mu)
	return accountant.Guarantee{Epsilon: epsilon, Delta: delta, Relation: g.Relation(), Method: "exact profile of a Gaussian"}, nil
}

func (g gaussians) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	low, high := 0.0, 100.0
	for range 60 { // high is always private enough
		middle := (low + high) / 2
		switch at, err := g.Delta(l, middle); {
		case err != nil:
			return accountant.Guarantee{}, err
		case at.Delta > delta:
			low = middle
		default:
			high = middle
		}
	}
	return accountant.Guarantee{Epsilon: high, Delta: delta, Relation: g.Relation(), Method: "exact profile of a Gaussian"}, nil
}

// An accountant is four methods. Calibration, and everything else that asks one, takes any.
func Example_ownAccountant() {
	event := func(noiseMultiplier float64) accountant.Event {
		return accountant.Gaussian{NoiseMultiplier: noiseMultiplier}
	}
	target := accountant.Guarantee{Epsilon: 3, Delta: 1e-5}
	noiseMultiplier, err := accountant.CalibrateNoiseMultiplier(gaussians{}, event, 120, target)
	if err != nil {
		panic(err)
	}
	fmt.Printf("120 releases with noise multiplier %.2f, μ = %.4f\n", noiseMultiplier, math.Sqrt(120)/noiseMultiplier)
	// Output: 120 releases with noise multiplier 15.23, μ = 0.7191
}
