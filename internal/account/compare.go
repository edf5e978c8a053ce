package account

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
)

// Subject says which releases an answer is about, and between which datasets.
type Subject struct {
	Relation  string `json:"relation"`
	GroupSize int    `json:"group_size,omitempty"`

	// Of DP-SGD with one setting.
	SamplingProbability float64 `json:"sampling_probability,omitempty"`
	NoiseMultiplier     float64 `json:"noise_multiplier,omitempty"`

	Releases int    `json:"releases"`
	Run      string `json:"run,omitempty"`
	Unit     string `json:"unit,omitempty"` // what data sets differ in, where that is no record
}

func (q Question) subject() Subject {
	s := Subject{Relation: q.Relation.String(), Releases: q.Ledger.Count(), Run: q.Run, Unit: q.Unit}
	if q.GroupSize > 1 {
		s.GroupSize = q.GroupSize
	}
	s.SamplingProbability, s.NoiseMultiplier, _ = uniform(q.Ledger)
	return s
}

// Comparison holds what all accountants say about the same releases.
type Comparison struct {
	Delta float64 `json:"delta"`
	Subject
	Accountants []Compared `json:"accountants"` // the least ε first, then estimates, then refusals
}

// Compared is the answer of one accountant, or its refusal.
type Compared struct {
	Accountant string   `json:"accountant"`
	Epsilon    *float64 `json:"epsilon,omitempty"` // an upper bound, if not an estimate
	Lower      *float64 `json:"lower,omitempty"`   // where the accountant has one
	Seconds    float64  `json:"seconds"`           // of one answer by an accountant that has computed nothing before
	Estimate   bool     `json:"estimate,omitempty"`
	Error      string   `json:"error,omitempty"`
	Curve      []Point  `json:"curve,omitempty"` // ε after a number of releases
}

// Compare asks every accountant, each newly made, for ε of q's releases, and then for a curve of
// that many points, or fewer where an answer takes long. It stops between answers when ctx ends.
func Compare(ctx context.Context, q Question, points int) (*Comparison, error) {
	q.Unknown = Epsilon
	if err := q.validate(); err != nil {
		return nil, err
	}
	c := &Comparison{Delta: q.Delta, Subject: q.subject()}
	var askers []asker
	for _, name := range accountants.Names() {
		askers = append(askers, asker{name: name, ask: q.by(name)})
	}
	for _, one := range append(askers, asker{name: "gdp", estimate: true, ask: q.estimate}) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		compared := one.first(q.Ledger)
		if compared.Error == "" && points > 0 {
			compared.Curve = one.curve(ctx, q.Ledger, points)
		}
		c.Accountants = append(c.Accountants, compared)
	}
	slices.SortStableFunc(c.Accountants, inOrder)
	return c, nil
}

// inOrder compares rows: bounds come first, then estimates, then refusals, each by ε.
func inOrder(a, b Compared) int {
	place := func(c Compared) (kind int, epsilon float64) {
		switch {
		case c.Epsilon == nil:
			return 2, 0
		case c.Estimate:
			return 1, *c.Epsilon
		}
		return 0, *c.Epsilon
	}
	kindA, epsilonA := place(a)
	kindB, epsilonB := place(b)
	return cmp.Or(cmp.Compare(kindA, kindB), cmp.Compare(epsilonA, epsilonB))
}

// asker answers for ε by one accountant or estimate, and keeps what that has computed.
type asker struct {
	name     string
	estimate bool
	ask      func(*accountant.Ledger) (Cost, error)
}

// by returns a function that asks an accountant of this name, new at the first call.
func (q Question) by(name string) func(*accountant.Ledger) (Cost, error) {
	var a Answerer
	return func(l *accountant.Ledger) (Cost, error) {
		q.Accountant, q.Ledger = name, l
		c, _, err := a.answer(q)
		return c, err
	}
}

// estimate returns the estimate of ε by the central limit theorem in Upper, though it is no bound.
func (q Question) estimate(l *accountant.Ledger) (c Cost, err error) {
	if l, err = (viewer{groupSize: q.GroupSize}).seen(l); err != nil {
		return c, err
	}
	c.Upper, err = accountants.GaussianEstimate(l, q.Relation, q.Delta/max(1, q.Divisor))
	if err == nil && math.IsInf(c.Upper, 1) {
		err = ErrInfinite
	}
	return c, err
}

// first asks for ε of all releases, and returns the answer with the time that it took.
func (a asker) first(l *accountant.Ledger) Compared {
	start := time.Now()
	answer, err := a.ask(l)
	c := Compared{Accountant: a.name, Seconds: time.Since(start).Seconds(), Estimate: a.estimate}
	if err != nil {
		c.Error = Refusal(err)
		return c
	}
	c.Epsilon = &answer.Upper
	if answer.Bracketed {
		c.Lower = &answer.Lower
	}
	return c
}

// curve returns ε after growing numbers of the releases, at most points of them. Points without an
// answer are left out. An answer takes longer the more entries a ledger has, and longer by pld; how
// many are asked for does not depend on time, so that the same releases have the same curve on
// every machine.
func (a asker) curve(ctx context.Context, releases *accountant.Ledger, points int) []Point {
	const least = 4
	answers := 50
	if a.name == PLD {
		answers = 25
	}
	var spends []Point
	total := releases.Count()
	points = min(points, max(least, answers/max(1, len(releases.Entries()))), total)
	for i := points; i >= 1 && ctx.Err() == nil; i-- {
		steps := max(1, int(math.Round(float64(total)*float64(i)/float64(points))))
		l, err := Beginning(releases, steps)
		if err != nil {
			continue
		}
		if answer, err := a.ask(l); err == nil {
			spends = append(spends, Point{Steps: steps, Epsilon: answer.Upper})
		}
	}
	slices.Reverse(spends)
	return spends
}
