package sweep

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/accountant"
	"dpsgd/accountant/rdp"
	"dpsgd/checkpoints"
	"dpsgd/internal/account"
)

// Selected is what releasing the best point of a drawn number of points costs, and nothing else of
// the sweep: not the other rows, not the number (Papernot, Steinke 2022, arXiv:2110.03620v2,
// Theorems 2 and 6; see [rdp.Accountant.Selection]).
//
// It rests on more than a ledger can show:
//
//   - The number of points and each point were drawn by the program, from the system's randomness,
//     before the first trial, and nobody drew again because of what was drawn.
//   - All of them were trained. A sweep that is stopped for good has no such figure.
//   - The best is chosen by the test accuracy alone, and the test examples are public, or none of
//     those that ε speaks of: that protects training examples. Ties go to the point drawn first,
//     which is as good as at random because the points are independent and of one law.
type Selected struct {
	account.Answer
	Number string `json:"number"` // what the number of points was drawn from
}

// selected is nil unless the number of points was drawn and all of them have their results.
func (s *sweep) selected() (*Selected, error) {
	if !s.drawsNumber() || len(s.rows) < len(s.trials) {
		return nil, nil
	}
	if err := s.addTrained(); err != nil {
		return nil, err
	}
	a, err := rdp.New(accountant.AddOrRemoveOne, rdp.DefaultOrders())
	if err != nil {
		return nil, err
	}
	n := s.file.Number
	g, err := a.Selection(s.kinds, n.Mean, n.Shape, s.delta)
	if err == nil && math.IsInf(g.Epsilon, 1) {
		err = account.ErrInfinite
	}
	if err != nil {
		return nil, fmt.Errorf("the cost of choosing among drawn points: %w", err)
	}
	return &Selected{account.Answer{Epsilon: g.Epsilon, Delta: g.Delta, Accountant: account.RDP}, n.String()}, nil
}

// kindOf is one run in the sense of the theorem: the releases of a trial, so many times.
func kindOf(releases *accountant.Ledger, times int) (accountant.Event, error) {
	var parts []accountant.Event
	for _, e := range releases.Entries() {
		parts = append(parts, accountant.SelfComposed{Event: e.Event, Count: e.Count * times})
	}
	return accountant.Compose(parts...)
}

func (s *sweep) addKind(kind accountant.Event) {
	if !slices.Contains(s.kinds, kind) {
		s.kinds = append(s.kinds, kind)
	}
}

// addTrained adds what was trained to what could be drawn. It is among that already, but for a
// point of which a trial was killed and released steps again: the best one may be such.
func (s *sweep) addTrained() error {
	members, err := s.inspect()
	if err != nil {
		return err
	}
	points := map[string]*accountant.Ledger{} // by the names of their trials
	for i, t := range s.trials {
		if i == 0 || t.Point != s.trials[i-1].Point {
			points[t.Point] = new(accountant.Ledger)
		}
		j := slices.IndexFunc(members, func(m checkpoints.Member) bool { return m.Path == s.file.Name+"/"+t.Name })
		if j < 0 {
			continue // it released nothing
		}
		if account.Choices(members[j].Ledger) > 0 {
			return fmt.Errorf("%w: trial %s was extended, which a trial cannot be: the theorem is about runs whose length nobody chose on the way; quote what all trials cost together", ErrOtherSweep, t.Name)
		}
		for _, e := range members[j].Ledger.Entries() {
			if err := points[t.Point].Add(e.Event, e.Count); err != nil {
				return err
			}
		}
	}
	for _, l := range points {
		kind, err := kindOf(l, 1)
		if err != nil {
			return err
		}
		s.addKind(kind)
	}
	return nil
}
