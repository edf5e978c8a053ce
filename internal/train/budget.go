package train

import (
	"fmt"
	"math"

	"dpsgd/accountant"
)

// certificate is what was established before the first release: that many releases of the event cost no more than that.
type certificate struct {
	event accountant.Event
	steps int
	cost  Spent
}

// covers reports whether a ledger and more releases of the event are certified: the ledger holds nothing but the
// event, and all of it is among the steps. What a part of the releases shows is a function of what all of them show, so the part
// costs no more than the whole.
func (c certificate) covers(l *accountant.Ledger, more int) bool {
	if l.Count()+more > c.steps {
		return false
	}
	for _, entry := range l.Entries() {
		if entry.Event != c.event {
			return false
		}
	}
	return true
}

// certify fixes how many of the planned steps the budget allows, before anything is released, and makes sure that there is a
// guarantee for them.
func (p *Plan) certify(calibrated bool) error {
	cost, refusal, err := p.cost(p.Event(), p.Steps)
	if err != nil {
		return fmt.Errorf("%w: privacy.noise_multiplier is %g, expected enough noise for a guarantee: %w", ErrPlan, p.NoiseMultiplier, err)
	}
	if math.IsInf(cost.Epsilon, 1) {
		return fmt.Errorf("%w: privacy.noise_multiplier is %g, expected enough noise for a finite epsilon", ErrPlan, p.NoiseMultiplier)
	}
	p.MaxSteps = p.Steps
	switch {
	case p.Budget == nil:
		p.fellBack(refusal, fmt.Sprintf("the ε of %d steps", p.Steps), epsilonOf(cost))
	case !cost.Within(*p.Budget):
		if p.MaxSteps, err = accountant.MaxSteps(p.accounts, p.Event(), *p.Budget, p.Steps); err != nil {
			return err
		}
		if cost, refusal, err = p.cost(p.Event(), p.MaxSteps); err != nil {
			return err
		}
		if refusal == nil {
			_, refusal, _ = p.cost(p.Event(), p.MaxSteps+1) // who said that this is too much
		}
		p.fellBack(refusal, fmt.Sprintf("how many of %d steps fit ε = %g", p.Steps, p.Budget.Epsilon), fmt.Sprint(p.MaxSteps))
	case calibrated:
		p.fellBack(refusal, fmt.Sprintf("the noise with which %d steps fit ε = %g", p.Steps, p.Budget.Epsilon), fmt.Sprintf("noise multiplier %.4f", p.NoiseMultiplier))
	default:
		p.fellBack(refusal, fmt.Sprintf("whether %d steps fit ε = %g", p.Steps, p.Budget.Epsilon), epsilonOf(cost))
	}
	p.certified = certificate{p.Event(), p.MaxSteps, cost}
	return nil
}

// cost is what equal releases cost. Its refusal is that of accounts.spent.
func (p *Plan) cost(e accountant.Event, count int) (s Spent, refusal, err error) {
	l, err := new(accountant.Ledger).With(e, count)
	if err != nil {
		return Spent{}, nil, err
	}
	return p.accounts.spent(l, p.Delta)
}

func epsilonOf(s Spent) string { return "ε = " + accountant.RoundUp(s.Epsilon, 3) }

// fellBack notes that RDP stood in, unless there was no refusal. A plan says so once for each kind of question.
func (p *Plan) fellBack(refusal error, asked, answer string) {
	if refusal == nil {
		return
	}
	p.Fallbacks = append(p.Fallbacks, Fallback{asked, p.Accountant.Name(), refusal.Error(), answer})
}

// Allows says whether one more step stays within the budget, given what is in the ledger. Among the steps that were
// certified in advance that takes no accountant. A ledger that holds anything else, such as the steps that a killed run
// repeats beyond its plan, is a new question with the next event included.
func (p *Plan) Allows(l *accountant.Ledger) (bool, error) {
	if p.Budget == nil {
		return true, nil
	}
	event := p.Event()
	if event == p.certified.event && p.certified.covers(l, 1) {
		return true, nil
	}
	next, err := l.With(event, 1)
	if err != nil {
		return false, err
	}
	cost, refusal, err := p.accounts.spent(next, p.Delta)
	if err != nil {
		return false, err
	}
	if refusal != nil && !p.askedNext {
		p.askedNext = true
		p.fellBack(refusal, fmt.Sprintf("whether release %d fits ε = %g", next.Count(), p.Budget.Epsilon), epsilonOf(cost))
	}
	return cost.Within(*p.Budget), nil
}

// Spent is the guarantee of what is in the ledger.
func (p *Plan) Spent(l *accountant.Ledger) (Spent, error) {
	s, refusal, err := p.accounts.spent(l, p.Delta)
	// Numerics may answer a hair more for a part than for the whole, or nothing. Both are upper bounds.
	if whole := p.certified.cost; p.certified.covers(l, 0) && (err != nil || whole.Epsilon < s.Epsilon) {
		s.Guarantee, s.Accountant = whole.Guarantee, whole.Accountant
		err = nil
	}
	if err != nil {
		return Spent{}, err
	}
	if refusal != nil && !p.askedSpent {
		p.askedSpent = true
		p.fellBack(refusal, fmt.Sprintf("the ε of %d releases", l.Count()), epsilonOf(s))
	}
	return s, nil
}
