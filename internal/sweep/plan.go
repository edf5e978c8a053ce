package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

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
	releases *accountant.Ledger  // all that the budget allows
	subject  checkpoints.Subject // the data and unit that limits are set for
	target   *float64            // with tan: the ε of the configuration that the trial simulates; else nil
}

// plan draws the points, or reads them if they were drawn, and plans every trial before the first
// one runs.
func (s *sweep) plan() error {
	s.plans, s.kinds, s.unit = nil, nil, checkpoints.Unit{}
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

// planTrial plans one trial. With tan, it makes the trial a smaller one.
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
	if s.unit = cmp.Or(s.unit, p.subject.Unit); p.subject.Unit != s.unit {
		return planned{}, fmt.Errorf("%w: found %q, expected the same clients or persons in all trials: what they cost together is about one unit", setup.ErrPlan, p.subject.Data)
	}
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

// outline returns the outline of a configuration's data, which it counts once: known holds the
// outlines by spec.
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

// spec describes the data of a configuration in a text that is equal for trials with the same data.
func (s *sweep) spec(c *configs.Config) string { return fmt.Sprintf("%#v", c.Data.Spec) }
func (s *sweep) drawsNumber() bool             { return s.file.Number != nil && s.file.Number.Drawn() }

// public reports whether all examples are drawn by the program: then nobody's privacy was spent.
func (s *sweep) public() bool {
	for _, t := range s.trials {
		if set := data.Find(t.Config.Data.Name); s.options.Given != nil || set == nil || !set.Drawn {
			return false
		}
	}
	return len(s.trials) > 0
}

// shrink makes a trial the small simulation of its configuration: batches and noise multiplier
// smaller by the same factor, as many steps, and no budget. Each step's mean gradient then carries
// the noise that it carried, σC/B, for a fraction of the work: accuracy under noise depends on σ/B
// and the number of steps and hardly on B alone (Sander, Stock, Sablayrolles 2023,
// arXiv:2210.03403, who call it the total amount of noise, TAN). Its ε does not follow: a small σ
// protects less, and a trial costs what its own releases cost.
func shrink(t *configs.Trial, plan *train.RunPlan, scale int) error {
	c := t.Config
	if !c.Training.Sampling.Sized() {
		return fmt.Errorf("%w: tan.scale is given with training.sampling %s, expected one with a training.batch_size", setup.ErrPlan, c.Training.Sampling.Name())
	}
	if c.Training.BatchSize%scale != 0 {
		return fmt.Errorf("%w: tan.scale is %d, expected a divisor of the training.batch_size %d", setup.ErrPlan, scale, c.Training.BatchSize)
	}
	overrides := []string{
		fmt.Sprintf("training.batch_size=%d", c.Training.BatchSize/scale),
		fmt.Sprintf("training.steps=%d", plan.MaxSteps),
		"privacy.epsilon=none",
		"privacy.noise_multiplier=" + strconv.FormatFloat(plan.NoiseMultiplier()/float64(scale), 'g', -1, 64),
	}
	small, err := configs.Parse("the simulation", c.YAML(), overrides)
	if err != nil {
		return err
	}
	t.Config, t.Overrides = small, append(t.Overrides, overrides...)
	return nil
}
