package sweep

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/accountant/rdp"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/statement"
)

// Selected is the cost of releasing the best point of a drawn number of points, and nothing else of
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

// selected returns the cost of releasing the best of a drawn number of points; nil until all trials
// have a result.
func (s *sweep) selected() (*Selected, error) {
	if !s.drawsNumber() || len(s.rows) < len(s.trials) {
		return nil, nil
	}
	if err := s.addTrained(); err != nil {
		return nil, err
	}
	relation := accountant.ZeroOut
	if slices.ContainsFunc(s.kinds, func(e accountant.Event) bool { return accountant.RelationOf(e) == accountant.ReplaceOne }) {
		relation = accountant.ReplaceOne
	}
	a, err := rdp.New(relation, rdp.DefaultOrders())
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

// kindOf returns the releases of a point, those of a trial for each of times seeds, as one event.
func kindOf(releases *accountant.Ledger, times int) (accountant.Event, error) {
	l := new(accountant.Ledger)
	for range times {
		if err := l.Join(releases); err != nil {
			return nil, err
		}
	}
	var parts []accountant.Event
	for _, e := range l.Entries() {
		parts = append(parts, accountant.SelfComposed(e))
	}
	return accountant.Compose(parts...)
}

// addKind adds an event to the kinds of points, unless it is there.
func (s *sweep) addKind(kind accountant.Event) {
	if !slices.Contains(s.kinds, kind) {
		s.kinds = append(s.kinds, kind)
	}
}

// addTrained adds the releases of the trained points to the kinds. They differ from the planned
// ones only where a trial was killed and repeated steps; such a point may be the best one.
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
		m, released := members[t.Name]
		if !released {
			continue
		}
		if account.Choices(m.Ledger) > 0 {
			return fmt.Errorf("%w: trial %s was extended, which a trial cannot be: the theorem is about runs whose length nobody chose on the way; quote what all trials cost together", ErrOtherSweep, t.Name)
		}
		if err := points[t.Point].Join(m.Ledger); err != nil {
			return err
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

// writeSelected writes the statement to publish with the best point. It names neither the point nor
// how many there were: the theorem is about somebody who sees the best one and nothing else.
func (s *sweep) writeSelected(r Result) error {
	if r.Selected == nil || r.Best == "" {
		return nil
	}
	var of statement.Statement
	var models []string
	for _, t := range s.trials {
		if t.Point != r.Best {
			continue
		}
		trial, err := statement.Read(filepath.Join(s.dir, t.Name))
		if err != nil {
			return err
		}
		if of.Run == "" {
			of = trial
		}
		models = append(models, trial.ModelSHA256)
	}
	return s.selection(r, of, models).WriteSelected(s.dir)
}

// selection returns the statement of the best point; of is the statement of one of its trials.
func (s *sweep) selection(r Result, of statement.Statement, models []string) statement.Statement {
	best := r.Points[slices.IndexFunc(r.Points, func(p Point) bool { return p.Point == r.Best })]
	// A selection is as far from the ideal one, in total variation, as all its runs are together,
	// of which there are as many as the mean; see release.Plan.Claim. A trial's AddedDelta is no
	// less than its distance.
	added := min(1, s.file.Number.Mean*float64(s.file.Repeats())*of.AddedDelta*(1+math.Exp(r.Selected.Epsilon)))
	facts := []statement.Fact{
		{Name: "Selection", Value: fmt.Sprintf("the best by %s of a number of points that was drawn, %s, each point drawn too (repeat-and-select; Papernot, Steinke 2022, arXiv:2110.03620v2, Theorems 2 and 6)", best.Name(), r.Selected.Number)},
		{Name: "Sampler", Value: of.Sampling}, {Name: "Clipping", Value: of.Bound}, {Name: "Mechanism", Value: of.Noise},
	}
	facts = append(append(facts, of.Facts...), statement.Fact{Name: strings.ToUpper(best.Name()[:1]) + best.Name()[1:] + ", the mean over the models of the point", Value: best.String()})
	for _, setting := range best.settings {
		if setting.Key != configs.DrawKey { // which says nothing
			facts = append(facts, statement.Fact{Name: setting.Key, Value: setting.Value})
		}
	}
	for _, sum := range models {
		facts = append(facts, statement.Fact{Name: "SHA-256 of a model", Value: "`" + sum + "`"})
	}
	return statement.Statement{
		System: statement.Selection, Run: s.file.Name, Status: string(r.Status),
		Unit: of.Unit, Relation: of.Relation, Neighbours: of.Neighbours, Public: of.Public, Trusted: of.Trusted,
		Answer: r.Selected.Answer, Method: "Rényi divergences of what can be drawn, conversion of Canonne, Kamath, Steinke 2020", AddedDelta: added,
		Facts: facts, Features: of.Features, InitialWeights: of.InitialWeights, Models: models,
		Data: of.Data, Examples: of.Examples, Shape: of.Shape, Classes: of.Classes, Task: of.Task,
		NotPrivate: append(slices.Clone(of.NotPrivate),
			"anything else of the sweep. The guarantee holds only if nobody learns how many points there were, the number of this one, or anything of another: publish the models with this statement, and no file that tells of others or holds such a number, such as privacy.md of a trial, results.md and sweep.json"),
	}
}
