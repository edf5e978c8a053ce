package account

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
)

// Cost is the answer to a Question: a guarantee, and what it was computed from.
type Cost struct {
	Epsilon    float64 `json:"epsilon"`
	Delta      float64 `json:"delta"`
	Accountant string  `json:"accountant,omitempty"` // none where a theorem answers by itself
	Relation   string  `json:"relation"`
	Method     string  `json:"method"`
	GroupSize  int     `json:"group_size,omitempty"`

	// Bounds of the true δ where δ was asked for, else of the true ε. Upper is the number in the
	// guarantee. Bracketed says whether the accountant bounds the truth from below too; where it
	// does not, Lower is 0.
	Lower     float64 `json:"lower"`
	Upper     float64 `json:"upper"`
	Bracketed bool    `json:"-"`
	Seconds   float64 `json:"seconds"` // that the accountant took

	// Of DP-SGD with one setting. Steps are those that fit, where that was asked.
	SamplingProbability float64 `json:"sampling_probability,omitempty"`
	NoiseMultiplier     float64 `json:"noise_multiplier,omitempty"`
	Steps               *int    `json:"steps,omitempty"`
	Capped              bool    `json:"capped,omitempty"`         // Steps is MostSteps: no more are tried
	TargetEpsilon       float64 `json:"target_epsilon,omitempty"` // the budget ε of the question, if it had one

	// Of says in words what the answer is about, where a theorem gave it.
	Of string `json:"of,omitempty"`

	// Of a run.
	Run      string `json:"run,omitempty"`
	Releases *int   `json:"releases,omitempty"` // how many the answer is of
	Unit     string `json:"unit,omitempty"`     // what data sets differ in, where that is no record
	// Made is the cost of what the run has released by now, where that is less than it planned. It
	// holds only if the decision to stop looked at no result.
	Made *Cost `json:"made,omitempty"`
}

// Answerer answers questions. It keeps its accountants, and so what they have computed, from one
// question to the next; how much they keep is bounded. The zero value is ready. Not safe for
// concurrent use.
type Answerer struct {
	made map[View]accountant.Accountant
}

// Answer answers a question, with Method, and Made where q.Made is given.
func (a *Answerer) Answer(q Question) (Cost, error) {
	c, l, err := a.ask(q)
	if err != nil {
		return c, err
	}
	if now := q; q.Made != nil {
		now.Ledger, now.Divisor, now.Made = q.Made.Ledger, q.Made.Divisor, nil
		made, _, err := a.ask(now)
		if err != nil {
			return c, err
		}
		c.Made = &made
	}
	v, err := a.viewer(q)
	if err != nil {
		return c, err
	}
	var g accountant.Guarantee
	if q.Unknown == Delta {
		g, err = v.Accountant.Delta(l, q.Epsilon)
	} else {
		g, err = v.Accountant.Guarantee(l, q.Delta)
	}
	if c.Method = g.Method; q.Divisor > 1 {
		c.Method += fmt.Sprintf("; at δ/%g, because how many releases there are was chosen after some of them (a union bound)", q.Divisor)
	}
	return c, err
}

// ask answers q without Method and Made, and returns the ledger that the accountant was asked
// about. A refusal, which matches accountant.ErrUnsupported or accountant.ErrUncertified, names
// another accountant that answers, if there is one.
func (a *Answerer) ask(q Question) (Cost, *accountant.Ledger, error) {
	if err := q.validate(); err != nil {
		return Cost{}, nil, err
	}
	c, l, err := a.answer(q)
	if !refused(err) {
		return c, l, err
	}
	for _, name := range []string{Exact, RDP, PLD, "zcdp", "basic"} {
		other := q
		if other.Accountant = name; name == q.Accountant {
			continue
		}
		if _, _, otherErr := a.answer(other); otherErr == nil {
			return Cost{}, nil, fmt.Errorf("%w; the accountant %s has an answer", err, name)
		}
	}
	return Cost{}, nil, err
}

// refused reports whether err is a refusal, after which another accountant may have an answer.
func refused(err error) bool {
	return errors.Is(err, accountant.ErrUnsupported) || errors.Is(err, accountant.ErrUncertified)
}

// viewer returns the accountant of a question with its group size and divisor. The accountant is
// made when first asked for.
func (a *Answerer) viewer(q Question) (viewer, error) {
	view := View{Accountant: q.Accountant, Relation: q.Relation}
	account, known := a.made[view]
	if !known {
		var err error
		if account, err = accountants.New(q.Accountant, q.Relation); err != nil {
			return viewer{}, err
		}
		if a.made == nil {
			a.made = map[View]accountant.Accountant{}
		}
		a.made[view] = account
	}
	return viewer{Accountant: account, groupSize: q.GroupSize, divisor: max(1, q.Divisor)}, nil
}

// answer asks the accountant of the question, and no other one if that refuses. See ask.
func (a *Answerer) answer(q Question) (Cost, *accountant.Ledger, error) {
	v, err := a.viewer(q)
	if err != nil {
		return Cost{}, nil, err
	}
	start := time.Now()
	c, l, err := v.answer(q)
	if err != nil {
		return Cost{}, nil, err
	}
	c.Seconds = time.Since(start).Seconds()
	c.Accountant, c.Relation = v.Name(), v.Relation().String()
	if q.GroupSize > 1 {
		c.GroupSize = q.GroupSize
	}
	if q.Run != "" {
		releases := q.Ledger.Count()
		c.Run, c.Releases, c.Unit = q.Run, &releases, q.Unit
	}
	return c, l, nil
}

// viewer is an accountant that adds spent to each ledger, takes it as a group of records sees it,
// and divides δ by divisor, for solvers that know of none of these.
type viewer struct {
	accountant.Accountant
	groupSize int
	divisor   float64 // of δ
	spent     *accountant.Ledger
}

var _ accountant.Accountant = viewer{}

// seen returns spent and l together, as groups see them: what the accountant is asked about.
func (v viewer) seen(l *accountant.Ledger) (*accountant.Ledger, error) {
	if v.spent != nil {
		var err error
		if l, err = ledgerOf(append(v.spent.Entries(), l.Entries()...)); err != nil {
			return nil, err
		}
	}
	if v.groupSize <= 1 {
		return l, nil
	}
	return accountant.Group(l, v.groupSize)
}

// Guarantee returns epsilon at delta of what was spent and the ledger.
func (v viewer) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	return v.ask(v.Accountant.Guarantee, l, delta/v.divisor)
}

// Delta returns delta at epsilon of what was spent and the ledger.
func (v viewer) Delta(l *accountant.Ledger, epsilon float64) (accountant.Guarantee, error) {
	return v.ask(v.Accountant.Delta, l, epsilon)
}

func (v viewer) ask(of func(*accountant.Ledger, float64) (accountant.Guarantee, error), l *accountant.Ledger, at float64) (accountant.Guarantee, error) {
	l, err := v.seen(l)
	if err != nil {
		return accountant.Guarantee{}, err
	}
	g, err := of(l, at)
	g.Delta *= v.divisor
	return g, err
}

// answer answers q, and returns the ledger that the accountant was asked about.
func (v viewer) answer(q Question) (Cost, *accountant.Ledger, error) {
	target := accountant.Guarantee{Epsilon: q.Epsilon, Delta: q.Delta, Relation: q.Relation}
	c, l, err := describe(q.Ledger), q.Ledger, error(nil)
	switch q.Unknown {
	case NoiseMultiplier:
		c, l, err = v.solve(q.Ledger, withNoise, accountant.CalibrateNoiseMultiplier, target)
	case SamplingProbability:
		c, l, err = v.solve(q.Ledger, withSampling, accountant.MaxSamplingProbability, target)
	case Steps:
		v.spent = q.Ledger
		c, l, err = v.steps(q.Step, target)
	}
	if err != nil {
		return c, nil, err
	}
	if l, err = v.seen(l); err != nil {
		return c, nil, err
	}
	i, err := v.bounds(l, q)
	c.Lower, c.Upper = i.Lower, i.Upper
	c.Epsilon, c.Delta = i.Upper, q.Delta
	switch {
	case q.Unknown == Delta:
		c.Epsilon, c.Delta = q.Epsilon, i.Upper
	case q.Unknown > Delta:
		c.TargetEpsilon = q.Epsilon
	}
	_, c.Bracketed = v.Accountant.(accountant.IntervalAccountant)
	if c.Bracketed && !attained(l) {
		c.Bracketed, c.Lower = false, 0
	}
	return c, l, err
}

// attained reports whether a lower bound of the dominating pairs bounds the true cost of l. With a
// BoundedRange it does not: its pair covers all such mechanisms at once, and RDP may answer less.
func attained(l *accountant.Ledger) bool {
	simple, err := accountant.Simplify(l)
	return err == nil && !slices.ContainsFunc(simple.Entries, func(e accountant.Entry) bool {
		_, choice := e.Event.(accountant.BoundedRange)
		return choice
	})
}

// bounds returns bounds of δ where that is asked for, else of ε, for the ledger seen. The lower one
// is 0 if the accountant has none. The error is ErrInfinite where the upper bound of ε is +Inf.
func (v viewer) bounds(seen *accountant.Ledger, q Question) (i accountant.Interval, err error) {
	b, bracketing := v.Accountant.(accountant.IntervalAccountant)
	var g accountant.Guarantee
	switch {
	case q.Unknown == Delta && bracketing:
		i, err = b.DeltaInterval(seen, q.Epsilon)
	case q.Unknown == Delta:
		g, err = v.Accountant.Delta(seen, q.Epsilon)
		i.Upper = g.Delta
	case bracketing:
		i, err = b.EpsilonInterval(seen, q.Delta/v.divisor)
	default:
		g, err = v.Accountant.Guarantee(seen, q.Delta/v.divisor)
		i.Upper = g.Epsilon
	}
	if q.Unknown == Delta {
		i.Upper = min(1, i.Upper*v.divisor)
	} else if err == nil && math.IsInf(i.Upper, 1) {
		err = ErrInfinite
	}
	return i, err
}

// describe returns a Cost with the setting and steps of l, if l is DP-SGD with one setting.
func describe(l *accountant.Ledger) Cost {
	q, sigma, ok := uniform(l)
	if !ok {
		return Cost{}
	}
	steps := l.Count()
	return Cost{SamplingProbability: q, NoiseMultiplier: sigma, Steps: &steps}
}

// solver finds a parameter of events so that count of them stay within a target.
type solver func(a accountant.Accountant, event func(x float64) accountant.Event, count int, target accountant.Guarantee) (float64, error)

// solve finds the parameter, one for all releases, that meets target. It returns l with it.
func (v viewer) solve(l *accountant.Ledger, with func(accountant.Event, float64) (accountant.Event, error), find solver, target accountant.Guarantee) (Cost, *accountant.Ledger, error) {
	releases, err := vary(l, with)
	if err != nil {
		return Cost{}, nil, err
	}
	event, count := releases.event()
	x, err := find(v, event, count, target)
	if err != nil {
		return Cost{}, nil, err
	}
	if l, err = releases.ledger(x); err != nil {
		return Cost{}, nil, err
	}
	c := describe(l)
	c.SamplingProbability, c.NoiseMultiplier, _ = parameters(l.Entries()[0].Event)
	return c, l, nil
}

// steps finds how many releases of e fit target beside those spent, and returns their ledger alone.
func (v viewer) steps(e accountant.Event, target accountant.Guarantee) (Cost, *accountant.Ledger, error) {
	if e == nil {
		return Cost{}, nil, fmt.Errorf("%w: nothing was released yet, expected at least one release", ErrFixed)
	}
	n, err := maxSteps(v, e, target)
	if err != nil {
		return Cost{}, nil, err
	}
	c := Cost{Steps: &n, Capped: n == MostSteps}
	c.SamplingProbability, c.NoiseMultiplier, _ = parameters(e)
	l, err := new(accountant.Ledger).With(e, n)
	return c, l, err
}
