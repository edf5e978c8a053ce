package train

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/mpi"
	"dpsgd/internal/ranks"
	"dpsgd/internal/records"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/trained"
	"dpsgd/optimizer"
	"dpsgd/release"
)

// Options are what a run needs besides its configuration. None of them changes what is computed.
type Options struct {
	run.Options
	Watcher

	// Group is the processes that add up the run's sums together, of which this one is rank 0; nil
	// is this one alone.
	Group mpi.Group
	// Patience is how long to wait at least for another rank; 0 is ranks.Patience.
	Patience time.Duration

	account accountant.Accountant // in place of the configured one, for tests; nil in every other run
}

// accountants returns the configured accountant and RDP, under a relation.
func (o Options) accountants(c *configs.Config, relation accountant.Relation) (account.Accountants, error) {
	if o.account != nil {
		return account.WithRDP(o.account)
	}
	return account.New(c.Privacy.Accountant, relation)
}

// Run is one run of DP-SGD: the [run.Job] of noisy steps. Close releases it.
type Run struct {
	*run.Run
	*run.Network

	plan       *RunPlan
	update     *optimizer.Update
	records    *records.Records
	extensions []folder.Extension
	door       *release.Door
	together   processes
	features   centre  // what is subtracted from features
	physical   int     // examples in a physical batch
	count      float64 // what the last release says of its examples' norms, under a policy that counts
	meter      meter
	diagnoses  *diagnostics
	watcher    Watcher
	warned     int // fallbacks of the plan that the watcher knows of
	result     Result
}

// Create prepares a new run: it reads the data, fixes the plan, declares the network, and only when
// all of that has worked makes the run's folder.
func Create(c *configs.Config, o Options) (*Run, error) {
	r := new(Run)
	return run.Create(c, r.found(o), func(base *run.Run) (*Run, error) { return r, r.build(base, o, nil) })
}

// Open prepares an earlier run to go on from its last checkpoint, with the spend of its ledger.
func Open(dir string, o Options) (*Run, error) {
	r, err := reopen(dir, o)
	if err == nil {
		if err = r.GoOn(); err != nil {
			r.Close()
		}
	}
	return r, err
}

// reopen restores a run that was started before, and writes nothing.
func reopen(dir string, o Options) (*Run, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	r := new(Run)
	r, _, err = run.Reopen(dir, c, r.found(o), func(base *run.Run) (*Run, error) {
		var err error
		if r.extensions, err = folder.ReadExtensions(dir); err != nil || base.Books == nil {
			return r, cmp.Or(err, fmt.Errorf("%w: %s was trained with privacy.none, expected a run with a guarantee", books.ErrNotPrivate, dir))
		}
		return r, r.build(base, o, &past{base.Books.Ledger(), r.extensions})
	})
	return r, err
}

// found returns the options, with a Find by which all ranks find the examples together. It refuses
// private diagnostics in a run of several ranks.
func (r *Run) found(o Options) run.Options {
	common := o.Options
	common.Find = func(c *configs.Config, request setup.Request) (source *setup.Source, err error) {
		if o.size() > 1 && c.Run.PrivateDiagnostics {
			return nil, setup.Misfit("run.private_diagnostics", "is true for %d ranks, expected false: rank 0 would see its part of each batch alone", o.size())
		}
		source, r.together.bounds, err = ranks.Find(o.Group, c, request)
		return source, err
	}
	return common
}

// build makes plan, network, and the graph of training. Past is nil for a new run.
func (r *Run) build(base *run.Run, o Options, past *past) error {
	r.Run, r.together.patience, r.watcher = base, o.Patience, o.Watcher
	c, source := r.Config, r.Source
	var err error
	if r.plan, err = newPlan(c, setup.Records(c, source.Outline), o, past, r.Pool); err != nil {
		return err
	}
	if past == nil {
		if err := r.plan.affordsAny(); err != nil {
			return err
		}
	}
	if r.Network, err = base.Declare(); err != nil {
		return err
	}
	r.physical = min(c.Training.PhysicalBatchSize, source.Examples)
	if err := r.compile(); err != nil {
		return err
	}
	return r.lead(o.Group)
}

// compile makes the update rule and the mean, and declares the graph of training.
func (r *Run) compile() error {
	var err error
	if r.update, r.Schedule, err = setup.Update(r.Config, len(r.Model.Values), r.plan.Steps, r.Pool.Threads(), r.plan.Deviation); err != nil {
		return err
	}
	if r.Mean, err = optimizer.NewMean(r.Config.Training.Average, r.Model.Values, r.plan.Steps); err != nil {
		return err
	}
	var engines gradients.Choice // none in a new run
	if !r.New() {
		engines = gradients.ReadChoice(r.Dir)
	}
	r.records, err = records.New(r.Config, records.Work{
		Model: r.Model, Source: r.Source, Examples: r.Examples, Policy: r.plan.Policy, Physical: r.physical, Engines: engines, Pool: r.Pool,
	})
	return err
}

// Identity returns the identity of the plan with its extensions, see [run.Job].
func (r *Run) Identity() string {
	return r.plan.identity(r.Config, r.Source.Outline, r.Initial) + ofExtensions(r.extensions)
}

// Planned returns the schedule of all steps that the budget allows.
func (r *Run) Planned() (*accountant.Ledger, error) { return r.plan.Schedule(r.plan.MaxSteps) }

// Ready opens the door, and the files that a run writes beside its checkpoints.
func (r *Run) Ready() error {
	if err := r.finishEpoch(); err != nil {
		return err
	}
	if err := r.keepOrder(); err != nil {
		return err
	}
	if err := r.openDoor(); err != nil {
		return err
	}
	r.keepEngines()
	r.OpenMetrics()
	r.openDiagnostics()
	return nil
}

// Restore takes in a checkpoint of this plan, or of one that the run had before it was extended.
func (r *Run) Restore(s *checkpoints.State, path string) error {
	if s == nil {
		return nil
	}
	if s.Unreleased {
		return fmt.Errorf("%w: %s is of a run whose steps are no releases, expected one of noisy steps", books.ErrOtherPlan, path)
	}
	if s.PlanHash != r.PlanHash && !slices.ContainsFunc(r.extensions, func(e folder.Extension) bool { return e.Plan == s.PlanHash }) {
		return r.OtherPlan(path, s.PlanHash)
	}
	if err := r.Fits(s, path); err != nil {
		return err
	}
	if err := r.restoreSlots(s.Slots); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return r.Network.Restore(s, path, r.update.Restore)
}

// State returns everything that a checkpoint of the run keeps.
func (r *Run) State() *checkpoints.State {
	s := r.View(r.update.View())
	r.keepSlots(s.Slots)
	return s
}

// Where checkpoints keep two numbers beside the slots of the update rule: a clip norm that follows
// the norms of gradients, and the most ranks that the run has had, as its statement says whom it
// trusted.
const (
	clipNormSlot = "privacy.clip_norm"
	ranksSlot    = "run.ranks"
)

// keepSlots puts into a checkpoint what the run has learnt beside its parameters. It is public.
func (r *Run) keepSlots(slots map[string][]float32) {
	if r.features.mean != nil {
		slots[trained.MeanOfFeatures] = r.features.mean
	}
	if counting := r.counting(); counting != nil {
		slots[clipNormSlot] = []float32{float32(counting.ClipNorm())}
	}
	if r.together.ranks > 1 {
		slots[ranksSlot] = []float32{float32(r.together.ranks)}
	}
}

// restoreSlots takes out of a checkpoint what keepSlots put in. Whatever a checkpoint says of the
// clip norm, the bound of a release is that of the configuration.
func (r *Run) restoreSlots(slots map[string][]float32) error {
	if mean := slots[trained.MeanOfFeatures]; mean != nil {
		r.features.mean = mean
		delete(slots, trained.MeanOfFeatures)
	}
	if slots[ranksSlot] != nil {
		ranks, err := takeNumber(slots, ranksSlot)
		if err != nil {
			return err
		}
		r.together.ranks = max(1, int(ranks))
	}
	counting := r.counting()
	if counting == nil {
		return nil
	}
	norm, err := takeNumber(slots, clipNormSlot)
	if err != nil {
		return err
	}
	return counting.Restore(norm)
}

// takeNumber takes the one number of a slot out of a checkpoint.
func takeNumber(slots map[string][]float32, name string) (float64, error) {
	kept := slots[name]
	if len(kept) != 1 {
		return 0, fmt.Errorf("train: found %d values of %q, expected 1: %w", len(kept), name, optimizer.ErrState)
	}
	delete(slots, name)
	return float64(kept[0]), nil
}

// keepOrder refuses to go on with records in another order than at the first release where samples go
// by their places: one in another block could be in more samples than the account has. Nor do
// clients or persons go on with other examples: those of one could be with several then.
func (r *Run) keepOrder() error {
	key := "training.sampling " + r.Config.Training.Sampling.Name()
	if r.Config.Federated.Any() {
		key = "federated.clients"
	} else if r.Source.Own != nil {
		key = "privacy.unit person"
	} else if _, byPlace := r.plan.Sampler.(release.Separated); !byPlace {
		return nil
	}
	now, err := data.ContentOf(r.Examples.Train)
	if err != nil {
		return err
	}
	if r.Source.Own != nil { // samples go by the places of persons, which follow from the owners of the examples
		now = run.HashOf(fmt.Sprint(now, r.Source.Own))
	}
	path := r.Path(folder.Order)
	if r.Books.Len() == 0 {
		return folder.Replace(path, []byte(now))
	}
	began, err := disk.ReadFile(path)
	if err == nil && string(began) != now {
		err = fmt.Errorf("%s: found other training examples, or another order of them, than at the first release", path)
	}
	if err != nil {
		return fmt.Errorf("%w: %w; expected those of the first release in their order, because %s goes by their places", books.ErrOtherPlan, err, key)
	}
	return nil
}

// keepEngines keeps the choice of engines in the folder, so that the run goes on as fast as it
// began. It trains without that file, too.
func (r *Run) keepEngines() {
	gradients := r.records.Gradients
	if gradients == nil {
		return
	}
	if err := gradients.Choice(r.Config.Performance.Engine).Keep(r.Dir); err != nil {
		r.Warn(fmt.Sprintf("train: the choice of engines is not kept, and the next start chooses again: %v", err))
	}
}

func (r *Run) overview() Overview {
	o := Overview{
		Run: r.Dir, Data: r.Source.Name, Examples: r.Source.Examples, Parameters: len(r.Model.Values), Plan: r.plan,
		ResumedAt: r.ResumedAt, LedgerEntries: r.Books.Len(), PrivateDiagnosed: r.diagnoses != nil,
	}
	if leader := r.together.leader; leader != nil {
		o.Processes = leader.Processes
	}
	return o
}
