package train

import (
	"math"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/setup"
	"dpsgd/optimizer"
	"dpsgd/release"
)

// Correlation describes correlated noise.
type Correlation struct {
	Bands        int       `json:"bands"` // 1 where auto found that independent noise is best
	Coefficients []float64 `json:"coefficients"`
	// Error is the predicted error of the parameters, over that of independent noise with Poisson
	// samples at the same ε: a root mean square over the steps.
	Error float64 `json:"error"`
	// Bytes is the memory for the sums, which are secret, and their estimates.
	Bytes int `json:"bytes"`
}

// samplingOf returns the sampling of the configuration; where the number of blocks is chosen, that of
// one block, which is the first that is tried.
func samplingOf(c *configs.Config) release.Sampling {
	if _, cyclic := c.Training.Sampling.(*release.Cyclic); cyclic && c.Privacy.Correlation == configs.ChosenBands {
		return &release.Cyclic{Blocks: 1}
	}
	return c.Training.Sampling
}

// correlate fixes the strategy of correlated noise, and for auto the number of blocks. A run that
// goes on keeps its number: it is in the events of its ledger.
func (p *RunPlan) correlate(c *configs.Config, n int, past *past) (err error) {
	if c.Privacy.Correlation == configs.Independent {
		return nil
	}
	sampling, cyclic := c.Training.Sampling.(*release.Cyclic)
	_, steady := c.Privacy.NoiseSchedule.(*release.ConstantNoise)
	_, stepping := p.Policy.(clip.Stepping)
	_, moving := p.Policy.(clip.Moving)
	_, gaussian := noiseOf(c).(release.GaussianNoise)
	refuse := func(key, found, expected string) error {
		return setup.Misfit(key, "is %s with privacy.correlation %s, expected %s", found, c.Privacy.Correlation, expected)
	}
	switch {
	case !cyclic:
		return refuse("training.sampling", c.Training.Sampling.Name(), "cyclic, so that the steps of one example are as far apart as there are bands")
	case stepping || moving:
		return refuse("privacy.clipping", p.Policy.Name(), "a clip norm that is the same in all steps")
	case !steady:
		return refuse("privacy.noise_schedule", c.Privacy.NoiseSchedule.Name(), "constant")
	case !gaussian:
		return refuse("privacy.mechanism", "noise by clients or another kind", "Gaussian noise that is added to sums")
	case c.Optimizer.ByNoise():
		return refuse("optimizer.learning_rate", "by_noise", "a number: the rate by noise is for independent noise")
	case c.Privacy.Correlation == configs.Banded && c.Privacy.Bands > sampling.Blocks:
		return setup.Misfit("privacy.bands", "is %d for training.blocks %d, expected at most as many", c.Privacy.Bands, sampling.Blocks)
	}
	p.workload = optimizer.WorkloadOf(c.Optimizer.Rule, setup.Schedule(c, p.Steps))
	if c.Privacy.Correlation == configs.Banded {
		p.strategy, err = p.workload.Strategy(c.Privacy.Bands)
		return err
	}
	if bands := past.blocks(); bands > 0 {
		p.Sampler = (&release.Cyclic{Blocks: bands}).Sampler(p.ExpectedBatchSize, n)
		p.strategy, err = p.workload.Strategy(bands)
		return err
	}
	if !c.Privacy.Calibrated() {
		return refuse("privacy.noise_multiplier", "given", "calibrated, with privacy.epsilon, so that numbers of bands can be compared at the same ε")
	}
	return p.chooseBands(c, n)
}

// chooseBands takes the number of bands, and as many blocks, with the least predicted error at the
// budget, among 1, 2, 4, …
func (p *RunPlan) chooseBands(c *configs.Config, n int) error {
	least := math.Inf(1)
	var best release.Sampler
	for bands := 1; bands <= min(setup.MostChosenBands, p.Steps); bands *= 2 {
		p.Sampler = (&release.Cyclic{Blocks: bands}).Sampler(p.ExpectedBatchSize, n)
		if p.Sampler.Validate() != nil {
			break // batches are larger than a block
		}
		sigma, err := p.calibrate(noiseOf(c), c.Privacy.NoiseSchedule)
		if err != nil {
			return err
		}
		s, err := p.workload.Strategy(bands)
		if err != nil {
			return err
		}
		if e := sigma * math.Sqrt(p.workload.Error(s.Values())); e < least {
			least, best, p.strategy = e, p.Sampler, s
		}
	}
	p.Sampler = best
	return nil
}

// blocks returns the number of blocks of the turns in a ledger, 0 where there are none.
func (p *past) blocks() int {
	if p == nil {
		return 0
	}
	for _, entry := range p.released.Entries() {
		if turns, ok := entry.Event.(accountant.CyclicSampled); ok {
			return turns.Blocks
		}
	}
	return 0
}

// correlated puts the strategy, if there is one, into the mechanism.
func (p *RunPlan) correlated() (err error) {
	if len(p.strategy.Coefficients) < 2 {
		return nil
	}
	p.Mechanism, err = release.NewCorrelated(p.Mechanism.(*release.Gaussian), p.strategy)
	return err
}

// Correlation returns what is known of correlated noise ahead of the run, for so many values; nil
// without.
func (p *RunPlan) Correlation(values int) (*Correlation, error) {
	if p.workload.Schedule.Steps == 0 {
		return nil, nil
	}
	d := &Correlation{Bands: 1, Coefficients: []float64{1}}
	if len(p.strategy.Coefficients) > 1 {
		d.Bands, d.Coefficients = len(p.strategy.Coefficients), p.strategy.Values()
		d.Bytes = setup.Remembered(d.Bands, values)
	}
	spent, err := p.After(p.MaxSteps)
	if err != nil || p.MaxSteps == 0 {
		return d, err
	}
	target := accountant.Guarantee{Epsilon: spent.Epsilon, Delta: p.Delta, Relation: p.accounts.Relation()}
	poisson := release.Poisson{}.Sampler(p.ExpectedBatchSize, p.Records)
	independent, err := accountant.CalibrateNoiseMultiplier(p.accounts, func(sigma float64) accountant.Event {
		return poisson.Sampled(accountant.Gaussian{NoiseMultiplier: sigma})
	}, p.MaxSteps, target)
	if err != nil {
		return nil, err
	}
	d.Error = p.NoiseMultiplier() / independent * math.Sqrt(p.workload.Error(d.Coefficients)/p.workload.Error([]float64{1}))
	return d, nil
}

// finishEpoch writes the events of the steps that are left of an epoch of which the sampler has
// drawn all samples at once, where this process has not drawn them: nothing of them is released, and
// the next step begins a new epoch. An epoch costs the same however many of its steps are made, so
// nothing is paid twice. Without these events the steps before and behind the gap would count as one
// epoch, although a record may be in two of them.
func (r *Run) finishEpoch() error {
	step, left := account.RestOfEpoch(r.Books.Ledger())
	if left == 0 {
		return nil
	}
	return r.Books.AppendAll(r.Step, step, left)
}

// wholeEpochs refuses noise that changes within an epoch: the bound for its steps is for one law.
func wholeEpochs(sampler release.Sampler, noise release.NoiseSchedule) error {
	_, epochs := sampler.(release.InEpochs)
	if _, constant := noise.(*release.ConstantNoise); epochs && !constant {
		return setup.Misfit("privacy.noise_schedule", "changes from step to step, expected constant noise with training.sampling balls_in_bins")
	}
	return nil
}
