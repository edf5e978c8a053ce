// Package account computes what releases cost: those of a run by the accountant of its
// configuration and by RDP, those of a question by any accountant or theorem ([Answerer], [Lines]).
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

// ByChoice stands for the accountant of totals that hold even if releases were chosen on the way.
const ByChoice = "any choice"

// ErrNoGuarantee is matched where releases have no finite ε, or none that could be computed.
var ErrNoGuarantee = errors.New("train: no guarantee")

// ErrInfinite is returned for releases whose ε is +Inf. It matches ErrNoGuarantee.
var ErrInfinite = fmt.Errorf("%w: epsilon is infinite, expected enough noise for a guarantee", ErrNoGuarantee)

// Spent is what releases cost, and which accountant said so.
type Spent struct {
	accountant.Guarantee
	Accountant string // who answered: the accountant of the configuration, or rdp in its place
	// EpsilonRDP is ε by RDP, also where another accountant answered. It is nil where the
	// configuration names RDP itself, and where RDP has no finite answer.
	EpsilonRDP *float64
}

// Fallback is a question that RDP answered because the accountant of the configuration could not.
// RDP's ε is an upper bound too, and mostly a larger one: the claim holds, the budget is used
// less well.
type Fallback struct {
	Asked      string `json:"asked"`      // what was asked for, in words
	Accountant string `json:"accountant"` // who was asked
	Refusal    string `json:"refusal"`    // what it said
	Answer     string `json:"answer"`     // what RDP said
}

// String writes the fallback on one line.
func (f Fallback) String() string {
	return fmt.Sprintf("the accountant %s has no answer for %s (%s); RDP stands in: %s", f.Accountant, f.Asked, f.Refusal, f.Answer)
}

// Accountants is the accountant of a configuration, the first one, and RDP, which answers where the
// first one cannot. Both bound ε from above, so a solver may use answers of both.
type Accountants struct {
	accountant.Accountant
	RDP accountant.Accountant // the first one if the configuration names RDP
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

// WithRDP returns chosen with RDP as the second accountant; chosen may be RDP itself.
func WithRDP(chosen accountant.Accountant) (Accountants, error) {
	a := Accountants{chosen, chosen}
	var err error
	if chosen.Name() != RDP {
		a.RDP, err = accountants.New(RDP, chosen.Relation())
	}
	return a, err
}

// Two reports whether RDP is a second accountant: the first one is not RDP itself.
func (a Accountants) Two() bool { return a.Name() != a.RDP.Name() }

// Guarantee returns the answer of the first accountant, or that of RDP if the first one has none.
func (a Accountants) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	g, err := ask(a.Accountant, l, delta)
	if err != nil && a.Two() {
		if byRDP, errRDP := ask(a.RDP, l, delta); errRDP == nil {
			return byRDP, nil
		}
	}
	return g, err
}

// ask returns the guarantee of l at delta by a. Choices in l divide δ: see [Choice].
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

// Spent returns the cost of l at delta by both accountants. If RDP alone answers, refusal is the
// error of the first one; if neither answers, err is.
func (a Accountants) Spent(l *accountant.Ledger, delta float64) (s Spent, refusal, err error) {
	g, err := ask(a.Accountant, l, delta)
	s = Spent{Guarantee: g, Accountant: a.Name()}
	if !a.Two() {
		return s, nil, err
	}
	byRDP, errRDP := ask(a.RDP, l, delta)
	if errRDP != nil {
		return s, nil, err
	}
	if !math.IsInf(byRDP.Epsilon, 1) {
		s.EpsilonRDP = &byRDP.Epsilon
	}
	if err != nil {
		s.Guarantee, s.Accountant = byRDP, a.RDP.Name()
	}
	return s, err, nil
}

// SpentBy returns the cost of l by the named accountant, for callers that have no plan of the run.
func SpentBy(name string, l *accountant.Ledger, delta float64) (Spent, error) {
	c, err := ClaimBy(name, l, nil, delta)
	return c.Spent, err
}

// Answer is the cost of releases as records hold it: ε by the accountant that answered, and ε by
// RDP where the configuration names another one.
type Answer struct {
	Epsilon    float64  `json:"epsilon"`
	EpsilonRDP *float64 `json:"epsilon_rdp,omitempty"` // nil where the configuration names RDP, or RDP had no finite answer
	Delta      float64  `json:"delta"`
	Accountant string   `json:"accountant,omitempty"` // "" in rows of the first version alone
}

// Answer returns s as files hold it: its numbers and its accountant, without relation and method.
func (s Spent) Answer() Answer { return Answer{s.Epsilon, s.EpsilonRDP, s.Delta, s.Accountant} }

// OrDash writes an ε rounded up to three decimals, or a dash if there is none.
func OrDash(epsilon *float64) string {
	if epsilon == nil {
		return "–"
	}
	return accountant.RoundUp(*epsilon, 3)
}

// Point is one point of a curve of ε over steps.
type Point struct {
	Steps   int     `json:"steps"`
	Epsilon float64 `json:"epsilon"`
}
