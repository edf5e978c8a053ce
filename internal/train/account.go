package train

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
)

// Spent is what releases cost.
type Spent struct {
	accountant.Guarantee
	Accountant string // who answered: the accountant of the configuration, or rdp in its place
	// EpsilonRDP is ε by RDP, beside another accountant. It is nil where the configuration names RDP itself, and where RDP
	// has no finite answer.
	EpsilonRDP *float64
}

// Fallback is a question that the accountant of the configuration could not answer, so that RDP did. RDP's ε is an upper
// bound too, and mostly a larger one: the claim holds, the budget is used less well.
type Fallback struct {
	Asked      string `json:"asked"`
	Accountant string `json:"accountant"` // who was asked
	Refusal    string `json:"refusal"`    // what it said
	Answer     string `json:"answer"`     // what RDP said
}

// String is the fallback as one line.
func (f Fallback) String() string {
	return fmt.Sprintf("the accountant %s has no answer for %s (%s); RDP stands in: %s", f.Accountant, f.Asked, f.Refusal, f.Answer)
}

// accounts is the accountant of a configuration with RDP beside it, which answers where the first one does not. Both bound ε
// from above, so a solver may meet answers of both.
type accounts struct {
	accountant.Accountant
	rdp accountant.Accountant // the same one if the configuration names RDP
}

var _ accountant.Accountant = accounts{}

func newAccounts(name string) (accounts, error) {
	chosen, err := accountants.New(name, accountant.AddOrRemoveOne)
	if err != nil {
		return accounts{}, err
	}
	return withRDP(chosen)
}

// withRDP puts RDP beside an accountant that is not RDP.
func withRDP(chosen accountant.Accountant) (accounts, error) {
	a := accounts{chosen, chosen}
	var err error
	if chosen.Name() != nameRDP {
		a.rdp, err = accountants.New(nameRDP, chosen.Relation())
	}
	return a, err
}

// two says whether RDP stands beside another accountant.
func (a accounts) two() bool { return a.Name() != a.rdp.Name() }

// Guarantee is the first accountant's, or that of RDP.
func (a accounts) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	g, err := a.Accountant.Guarantee(l, delta)
	if err != nil && a.two() {
		if byRDP, errRDP := a.rdp.Guarantee(l, delta); errRDP == nil {
			return byRDP, nil
		}
	}
	return g, err
}

// spent asks both. Refusal says why the first one has no answer where RDP has one; err is about neither having one.
func (a accounts) spent(l *accountant.Ledger, delta float64) (s Spent, refusal, err error) {
	g, err := a.Accountant.Guarantee(l, delta)
	s = Spent{Guarantee: g, Accountant: a.Name()}
	if !a.two() {
		return s, nil, err
	}
	byRDP, errRDP := a.rdp.Guarantee(l, delta)
	if errRDP != nil {
		return s, nil, err
	}
	if !math.IsInf(byRDP.Epsilon, 1) {
		s.EpsilonRDP = &byRDP.Epsilon
	}
	if err != nil {
		s.Guarantee, s.Accountant = byRDP, a.rdp.Name()
	}
	return s, err, nil
}

// spentBy is what a ledger costs by the named accountant, for those who have a ledger and no plan.
func spentBy(name string, l *accountant.Ledger, delta float64) (Spent, error) {
	a, err := newAccounts(name)
	if err != nil {
		return Spent{}, err
	}
	s, _, err := a.spent(l, delta)
	if err == nil && math.IsInf(s.Epsilon, 1) {
		err = fmt.Errorf("%w: epsilon is infinite, expected enough noise for a guarantee", ErrNoGuarantee)
	}
	return s, err
}
