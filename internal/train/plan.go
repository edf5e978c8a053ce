package train

import (
	"errors"
	"fmt"
	"strings"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/optimizer"
	"dpsgd/release"
)

// RunPlan is a release plan, the number of its releases, and the budget that they must fit.
type RunPlan struct {
	release.Plan
	Mean              *release.Plan // of the release ahead of the first step; nil if there is none
	Steps             int           // updates that are planned
	ExpectedBatchSize float64
	Delta             float64
	Accountant        accountant.Accountant // of the configuration; RDP stands beside it

	// SamplingProbability is how likely a record is in a sample.
	SamplingProbability float64
	// Budget is nil when the configuration names none: then all steps fit.
	Budget *accountant.Guarantee
	// MaxSteps is how many of the planned steps the budget allows, fixed before the first one.
	MaxSteps int
	// Fallbacks are the questions so far that RDP answered in place of Accountant.
	Fallbacks []account.Fallback

	behind *accountant.Ledger // releases up to the last extension of the run, with its choice; nil where there is none

	workload optimizer.Workload // of correlated noise; zero without
	strategy release.Strategy   // without coefficients where noise is independent

	accounts              account.Accountants
	certified             certificate
	askedNext, askedSpent bool // whether Allows and Spent have told about a fallback
}

// NewPlan fixes the plan for n records, see [setup.Records]. n counts as public. A plan that the
// budget allows no step of matches [setup.ErrPlan].
func NewPlan(c *configs.Config, n int) (*RunPlan, error) {
	p, err := newPlan(c, n, Options{}, nil, nil)
	if err != nil {
		return nil, err
	}
	return p, p.affordsAny()
}

// newPlan fixes the plan of a run with what it has behind it, nil for a new one. Noise is made on
// the threads of pool.
func newPlan(c *configs.Config, n int, o Options, past *past, pool *kernel.Pool) (*RunPlan, error) {
	if c.Privacy.Ordinary() || setup.Places(c) != setup.AsFound {
		return nil, fmt.Errorf("%w: privacy.unit is %s and privacy.none %t, expected example or person and false for noise on gradients", setup.ErrPlan, c.Privacy.Unit, c.Privacy.None)
	}
	if c.Pate.Any() {
		return nil, fmt.Errorf("%w: found pate.teachers %d, expected the command `train pate` for a configuration with teachers", setup.ErrPlan, c.Pate.Teachers)
	}
	unit, records := setup.Unit(c)
	if err := setup.CheckDelta(c.Privacy.Delta, n, records); err != nil {
		return nil, err
	}
	sampler, batch, err := sampleOf(c, n, records)
	if err != nil {
		return nil, err
	}
	a, err := o.accountants(c, accountant.RelationOf(sampler.Sampled(noiseOf(c).Event(1))))
	if err != nil {
		return nil, err
	}
	p := &RunPlan{
		Plan:                release.Plan{Unit: unit, Records: n, Sampler: sampler},
		Steps:               setup.Steps(c.Training, batch, n),
		ExpectedBatchSize:   batch,
		Delta:               c.Privacy.Delta,
		Accountant:          a.Accountant,
		SamplingProbability: batch / float64(n),
		accounts:            a,
	}
	if err := setup.CheckWarmup(c, p.Steps); err != nil {
		return nil, err
	}
	if p.Policy, err = clip.NewScheduled(c.Privacy.Clipping, c.Privacy.ClipNorm, c.Privacy.ClipSchedule, p.Steps); err != nil {
		return nil, err
	}
	if p.Mean, err = meanPlan(c, n, pool); err != nil {
		return nil, err
	}
	if c.Privacy.HasBudget() {
		p.Budget = &accountant.Guarantee{Epsilon: c.Privacy.Epsilon, Delta: c.Privacy.Delta, Relation: a.Relation()}
	}
	if err := p.correlate(c, n, past); err != nil {
		return nil, err
	}
	calibrated, err := p.setNoise(c, past, pool)
	if err != nil {
		return nil, err
	}
	if err := p.distinct(); err != nil {
		return nil, err
	}
	if err := p.extend(past); err != nil {
		return nil, err
	}
	return p, p.certify(calibrated)
}

// sampleOf returns the configured sampler of n records and the expected size of its samples.
func sampleOf(c *configs.Config, n int, records string) (s release.Sampler, batch float64, err error) {
	batch = float64(c.Training.BatchSize)
	if !c.Training.Sampling.Sized() {
		batch = float64(n)
	}
	if batch > float64(n) {
		return nil, 0, setup.Misfit("training.batch_size", "is %d, expected at most the %d %s", c.Training.BatchSize, n, records)
	}
	s = samplingOf(c).Sampler(batch, n)
	if rounded, ok := c.Training.Sampling.(release.Rounded); ok {
		batch = rounded.Expected(batch, n)
	}
	if err := s.Validate(); err != nil {
		return nil, 0, setup.Misfit("training.sampling", "is %s: %v", c.Training.Sampling.Name(), err)
	}
	return s, batch, wholeEpochs(s, c.Privacy.NoiseSchedule)
}

// setNoise gives the plan the configured noise, or calibrates it to the budget.
func (p *RunPlan) setNoise(c *configs.Config, past *past, pool *kernel.Pool) (calibrated bool, err error) {
	first := c.Privacy.NoiseMultiplier
	if c.Privacy.Calibrated() {
		// A run keeps the noise that it began with, also if a newer program would calibrate in the
		// tenth digit another.
		if first = p.firstOf(past, noiseOf(c)); first == 0 {
			calibrated = true
			first, err = p.calibrate(noiseOf(c), c.Privacy.NoiseSchedule)
			if errors.Is(err, accountant.ErrUnreachable) && p.Mean != nil {
				err = fmt.Errorf("%w; features.mean_noise %v takes its part of the budget, a larger one or none leaves more", err, c.Features.MeanNoise)
			}
			if err != nil {
				return calibrated, err
			}
		}
	}
	if p.Mechanism, err = noiseOf(c).Mechanism(c.Privacy.NoiseSchedule, first, p.Steps, pool); err == nil {
		err = p.correlated()
	}
	if calibrated && errors.Is(err, release.ErrPlan) {
		err = setup.Misfit("privacy.epsilon", "is %g, which takes too much noise, expected a larger one: %v", c.Privacy.Epsilon, err)
	}
	return calibrated, err
}

// distinct refuses a plan in which the release of the mean looks like that of a step: statement and
// resume tell them apart by their events.
func (p *RunPlan) distinct() error {
	if p.Mean == nil {
		return nil
	}
	steps, err := p.Plan.Schedule(p.Steps)
	if err != nil {
		return err
	}
	for _, e := range steps.Entries() {
		if e.Event == p.Mean.Event(0) {
			return setup.Misfit("features.mean_noise", "is %v, the noise multiplier of a step, expected another number", accountant.NoiseMultiplier(e.Event))
		}
	}
	return nil
}

// NoiseMultiplier returns the noise multiplier of the first step.
func (p *RunPlan) NoiseMultiplier() float64 { return accountant.NoiseMultiplier(p.Mechanism.Event(0)) }

// identity returns a text with all that may not change between the parts of a run: the plan, the
// shape of its data and the SHA-256 of the initial weights, "" if these are random. It is made of
// public values only: a hash of the training data would let anyone who guesses the data check the
// guess.
func (p *RunPlan) identity(c *configs.Config, o setup.Outline, initial string) string {
	var h strings.Builder
	if c.Features.Any() {
		fmt.Fprintln(&h, c.Features.Recipe)
	}
	fmt.Fprintf(&h, "%s\nsteps %d\nnoise_multiplier %v\n%s", c.Identity(), p.Steps, p.NoiseMultiplier(), o.Identity())
	if initial != "" {
		fmt.Fprintf(&h, "initial weights %s\n", initial)
	}
	return h.String()
}

// firstOf returns the noise multiplier of the first step in the ledger; 0 if there is none.
func (p *RunPlan) firstOf(past *past, noise release.Noise) float64 {
	if past == nil {
		return 0
	}
	for _, entry := range past.released.Entries() {
		sigma := accountant.NoiseMultiplier(entry.Event)
		if p.Mean != nil && entry.Event == p.Mean.Event(0) || sigma == 0 {
			continue
		}
		if p.Sampler.Sampled(noise.Event(sigma)) == entry.Event {
			return sigma
		}
	}
	return 0
}

// calibrate returns the least first noise multiplier with which all planned steps fit the budget.
func (p *RunPlan) calibrate(noise release.Noise, schedule release.NoiseSchedule) (float64, error) {
	event := func(step int, sigma float64) accountant.Event {
		return p.Sampler.Sampled(noise.Event(sigma * schedule.Factor(step, p.Steps)))
	}
	var a accountant.Accountant = p.accounts
	if p.Mean != nil {
		a = afterMean{p.accounts, p}
	}
	if _, constant := schedule.(*release.ConstantNoise); constant {
		return accountant.CalibrateNoiseMultiplier(a, func(sigma float64) accountant.Event { return event(0, sigma) }, p.Steps, *p.Budget)
	}
	whole := func(sigma float64) accountant.Event {
		planned := new(accountant.Ledger)
		for step := range p.Steps {
			if planned.Add(event(step, sigma), 1) != nil {
				return nil // which the search refuses
			}
		}
		composed, err := planned.Composed()
		if err != nil {
			return nil
		}
		return composed
	}
	return accountant.CalibrateNoiseMultiplier(a, whole, 1, *p.Budget)
}

// Deviation returns the standard deviation of the noise on each value of a step's mean gradient, in
// the unit of gradients. Where the clip norm is learnt it is that of the next step.
func (p *RunPlan) Deviation(step int) float64 {
	unit := p.unit()
	if stepping, ok := p.Policy.(clip.Stepping); ok {
		unit = stepping.At(step) / p.Policy.Bound()
	}
	return unit * p.Mechanism.Deviation(step, p.Policy.Bound()) / p.ExpectedBatchSize
}

// begin sets the clip norm of the step that begins, if a schedule of clip norms gives it.
func (p *RunPlan) begin(step int) {
	if stepping, ok := p.Policy.(clip.Stepping); ok {
		stepping.Begin(step)
	}
}

// unit returns what a noisy sum of the next step is multiplied by to be a sum of clipped gradients:
// not 1 under a policy that scales gradients of a moving clip norm to one bound.
func (p *RunPlan) unit() float64 {
	if moving, ok := p.Policy.(clip.Moving); ok {
		return moving.Unit()
	}
	return 1
}

// movingClipNorm returns the clip norm of the step with this number, 0 where all steps have the
// same.
func (p *RunPlan) movingClipNorm(next int) float64 {
	switch policy := p.Policy.(type) {
	case clip.Stepping:
		return policy.At(next)
	case clip.Moving:
		return policy.ClipNorm()
	}
	return 0
}

// counting returns the policy of a run that learns its clip norm from releases, and nil for any
// other run.
func (r *Run) counting() clip.Counting {
	counting, _ := r.plan.Policy.(clip.Counting)
	return counting
}
