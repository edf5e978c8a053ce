package pld

import (
	"fmt"

	"dpsgd/accountant"
	"dpsgd/accountant/pld/internal/grid"
)

const (
	namePLD   = "pld"
	methodPLD = methodPairs + "privacy loss distributions discretised pessimistically (connect-the-dots, " +
		"Doroshenko et al. 2022), composed by FFT"
)

// Accountant is the one by privacy loss distributions: the losses of the dominating pairs of a
// ledger, discretised so that no answer is below the truth, and composed by fast Fourier
// transforms. It is independent of the numerics of Exact, a little looser, and
// analyses every event of which a dominating pair is known: Gaussian and Laplace, both
// also Poisson-sampled, RandomizedResponse and FixedSizeSampled under ReplaceOne,
// PoissonSampledGroup and TruncatedPoissonSampled under the other relations,
// TreeAggregation under ZeroOut, ApproxDP, and compositions. It holds no state.
type Accountant struct {
	relation accountant.Relation
	options  grid.Options
}

var _ accountant.IntervalAccountant = (*Accountant)(nil)

// New returns the accountant for relation r. Interval is the spacing of the grid of
// losses; 0 chooses one for each question, such that answers are within about 0.1 % of
// the truth.
func New(r accountant.Relation, interval float64) (*Accountant, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if !(interval >= 0 && interval <= 1) {
		return nil, fmt.Errorf("%w: interval of losses is %v, must be in [0, 1]", accountant.ErrInvalid, interval)
	}
	return &Accountant{r, grid.Options{Interval: interval}}, nil
}

// Name returns "pld".
func (a *Accountant) Name() string { return namePLD }

// Relation returns the relation that a was made for.
func (a *Accountant) Relation() accountant.Relation { return a.relation }

// Guarantee returns epsilon at delta, the upper end of EpsilonInterval.
func (a *Accountant) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	i, method, err := askProfile(l, a.relation, epsilonAt{delta}, a.direction)
	return orNone(accountant.Guarantee{Epsilon: i.Upper, Delta: delta, Relation: a.relation, Method: method}, err)
}

// Delta returns delta at epsilon, the upper end of DeltaInterval.
func (a *Accountant) Delta(l *accountant.Ledger, epsilon float64) (accountant.Guarantee, error) {
	i, method, err := askProfile(l, a.relation, deltaAt{epsilon}, a.direction)
	return orNone(accountant.Guarantee{Epsilon: epsilon, Delta: i.Upper, Relation: a.relation, Method: method}, err)
}

// EpsilonInterval returns bounds of the exact epsilon at delta of the dominating pairs.
func (a *Accountant) EpsilonInterval(l *accountant.Ledger, delta float64) (accountant.Interval, error) {
	i, _, err := askProfile(l, a.relation, epsilonAt{delta}, a.direction)
	return i, err
}

// DeltaInterval returns bounds of the exact delta at epsilon of the dominating pairs.
func (a *Accountant) DeltaInterval(l *accountant.Ledger, epsilon float64) (accountant.Interval, error) {
	i, _, err := askProfile(l, a.relation, deltaAt{epsilon}, a.direction)
	return i, err
}

func (a *Accountant) direction(rs []releasePair, q profileQuery) (accountant.Interval, string, error) {
	return byPLD(rs, q, a.options)
}
