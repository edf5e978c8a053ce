package release

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/internal/noise"
)

// Claim holds what a privacy statement repeats about the releases of a plan.
type Claim struct {
	Unit       string // what one record is: its presence is protected
	Neighbours string // which two data sets are hard to tell apart
	Public     string // what the two have in common, and anybody may know
	Sampling   string // how records are drawn for a release
	Clipping   string // how their contributions are bounded
	Noise      string // what is added to their sum
	// AddedDelta bounds what the distance of sampler and noise from their ideal laws adds to a δ,
	// at most 1. Nothing is added to ε.
	AddedDelta float64
}

// Claim returns what a statement says of this many releases of dim coordinates. epsilon is what an
// accountant finds for all of them together, for some δ.
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
