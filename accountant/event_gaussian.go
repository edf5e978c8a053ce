package accountant

import "fmt"

// Gaussian is the release of a sum of contributions plus normal noise. If every contribution has L2
// norm at most C and the noise has standard deviation s in every coordinate, NoiseMultiplier is
// s/C, under every relation. It is finite and at least 0; 0 means no noise, which costs ε = +Inf.
type Gaussian struct{ NoiseMultiplier float64 } // σ = s/C

func (e Gaussian) String() string              { return fmt.Sprintf("Gaussian(σ=%v)", e.NoiseMultiplier) }
func (e Gaussian) simplest() (Event, error)    { return nonPrivateIf(e.NoiseMultiplier == 0, e) }
func (e Gaussian) seenBy(n int) (Event, error) { return Gaussian{shareDown(e.NoiseMultiplier, n)}, nil }

func (e *Gaussian) parameters() []parameter {
	return []parameter{within("noise_multiplier", &e.NoiseMultiplier, atLeastZero)}
}
