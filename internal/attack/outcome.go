package attack

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/internal/chart"
)

// ErrFalsified is wrapped by the error about an audit that has falsified a claim.
var ErrFalsified = errors.New("train: CLAIM FALSIFIED")

// Outcome holds the claims that an audit tested, its verdict and its curves.
type Outcome struct {
	Audit      string   `json:"audit"`      // "step", with canaries, or "membership", of examples
	Private    bool     `json:"private"`    // false if it is computed from examples: then it is NOT PRIVATE
	Name       string   `json:"of"`         // of the configuration or the run
	Confidence float64  `json:"confidence"` // of all Tests together
	Delta      float64  `json:"delta"`
	Tests      []Tested `json:"tests"`
	Falsified  bool     `json:"falsified"`

	ROC     []Curve       `json:"roc"`     // of attacks: what they noticed
	Allowed []chart.Point `json:"allowed"` // at each rate of false alarms X, the most Y that the claim lets be noticed
}

// Curve is the share Y of canaries or training examples that an attack notices, at rates of false
// alarms X.
type Curve struct {
	Name   string        `json:"name"`
	Points []chart.Point `json:"points"`
}

// Tested is one claim, and what observations say about it.
type Tested struct {
	Claim     string  `json:"claim"`
	Quantity  string  `json:"quantity"` // "ε" or "q"
	Claimed   float64 `json:"claimed"`
	AtLeast   float64 `json:"at_least"` // lower bound by the observations
	By        string  `json:"by,omitempty"`
	Falsified bool    `json:"falsified"`
	factor    float64 // the noise multiplier is at most so many times the claimed one
}

// Verdict says in words what the audit found. No audit verifies a claim.
func (o *Outcome) Verdict() string {
	if o.Falsified {
		return "CLAIM FALSIFIED"
	}
	return fmt.Sprintf("not falsified at %g %%", 100*o.Confidence)
}

// Err returns an error that wraps [ErrFalsified] and names the claims; nil if none is falsified.
func (o *Outcome) Err() error {
	var names []string
	for _, t := range o.Tests {
		if t.Falsified {
			names = append(names, fmt.Sprintf("%s: found %s of at least %.4g, expected at most %.4g", t.Claim, t.Quantity, t.AtLeast, t.Claimed))
		}
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("%w at %g %%, %q", ErrFalsified, 100*o.Confidence, names)
}

// Chart draws how many canaries or training examples are noticed at each rate of false alarms, and
// how many the claim allows, on logarithmic axes: what happens at few false alarms counts.
func (o *Outcome) Chart() chart.Chart {
	c := chart.Chart{X: "false alarms, log scale", Logarithmic: true, LogarithmicX: true, Subtitle: o.Name + "; above the line of the claim only by chance"}
	c.Title, c.Y = "Canaries noticed in one step", "canaries noticed"
	if !o.Private {
		c.Title, c.Y = "NOT PRIVATE: training examples noticed", "training examples noticed"
	}
	c.Lines = append(c.Lines, chart.Line{Name: "most allowed", Points: o.Allowed})
	for _, curve := range o.ROC {
		c.Lines = append(c.Lines, chart.Line{Name: curve.Name, Style: chart.Dots, Points: curve.Points})
	}
	return c
}

// leastRate is the least rate of false alarms of a curve.
const leastRate = 1e-4

// rates returns the rates of false alarms of a curve, evenly spaced on a logarithmic axis.
func rates() (all []float64) {
	for exponent := math.Log10(leastRate); exponent < 0.05; exponent += 0.1 {
		all = append(all, min(1, math.Pow(10, exponent)))
	}
	return all
}

// rocOf returns the curve of a test that takes large values for wanted ones: at each of [rates], or
// where there are equal values at a smaller one.
func rocOf(wanted, others []float64) (curve []chart.Point) {
	for _, rate := range rates() {
		alarms, noticed := notice(wanted, others, rate)
		curve = append(curve, chart.Point{X: alarms.Accuracy, Y: noticed.Accuracy})
	}
	return curve
}
