package release

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/internal/noise"
)

// Claim says of all releases of a plan what a privacy statement repeats.
type Claim struct {
	Unit       string // whose presence is protected
	Neighbours string // which data sets are hard to tell apart
	Public     string // what both of them have in common
	Sampling   string
	Clipping   string
	Noise      string
	// AddedDelta bounds what the distance of sampler and noise from their ideal laws adds to a δ, at
	// most 1. Nothing is added to ε.
	AddedDelta float64
}

// Claim describes so many releases of dim coordinates that are (epsilon, δ)-private by an
// accountant.
//
// A run that is within η of the ideal one in total variation, whatever the data, is (ε, δ +
// (1+e^ε)·η)-private where the ideal one is (ε, δ)-private: P(S) ≤ P*(S) + η ≤ e^ε·Q*(S) + δ + η ≤
// e^ε·(Q(S) + η) + δ + η. Each release adds its sampler's η.
func (p Plan) Claim(dim, releases int, epsilon float64) Claim {
	_, noiseDelta := noise.Excess(float64(dim) * float64(releases))
	sampling := float64(releases) * p.Sampler.Excess(p.Records)
	if sampling > 0 {
		sampling *= 1 + math.Exp(epsilon) // which may overflow; 0·∞ would be no number
	}
	return Claim{
		Unit:       p.Unit,
		Neighbours: accountant.RelationOf(p.Event(0)).Neighbours(p.Unit),
		Public:     fmt.Sprintf("the number of places, %d, the sampling, and everything else in the configuration", p.Records),
		Sampling:   p.Sampler.String(),
		Clipping:   p.Policy.String(),
		Noise:      p.Mechanism.String(),
		AddedDelta: min(1, noiseDelta+sampling),
	}
}
