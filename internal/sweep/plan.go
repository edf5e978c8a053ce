package sweep

import (
	"errors"
	"fmt"
	"slices"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
)

// planned describes a trial before it runs.
type planned struct {
	steps    int
	releases *accountant.Ledger  // that the budget allows
	subject  checkpoints.Subject // of limits, in the ledger of the data
	target   *float64            // ε of the configuration that the trial stands for; nil where it is its own
}

// plan draws what is to be drawn, or reads what was, and plans every trial before the first one
// runs.
func (s *sweep) plan() error {
	s.plans, s.kinds = nil, nil
	var err error
	if s.draw, err = s.drawn(); err != nil {
		return err
	}
	if s.trials, err = s.file.Trials(s.draw); err != nil {
		return err
	}
	outlines := map[string]setup.Outline{} // counting goes through all of a data set: once for each
	for i := range s.trials {
		p, err := s.planTrial(&s.trials[i], outlines)
		if err != nil {
			return fmt.Errorf("trial %s: %w", s.trials[i].Name, err)
		}
		s.plans = append(s.plans, p)
	}
	if !s.drawsNumber() {
		return nil
	}
	return s.planCandidates(outlines)
}

// planTrial plans one trial, which becomes a smaller one where the sweep says so.
func (s *sweep) planTrial(t *configs.Trial, outlines map[string]setup.Outline) (planned, error) {
	o, err := s.outline(t.Config, outlines)
	if err != nil {
		return planned{}, err
	}
	if err := setup.CheckMemory(t.Config, o); err != nil {
		return planned{}, err
	}
	plan, err := train.NewPlan(t.Config, setup.Records(t.Config, o))
	if err != nil {
		return planned{}, err
	}
	var p planned
	if s.file.Scale > 1 {
		spent, err := plan.After(plan.MaxSteps)
		if err != nil {
			return planned{}, err
		}
		p.target = &spent.Epsilon
		if err := shrink(t, plan, s.file.Scale); err != nil {
			return planned{}, err
		}
		if plan, err = train.NewPlan(t.Config, setup.Records(t.Config, o)); err != nil {
			return planned{}, err
		}
	}
	if _, err := setup.Sketch(t.Config, o.Shape, o.Classes); err != nil {
		return planned{}, err
	}
	p.steps = plan.Steps
	p.subject = books.SubjectOf(t.Config, o)
	p.releases, err = plan.Schedule(plan.MaxSteps)
	return p, err
}

// planCandidates plans every point that can be drawn, and refuses a drawn one that fits none.
func (s *sweep) planCandidates(outlines map[string]setup.Outline) error {
	candidates, err := s.file.Candidates()
	if err != nil {
		return err
	}
	s.delta = candidates[0].Privacy.Delta // which cannot be drawn
	seeds := s.file.Repeats()
	for _, c := range candidates {
		p, err := s.planTrial(&configs.Trial{Config: c}, outlines)
		if err != nil {
			return fmt.Errorf("a point that can be drawn: %w", err)
		}
		kind, err := kindOf(p.releases, seeds)
		if err != nil {
			return err
		}
		s.addKind(kind)
	}
	for i, t := range s.trials {
		kind, err := kindOf(s.plans[i].releases, seeds)
		if err == nil && !slices.Contains(s.kinds, kind) {
			err = errors.New("it releases something else than any point that can be drawn, which is a mistake of the program")
		}
		if err != nil {
			return fmt.Errorf("trial %s: %w", t.Name, err)
		}
	}
	return nil
}

func (s *sweep) outline(c *configs.Config, known map[string]setup.Outline) (setup.Outline, error) {
	if s.options.Given != nil {
		return setup.OutlineOfSource(s.options.Given), nil
	}
	spec := s.spec(c)
	if o, ok := known[spec]; ok {
		return o, nil
	}
	o, err := setup.OutlineOf(c, 0)
	if err == nil {
		known[spec] = o
	}
	return o, err
}

// spec is equal for trials with the same data.
func (s *sweep) spec(c *configs.Config) string {
	return fmt.Sprintf("%#v", c.Data.Spec)
}

// drawsNumber reports whether the number of points is drawn.
func (s *sweep) drawsNumber() bool { return s.file.Number != nil && s.file.Number.Drawn() }

// public reports whether all examples are drawn by the program: then nobody's privacy was spent.
func (s *sweep) public() bool {
	for _, t := range s.trials {
		if set := data.Find(t.Config.Data.Name); s.options.Given != nil || set == nil || !set.Drawn {
			return false
		}
	}
	return len(s.trials) > 0
}
