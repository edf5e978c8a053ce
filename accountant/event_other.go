package accountant

import (
	"fmt"
	"math"
	"math/bits"
)

// Laplace is the release of a sum of contributions of L1 norm at most C plus
// Laplace noise of scale b, density exp(-|x|/b)/(2b), in every coordinate. Scale is
// b/C, finite and at least 0; 0 means no noise.
type Laplace struct {
	Scale float64 `json:"scale"`
}

// RandomizedResponse is one record's answer among Buckets possible ones, replaced
// with NoiseProbability by an answer drawn uniformly from all of them. It is defined
// for ReplaceOne. A NoiseProbability of 0 is no privacy.
type RandomizedResponse struct {
	NoiseProbability float64 `json:"noise_probability"`
	Buckets          int     `json:"buckets"`
}

// ApproxDP is a release of which only (Epsilon, Delta)-differential privacy is known,
// under the relation that is asked about.
type ApproxDP struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// ZCDP is a release of which only Rho-zero-concentrated differential privacy is known,
// under the relation that is asked about (Bun, Steinke 2016, arXiv:1605.02065,
// Definition 1.1): its Rényi divergence of every order α is at most Rho·α.
type ZCDP struct {
	Rho float64 `json:"rho"`
}

// TreeAggregation is one pass of the tree mechanism over Steps sums, with Gaussian noise of
// NoiseMultiplier × the norm of a contribution on every node of the tree: each record is
// in one sum and so in ⌈log₂(Steps+1)⌉ nodes (Kairouz et al. 2021, arXiv:2103.00039,
// section 3; Theorem C.1). It is defined for ZeroOut.
type TreeAggregation struct {
	NoiseMultiplier float64 `json:"noise_multiplier"`
	Steps           int     `json:"steps"`
}

// Depth is ⌈log₂(Steps+1)⌉, the number of nodes over one leaf that are ever full.
func (e TreeAggregation) Depth() int { return bits.Len(uint(e.Steps)) }

// Epsilon is the logarithm of the odds of the truth against another answer: e is
// (Epsilon, 0)-differentially private under ReplaceOne.
func (e RandomizedResponse) Epsilon() float64 {
	p := e.NoiseProbability
	return math.Log1p(float64(e.Buckets) * (1 - p) / p)
}

// String writes the event like its formula.
func (e Laplace) String() string { return fmt.Sprintf("Laplace(b=%v)", e.Scale) }

// String writes the event like its formula.
func (e RandomizedResponse) String() string {
	return fmt.Sprintf("RandomizedResponse(p=%v, k=%d)", e.NoiseProbability, e.Buckets)
}

// String writes the event like its formula.
func (e ApproxDP) String() string { return fmt.Sprintf("ApproxDP(ε=%v, δ=%v)", e.Epsilon, e.Delta) }

// String writes the event like its formula.
func (e ZCDP) String() string { return fmt.Sprintf("ZCDP(ρ=%v)", e.Rho) }

// String writes the event like its formula.
func (e TreeAggregation) String() string {
	return fmt.Sprintf("TreeAggregation(σ=%v, steps=%d)", e.NoiseMultiplier, e.Steps)
}

func (e Laplace) validate(int) error { return atLeastZero("scale", e.Scale) }

func (e RandomizedResponse) validate(int) error {
	if err := probability("noise probability", e.NoiseProbability); err != nil {
		return err
	}
	return atLeastOne("buckets", e.Buckets)
}

func (e ApproxDP) validate(int) error {
	if err := atLeastZero("epsilon", e.Epsilon); err != nil {
		return err
	}
	return probability("delta", e.Delta)
}

func (e ZCDP) validate(int) error { return atLeastZero("rho", e.Rho) }

func (e TreeAggregation) validate(int) error {
	if err := atLeastZero("noise multiplier", e.NoiseMultiplier); err != nil {
		return err
	}
	return atLeastOne("steps", e.Steps)
}

func atLeastOne(name string, n int) error {
	if n < 1 {
		return fmt.Errorf("%w: %s is %d, must be at least 1", ErrInvalid, name, n)
	}
	return nil
}

func (Laplace) isEvent()            {}
func (RandomizedResponse) isEvent() {}
func (ApproxDP) isEvent()           {}
func (ZCDP) isEvent()               {}
func (TreeAggregation) isEvent()    {}
