package train

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/setup"
)

// certificate holds the planned releases and an upper bound of their cost, computed before the
// first release.
type certificate struct {
	planned []accountant.Entry
	cost    account.Spent
}

// covers reports whether a ledger is certified: it is the first of the planned releases, or all of
// them. What a part of the releases shows is a function of what all of them show, so the part costs
// no more than the whole. Every step asks, so the answer takes as long as the entries that differ,
// not as the steps so far.
func (c certificate) covers(l *accountant.Ledger) bool {
	made := l.Entries()
	if len(made) > len(c.planned) {
		return false
	}
	for i, entry := range made {
		planned, last := c.planned[i], i == len(made)-1
		if entry.Event != planned.Event || entry.Count > planned.Count || entry.Count < planned.Count && !last {
			return false
		}
	}
	return true
}

// certify fixes how many of the planned steps the budget allows, before anything is released, and
// makes sure that there is a guarantee for them.
func (p *RunPlan) certify(calibrated bool) error {
	cost, refusal, err := p.cost(p.Steps)
	if err != nil {
		return fmt.Errorf("%w: %w", setup.Misfit("privacy.noise_multiplier", "is %g, expected enough noise for a guarantee", p.NoiseMultiplier()), err)
	}
	if math.IsInf(cost.Epsilon, 1) {
		return setup.Misfit("privacy.noise_multiplier", "is %g, expected enough noise for a finite epsilon", p.NoiseMultiplier())
	}
	p.MaxSteps = p.Steps
	switch {
	case p.Budget == nil:
		p.fellBack(refusal, fmt.Sprintf("the ε of %d steps", p.Steps), epsilonOf(cost))
	case !cost.Within(*p.Budget):
		if p.MaxSteps, err = p.affordable(); err != nil {
			return err
		}
		if cost, refusal, err = p.cost(p.MaxSteps); err != nil {
			return err
		}
		if refusal == nil {
			_, refusal, _ = p.cost(p.MaxSteps + 1) // who said that this is too much
		}
		p.fellBack(refusal, fmt.Sprintf("how many of %d steps fit ε = %g", p.Steps, p.Budget.Epsilon), fmt.Sprint(p.MaxSteps))
	case calibrated:
		p.fellBack(refusal, fmt.Sprintf("the noise with which %d steps fit ε = %g", p.Steps, p.Budget.Epsilon), fmt.Sprintf("noise multiplier %.4f", p.NoiseMultiplier()))
	default:
		p.fellBack(refusal, fmt.Sprintf("whether %d steps fit ε = %g", p.Steps, p.Budget.Epsilon), epsilonOf(cost))
	}
	if p.Budget != nil && !cost.Within(*p.Budget) {
		return nil // not even what comes ahead of the first step is certified: nothing will be released
	}
	planned, err := p.Schedule(p.MaxSteps)
	if err != nil {
		return err
	}
	p.certified = certificate{planned.Entries(), cost}
	return nil
}

// affordsAny refuses a new run that would end before its first step, and says what to change.
func (p *RunPlan) affordsAny() error {
	if p.MaxSteps > 0 {
		return nil
	}
	what := "one step"
	if p.Mean != nil {
		what = "the mean of the features and one step"
	}
	first, _, err := p.cost(1)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s with privacy.noise_multiplier %g would spend %s, expected at most privacy.epsilon %g at privacy.delta %g; give a larger epsilon, more noise (or no noise_multiplier, which calibrates it) or a smaller training.batch_size",
		setup.ErrPlan, what, p.NoiseMultiplier(), epsilonOf(first), p.Budget.Epsilon, p.Delta)
}

// affordable returns how many of the planned steps fit the budget.
func (p *RunPlan) affordable() (int, error) {
	var problem error
	fit := sort.Search(p.Steps, func(i int) bool {
		cost, _, err := p.cost(i + 1)
		problem = cmp.Or(problem, err)
		return err != nil || !cost.Within(*p.Budget)
	})
	return fit, problem
}

// cost returns the guarantee of the first steps of the plan. refusal is the error of the configured
// accountant where RDP answered in its place.
func (p *RunPlan) cost(steps int) (s account.Spent, refusal, err error) {
	l, err := p.Schedule(steps)
	if err != nil {
		return account.Spent{}, nil, err
	}
	return p.accounts.Spent(l, p.Delta)
}

func epsilonOf(s account.Spent) string { return "ε = " + accountant.RoundUp(s.Epsilon, 3) }

// fellBack counts in Fallbacks, with its reason, that RDP answered in place of the configured
// accountant, which refused with that error. For a nil error it does nothing.
func (p *RunPlan) fellBack(refusal error, asked, answer string) {
	if refusal == nil {
		return
	}
	p.Fallbacks = append(p.Fallbacks, account.Fallback{Asked: asked, Accountant: p.Accountant.Name(), Refusal: refusal.Error(), Answer: answer})
}

// Allows says whether the next event costs no more than the plan, given what is in the ledger: a
// [release.Budget]. A killed run repeats steps, and so ends with fewer of them. If it went on
// beyond its plan, how much it releases would follow from what somebody saw before he killed it,
// and no ε of a fixed number of releases covers that, even where the budget has room. Among the
// steps that were certified in advance the answer takes no accountant. A ledger that holds anything
// else, such as a mean that was released twice, is a new question with the next event included.
func (p *RunPlan) Allows(l *accountant.Ledger, event accountant.Event) (bool, error) {
	next, err := l.With(event, 1)
	if err != nil {
		return false, err
	}
	if p.certified.covers(next) {
		return true, nil
	}
	cost, refusal, err := p.accounts.Spent(next, p.Delta)
	if err != nil {
		return false, err
	}
	if refusal != nil && !p.askedNext {
		p.askedNext = true
		p.fellBack(refusal, fmt.Sprintf("whether release %d fits ε = %g", next.Count(), p.certified.cost.Epsilon), epsilonOf(cost))
	}
	return cost.Within(p.certified.cost.Guarantee), nil
}

// Spent returns the guarantee of all releases in the ledger, by the configured accountant.
func (p *RunPlan) Spent(l *accountant.Ledger) (account.Spent, error) {
	s, refusal, err := p.accounts.Spent(l, p.Delta)
	// Numerics may answer a hair more for a part than for the whole, or nothing. Both are upper
	// bounds.
	if whole := p.certified.cost; p.certified.covers(l) && (err != nil || whole.Epsilon < s.Epsilon) {
		s.Guarantee, s.Accountant = whole.Guarantee, whole.Accountant
		err = nil
	}
	if err != nil {
		return account.Spent{}, err
	}
	if refusal != nil && !p.askedSpent {
		p.askedSpent = true
		p.fellBack(refusal, fmt.Sprintf("the ε of %d releases", l.Count()), epsilonOf(s))
	}
	return s, nil
}

// claim returns the guarantee that a run with this ledger may state, whatever its results were; see
// [account.Accountants.Claimed].
func (p *RunPlan) claim(l *accountant.Ledger, planned *checkpoints.Planned) (account.Claim, error) {
	now, err := p.Spent(l)
	if err != nil {
		return account.Claim{}, err
	}
	all, err := p.accounts.Claimed(l, planned, p.Delta)
	if err != nil {
		return account.Claim{}, err
	}
	spent, err := p.Spent(all)
	return account.NewClaim(spent, now, all), err
}

// After returns the guarantee that the plan has after so many of its steps.
func (p *RunPlan) After(steps int) (account.Spent, error) {
	l, err := p.Schedule(steps)
	if err != nil {
		return account.Spent{}, err
	}
	return p.Spent(l)
}
