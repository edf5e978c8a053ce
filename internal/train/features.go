package train

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/release"
)

// meanPlan returns the plan of one release ahead of training: the sum of all rows of features, each
// of which has norm 1 and adds at most 1, or of each client's mean of them. It is nil where no mean
// is subtracted.
func meanPlan(c *configs.Config, n int, pool *kernel.Pool) (*release.Plan, error) {
	sigma := c.Features.MeanNoise
	if !c.Features.Any() || sigma == 0 {
		return nil, nil
	}
	mechanism, err := noiseOf(c).Mechanism(&release.ConstantNoise{}, sigma, 1, pool)
	if err != nil {
		return nil, err
	}
	unit, _ := setup.Unit(c)
	return &release.Plan{
		Unit: unit, Records: n, Sampler: data.Full{}, Policy: clip.Flat{ClipNorm: 1}, Mechanism: mechanism,
	}, nil
}

// Schedule returns the events of the first so many steps, after the release of the mean of features
// if there is one. For a run that was extended, the events of the ledger up to its last extension
// come first.
func (p *RunPlan) Schedule(steps int) (*accountant.Ledger, error) {
	if p.behind != nil {
		made := p.stepsIn(p.behind)
		return p.behind.With(p.Event(made), max(0, steps-made)) // the noise of all steps is one
	}
	training, err := p.Plan.Schedule(steps)
	if err != nil || p.Mean == nil {
		return training, err
	}
	l, err := new(accountant.Ledger).With(p.Mean.Event(0), 1)
	if err != nil {
		return nil, err
	}
	return l, account.AddAll(l, training)
}

// afterMean is an accountant that adds the release of the mean of features to every ledger that it
// is asked about.
type afterMean struct {
	account.Accountants
	plan *RunPlan
}

// Guarantee returns the guarantee of the ledger and the release of the mean together.
func (a afterMean) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	all, err := l.With(a.plan.Mean.Event(0), 1)
	if err != nil {
		return accountant.Guarantee{}, err
	}
	return a.Accountants.Guarantee(all, delta)
}

// centre is the private mean of features, and whether it is subtracted from what the network sees.
type centre struct {
	mean       []float32 // nil before it was released, or if there is none
	subtracted bool
}

// centre subtracts the private mean from the rows that the network sees. A run that has not
// released it yet does so now. Killed between the release and the checkpoint, it does so again, and
// the ledger counts both.
func (r *Run) centre() error {
	f := &r.features
	if r.plan.Mean == nil || f.subtracted {
		return nil
	}
	if f.mean == nil {
		if err := r.releaseMean(); err != nil {
			return err
		}
		shrink(f.mean, accountant.NoiseMultiplier(r.plan.Mean.Event(0))/float64(r.plan.Mean.Records))
		if err := r.Save(); err != nil {
			return err
		}
	}
	f.subtracted = true
	if leader := r.together.leader; leader != nil {
		if err := leader.Centre(f.mean); err != nil {
			return err
		}
	}
	return setup.Centre(r.Examples, f.mean, r.Pool)
}

// releaseMean makes the release that [meanPlan] describes. It is entry 0 of the ledger.
func (r *Run) releaseMean() error {
	rows, ok := r.Examples.Train.(*data.Features)
	if !ok {
		return errors.New("train: a mean is to be released of examples that are no features")
	}
	door, err := release.NewDoor(*r.plan.Mean, rows.Shape().Values(), r.Order, r.plan.Allows, r.Pool)
	if err != nil {
		return err
	}
	mean := make([]float32, rows.Shape().Values())
	perRecord := 1 / float64(r.plan.Mean.Records)
	contributions, err := r.records.Rows(rows)
	if err != nil {
		return err
	}
	err = door.Release(beforeTraining, contributions, func(noisy release.Noisy) {
		for i, v := range noisy.Values() {
			mean[noisy.From()+i] = float32(v * perRecord)
		}
	})
	if err != nil {
		return fmt.Errorf("train: the mean of the features: %w", err)
	}
	r.features.mean = mean
	return nil
}

// shrink brings a mean whose values have noise of that standard deviation closer to 0, so that one
// of few records is not subtracted noise and all. It looks at nothing but what was released. The
// expected squared error is less than without, whatever the mean is without noise: the positive
// part of James and Stein's estimate (Baranchik, "A family of minimax estimators of the mean of a
// multivariate normal distribution", Annals of Mathematical Statistics 41, 1970, Theorem 1), which
// holds for three values and more; shorter means stay.
func shrink(mean []float32, deviation float64) {
	noise := float64(max(0, len(mean)-2)) * deviation * deviation
	factor := float32(max(0, 1-noise/max(kernel.SumSquares(mean), math.SmallestNonzeroFloat64)))
	for i := range mean {
		mean[i] *= factor
	}
}

// beforeTraining is the number of the release ahead of step 0: the ledger counts from there.
const beforeTraining = -1

// meansIn counts the releases of the mean of features in a ledger. There is more than one where a
// run was killed between the release and its checkpoint.
func (p *RunPlan) meansIn(l *accountant.Ledger) int {
	if p.Mean == nil {
		return 0
	}
	return account.Counts(l)[p.Mean.Event(0)]
}

// stepsIn counts the releases of steps in a ledger, of steps that were lost too.
func (p *RunPlan) stepsIn(l *accountant.Ledger) int {
	return l.Count() - account.Choices(l) - p.meansIn(l)
}
