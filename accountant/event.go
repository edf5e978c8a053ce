package accountant

import (
	"fmt"
	"math"
)

// Event describes one release of a run. The set of events is closed: the types of
// this package that say so, used as values (not pointers), so that two events
// are equal by == exactly when an accountant cannot tell them apart.
//
// Parameters of noise are ratios to the bound on what one record contributes,
// the same under every relation: whether a neighbour lacks the record or holds
// another one, which moves a sum twice as far, is the accountant's business.
type Event interface {
	// String writes the event like its formula.
	String() string

	isEvent()
	validate(depth int) error
	encode() (name string, parameters any)
}

// NonPrivate is a release without any guarantee: every accountant answers
// ε = +Inf for a ledger that holds one.
type NonPrivate struct{}

// Gaussian is the release of a sum of contributions plus normal noise. If every
// contribution has L2 norm at most C and the noise has standard deviation s in
// every coordinate, NoiseMultiplier is s/C, under every relation. It is finite
// and at least 0; 0 means no noise, which costs ε = +Inf.
type Gaussian struct {
	NoiseMultiplier float64 `json:"noise_multiplier"` // σ = s/C
}

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

func (NonPrivate) isEvent()         {}
func (Gaussian) isEvent()           {}
func (Laplace) isEvent()            {}
func (RandomizedResponse) isEvent() {}
func (ApproxDP) isEvent()           {}
func (ZCDP) isEvent()               {}
func (TreeAggregation) isEvent()    {}

// String names the event.
func (NonPrivate) String() string { return "NonPrivate" }

// String writes the event like its formula.
func (e Gaussian) String() string { return fmt.Sprintf("Gaussian(σ=%v)", e.NoiseMultiplier) }

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

// Validate reports whether every parameter of e is in its range. Its error
// matches ErrInvalid.
func Validate(e Event) error { return validate(e, 0) }

// maxNesting bounds how deep events wrap events, so that hostile input cannot
// make the recursion deep. Real events nest three times.
const maxNesting = 16

func validate(e Event, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("%w: events nest more than %d deep", ErrInvalid, maxNesting)
	}
	switch e.(type) {
	case nil:
		return fmt.Errorf("%w: event is nil, want one of the event types", ErrInvalid)
	case NonPrivate, Gaussian, Laplace, RandomizedResponse, ApproxDP, ZCDP, TreeAggregation,
		PoissonSampled, PoissonSampledGroup, FixedSizeSampled, TruncatedPoissonSampled,
		RepeatAndSelect, SelfComposed, Composed:
		return e.validate(depth)
	}
	// A pointer to an event has the methods of the event.
	return fmt.Errorf("%w: event has type %T, want an event value (not a pointer)", ErrInvalid, e)
}

func (NonPrivate) validate(int) error { return nil }

func (e Gaussian) validate(int) error { return atLeastZero("noise multiplier", e.NoiseMultiplier) }

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

func atLeastZero(name string, x float64) error {
	if !(x >= 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%w: %s is %v, must be finite and at least 0", ErrInvalid, name, x)
	}
	return nil
}

func probability(name string, x float64) error {
	if !(x >= 0 && x <= 1) {
		return fmt.Errorf("%w: %s is %v, must be in [0, 1]", ErrInvalid, name, x)
	}
	return nil
}

func atLeastOne(name string, n int) error {
	if n < 1 {
		return fmt.Errorf("%w: %s is %d, must be at least 1", ErrInvalid, name, n)
	}
	return nil
}
