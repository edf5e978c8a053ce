package train

import (
	"errors"
	"fmt"
	"path/filepath"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/internal/account"
	"dpsgd/internal/compute"
	"dpsgd/internal/folder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/release"
)

// meanSlot is where checkpoints keep the private mean, beside the slots of the update rule.
const meanSlot = "features.mean"

// source is the data of a run: described in any case, and read where it has to be.
type source struct {
	setup.Outline
	read *data.Split // nil where features of published data are kept, which stand for it
	kept *data.Split // these features, or nil
}

// source finds the data set that the caller has, or the configured one. That is read now, unless it
// is a published one whose features an earlier run has kept.
func (o Options) source(c *configs.Config) (source, error) {
	if set := data.Find(c.Data.Name); o.Source == nil && set != nil && c.Features.Any() {
		if kept := features.Cached(c.Features.Recipe, set, o.features()); kept != nil {
			return source{Outline: setup.OutlineOfNamed(set), kept: kept}, nil
		}
	}
	read, err := o.data(c)
	if err != nil {
		return source{}, err
	}
	return source{Outline: setup.OutlineOfSource(read), read: read}, nil
}

// features is the folder that computed features are kept in.
func (o Options) features() string { return filepath.Join(o.registry(), folder.Features) }

// warning is what has to be said about the files that were read.
func (s source) warning() string {
	if s.read == nil {
		return ""
	}
	return s.read.Warning
}

// seen is what the network sees of the source: its examples, or features of them.
func (s source) seen(c *configs.Config, o Options, pool *kernel.Pool) (*data.Split, error) {
	switch {
	case s.kept != nil:
		return s.kept, nil
	case !c.Features.Any():
		return s.read, nil
	}
	return features.Compute(c.Features.Recipe, s.read, features.Request{Cache: o.features(), Pool: pool, Computed: o.Computed})
}

// centre subtracts the mean from all rows of both sets, in their place.
func centre(rows *data.Split, mean []float32, pool *kernel.Pool) error {
	for _, set := range []data.Set{rows.Train, rows.Test} {
		rows, ok := set.(*data.Features)
		if !ok || rows.Shape().Values() != len(mean) {
			return fmt.Errorf("%w: the mean of features has %d values, expected %d", setup.ErrPlan, len(mean), set.Shape().Values())
		}
		if err := features.Centre(rows, mean, pool); err != nil {
			return err
		}
	}
	return nil
}

// meanPlan is the plan of one release ahead of training: the sum of all rows of features, each of
// which has norm 1 and adds at most 1. It is nil where no mean is subtracted.
func meanPlan(c *configs.Config, n int, pool *kernel.Pool) (*release.Plan, error) {
	sigma := c.Features.MeanNoise
	if !c.Features.Any() || sigma == 0 {
		return nil, nil
	}
	mechanism, err := release.NewGaussian(sigma, random.New(), pool)
	if err != nil {
		return nil, err
	}
	return &release.Plan{
		Unit: unit, Records: n, Sampler: data.Full{}, Policy: clip.Flat{ClipNorm: 1}, Mechanism: mechanism,
	}, nil
}

// Schedule describes the first so many steps, with the release of the mean ahead of them. Of a run
// that was extended it begins with all that was released by then.
func (p *RunPlan) Schedule(steps int) (*accountant.Ledger, error) {
	if p.behind != nil {
		return p.behind.With(p.Event(p.updates), max(0, steps-p.updates)) // the noise of all steps is one
	}
	training, err := p.Plan.Schedule(steps)
	if err != nil || p.Mean == nil {
		return training, err
	}
	l := new(accountant.Ledger)
	for _, e := range append([]accountant.Entry{{Event: p.Mean.Event(0), Count: 1}}, training.Entries()...) {
		if err := l.Add(e.Event, e.Count); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// afterMean is an accountant to whom the release of the mean is known: what it is asked about comes
// on top.
type afterMean struct {
	account.Accountants
	plan *RunPlan
}

// Guarantee is that of the ledger and the mean.
func (a afterMean) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	all, err := l.With(a.plan.Mean.Event(0), 1)
	if err != nil {
		return accountant.Guarantee{}, err
	}
	return a.Accountants.Guarantee(all, delta)
}

// centre subtracts the private mean from the rows that the network sees. A run that has not
// released it yet does so now. Killed between the release and the checkpoint, it does so again, and
// the ledger counts both.
func (r *Run) centre() error {
	if r.plan.Mean == nil || r.centred {
		return nil
	}
	if r.featureMean == nil {
		if err := r.releaseMean(); err != nil {
			return err
		}
		if err := r.save(); err != nil {
			return err
		}
	}
	r.centred = true
	return centre(r.examples, r.featureMean, r.pool)
}

// releaseMean is the release that [meanPlan] describes. It is entry 0 of the ledger.
func (r *Run) releaseMean() error {
	rows, ok := r.examples.Train.(*data.Features)
	if !ok {
		return errors.New("train: a mean is to be released of examples that are no features")
	}
	door, err := release.NewDoor(*r.plan.Mean, rows.Shape().Values(), r.journal, r.plan.Allows, r.pool)
	if err != nil {
		return err
	}
	mean := make([]float32, rows.Shape().Values())
	perRecord := 1 / float64(rows.Len())
	contributions, err := compute.NewRows(rows)
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
	r.featureMean = mean
	return nil
}

// beforeTraining is the number of the release ahead of step 0: the ledger counts from there.
const beforeTraining = -1

// means counts the releases of the mean in the ledger: more than one where a run was killed in
// between.
func (r *Run) means() int {
	if r.plan.Mean == nil {
		return 0
	}
	n, event := 0, r.plan.Mean.Event(0)
	for _, e := range r.journal.Ledger().Entries() {
		if e.Event == event {
			n += e.Count
		}
	}
	return n
}
