// Package account says what releases cost: of a run, by the accountant of its configuration and RDP beside
// it, and of whatever people ask about, by any accountant or theorem ([Answerer], [Lines]).
package account

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
)

// The accountants that a configuration can name.
const (
	Exact = "exact"
	PLD   = "pld"
	RDP   = "rdp"
)

// ByChoice is the accountant of totals that hold whatever was chosen on the way.
const ByChoice = "any choice"

// ErrNoGuarantee: releases that have no finite ε, or none that could be computed.
var ErrNoGuarantee = errors.New("train: no guarantee")

// ErrInfinite is the ErrNoGuarantee of releases whose noise protects nothing.
var ErrInfinite = fmt.Errorf("%w: epsilon is infinite, expected enough noise for a guarantee", ErrNoGuarantee)

// Spent says what releases cost.
type Spent struct {
	accountant.Guarantee
	Accountant string // who answered: the accountant of the configuration, or rdp in its place
	// EpsilonRDP is ε by RDP, beside another accountant. It is nil where the configuration names
	// RDP itself, and where RDP has no finite answer.
	EpsilonRDP *float64
}

// Fallback is a question that the accountant of the configuration could not answer, so that RDP
// did. RDP's ε is an upper bound too, and mostly a larger one: the claim holds, the budget is used
// less well.
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

// Accountants is the accountant of a configuration with RDP beside it, which answers where the
// first one does not. Both bound ε from above, so a solver may meet answers of both.
type Accountants struct {
	accountant.Accountant
	rdp accountant.Accountant // the same one if the configuration names RDP
}

var _ accountant.Accountant = Accountants{}

// New returns the accountant of that name under a relation, with RDP beside it.
func New(name string, r accountant.Relation) (Accountants, error) {
	chosen, err := accountants.New(name, r)
	if err != nil {
		return Accountants{}, err
	}
	return WithRDP(chosen)
}

// WithRDP puts RDP beside an accountant that is not RDP.
func WithRDP(chosen accountant.Accountant) (Accountants, error) {
	a := Accountants{chosen, chosen}
	var err error
	if chosen.Name() != RDP {
		a.rdp, err = accountants.New(RDP, chosen.Relation())
	}
	return a, err
}

// RDP returns the one beside the first one, or that one itself if it is RDP.
func (a Accountants) RDP() accountant.Accountant { return a.rdp }

// Two says whether RDP stands beside another accountant.
func (a Accountants) Two() bool { return a.Name() != a.rdp.Name() }

// Guarantee returns the answer of the first accountant, or that of RDP.
func (a Accountants) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	g, err := ask(a.Accountant, l, delta)
	if err != nil && a.Two() {
		if byRDP, errRDP := ask(a.rdp, l, delta); errRDP == nil {
			return byRDP, nil
		}
	}
	return g, err
}

// ask asks one of them about a ledger that may hold choices.
func ask(a accountant.Accountant, l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	releases, divisor, err := Seen(l)
	if err != nil {
		return accountant.Guarantee{}, err
	}
	g, err := a.Guarantee(releases, delta/divisor)
	if divisor > 1 && err == nil {
		g.Delta = delta
		g.Method += fmt.Sprintf("; at δ/%g, because how many releases there are was chosen after some of them (a union bound)", divisor)
	}
	return g, err
}

// Spent asks both. Refusal says why the first one has no answer where RDP has one; err is about
// neither having one.
func (a Accountants) Spent(l *accountant.Ledger, delta float64) (s Spent, refusal, err error) {
	g, err := ask(a.Accountant, l, delta)
	s = Spent{Guarantee: g, Accountant: a.Name()}
	if !a.Two() {
		return s, nil, err
	}
	byRDP, errRDP := ask(a.rdp, l, delta)
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

// SpentBy asks the named accountant what a ledger costs, for those who have a ledger and no plan.
func SpentBy(name string, l *accountant.Ledger, delta float64) (Spent, error) {
	c, err := ClaimBy(name, l, nil, delta)
	return c.Spent, err
}

// Answer holds what records show of the cost of releases: ε by the accountant that answered, and by
// RDP where that stands beside another one.
type Answer struct {
	Epsilon    float64  `json:"epsilon"`
	EpsilonRDP *float64 `json:"epsilon_rdp,omitempty"` // nil where the configuration names RDP, or RDP had no finite answer
	Delta      float64  `json:"delta"`
	Accountant string   `json:"accountant,omitempty"` // "" in rows of the first version alone
}

// Answer is s without what stands behind it.
func (s Spent) Answer() Answer { return Answer{s.Epsilon, s.EpsilonRDP, s.Delta, s.Accountant} }

// Point is one point of a curve of ε over steps.
type Point struct {
	Steps   int     `json:"steps"`
	Epsilon float64 `json:"epsilon"`
}
