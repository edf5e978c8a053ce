package train

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/random"
	"dpsgd/optimizer"
)

// ErrPlan marks a configuration that is well-formed but cannot be carried out on its data.
var ErrPlan = errors.New("train: the configuration does not fit the data")

// Plan is everything that the guarantee of a run depends on. Nothing else may sample, clip, add noise or
// account.
type Plan struct {
	Sampler           data.Poisson
	Policy            clip.Policy
	Mechanism         optimizer.Mechanism
	Steps             int // updates that are planned
	ExpectedBatchSize float64
	Delta             float64
	Accountant        accountant.Accountant

	NoiseMultiplier float64
	// Budget is nil when the configuration names none: then all steps run.
	Budget *accountant.Guarantee
}

// NewPlan fixes the plan for a training set of n examples. n counts as public.
func NewPlan(c *configs.Config, n int) (*Plan, error) {
	if c.Training.BatchSize > n {
		return nil, fmt.Errorf("%w: training.batch_size is %d, expected at most the %d training examples", ErrPlan, c.Training.BatchSize, n)
	}
	// A mechanism that publishes one record in n with certainty is (0, 1/n)-private.
	if c.Privacy.Delta >= 1/float64(n) {
		return nil, fmt.Errorf("%w: privacy.delta is %g, expected less than 1/n = %.3g for n = %d training examples", ErrPlan, c.Privacy.Delta, 1/float64(n), n)
	}
	account, err := accountant.New(c.Privacy.Accountant, accountant.AddOrRemoveOne)
	if err != nil {
		return nil, err
	}
	policy, err := clip.NewFlat(c.Privacy.ClipNorm)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Sampler:           data.Poisson{SamplingProbability: float64(c.Training.BatchSize) / float64(n)},
		Policy:            policy,
		Steps:             steps(c.Training, n),
		ExpectedBatchSize: float64(c.Training.BatchSize),
		Delta:             c.Privacy.Delta,
		Accountant:        account,
		NoiseMultiplier:   c.Privacy.NoiseMultiplier,
	}
	if c.Privacy.HasBudget() {
		p.Budget = &accountant.Guarantee{Epsilon: c.Privacy.Epsilon, Delta: c.Privacy.Delta, Relation: accountant.AddOrRemoveOne}
	}
	if c.Privacy.Calibrated() {
		if p.NoiseMultiplier, err = p.calibrate(); err != nil {
			return nil, err
		}
	}
	if p.Mechanism, err = optimizer.NewGaussian(p.NoiseMultiplier, random.New()); err != nil {
		return nil, err
	}
	return p, p.checkGuarantee()
}

// checkGuarantee makes sure that the accountant has an answer for all planned steps before the first one is released.
func (p *Plan) checkGuarantee() error {
	g, err := p.after(p.Steps)
	if err != nil {
		return fmt.Errorf("%w: privacy.noise_multiplier is %g, expected enough noise for a guarantee: %w", ErrPlan, p.NoiseMultiplier, err)
	}
	if math.IsInf(g.Epsilon, 1) {
		return fmt.Errorf("%w: privacy.noise_multiplier is %g, expected enough noise for a finite epsilon", ErrPlan, p.NoiseMultiplier)
	}
	return nil
}

// steps is the planned number of updates: an epoch is n/batch steps, rounded to the nearest whole number of steps
// over all epochs.
func steps(t configs.Training, n int) int {
	if t.Steps > 0 {
		return t.Steps
	}
	return max(1, int(math.Round(float64(t.Epochs)*float64(n)/float64(t.BatchSize))))
}

func (p *Plan) calibrate() (float64, error) {
	event := func(sigma float64) accountant.Event {
		return p.Sampler.Sampled(accountant.Gaussian{NoiseMultiplier: sigma})
	}
	return accountant.CalibrateNoiseMultiplier(p.Accountant, event, p.Steps, *p.Budget)
}

// Event is what one step releases.
func (p *Plan) Event() accountant.Event { return p.Sampler.Sampled(p.Mechanism.Event()) }

// Allows says whether one more step stays within the budget, given what is in the ledger.
func (p *Plan) Allows(l *accountant.Ledger) (bool, error) {
	if p.Budget == nil {
		return true, nil
	}
	next, err := l.With(p.Event(), 1)
	if err != nil {
		return false, err
	}
	g, err := p.Accountant.Guarantee(next, p.Delta)
	if err != nil {
		return false, err
	}
	return g.Within(*p.Budget), nil
}

// Spent is the guarantee of what is in the ledger.
func (p *Plan) Spent(l *accountant.Ledger) (accountant.Guarantee, error) {
	return p.Accountant.Guarantee(l, p.Delta)
}

// Hash identifies the plan and the shape of its data. It is made of public values only: a hash of the training data
// would let anyone who guesses the data check the guess.
func (p *Plan) Hash(c *configs.Config, source *data.Source) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\nsteps %d\nnoise_multiplier %v\nexamples %d %v %q\n", identity(c), p.Steps, p.NoiseMultiplier,
		source.Train.Len(), source.Train.Shape(), source.Train.Classes())
	return hex.EncodeToString(h.Sum(nil))
}

// identity is the configuration without what may change between the parts of a run.
func identity(c *configs.Config) []byte {
	same := *c
	same.Performance, same.Run = configs.Performance{}, configs.Run{}
	same.Training.PhysicalBatchSize, same.Training.EvaluateEvery = 0, 0
	return same.YAML()
}
