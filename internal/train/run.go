package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/compute"
	"dpsgd/internal/examples"
	"dpsgd/internal/folder"
	"dpsgd/internal/group"
	"dpsgd/internal/kernel"
	"dpsgd/internal/ranks"
	"dpsgd/internal/records"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/trained"
	"dpsgd/model"
	"dpsgd/optimizer"
	"dpsgd/release"
)

// ErrUntrained: a run that was killed has spent its budget and has not one step to show for it.
var ErrUntrained = errors.New("train: there is no trained model")

// Options are what a run needs besides its configuration. None of them changes what is computed.
type Options struct {
	DataDir string // of named data sets; data.DefaultDir when empty
	// DataFolder is where the data of a person's own lies now, in place of the configured folder, for
	// runs that are there. It keeps its name in the ledger.
	DataFolder string
	RunsDir    string // parent of new runs; "runs" when empty
	Name       string // base of the folder's name when the configuration has none
	Folder     string // exact name of the folder below RunsDir, whatever the configuration says; "" in most runs
	// Registry is the folder with the ledger of data sets that a new run registers in; RunsDir when
	// empty.
	Registry string
	// Apart is a run that shares no file with others until somebody collects it: see books.Collect.
	Apart   bool
	Watcher Watcher
	Threads int // in place of what the configuration says; 0 is what it says
	// Computed is told how many pictures' features are computed, or are checked, of how many.
	Computed func(done, total int)
	// Waits is told in one line that the run waits for a person to mend something, such as a disk
	// that is full; nil tells the Watcher.
	Waits func(message string)
	// Source is used instead of reading the configured data, by callers that make several runs with
	// one data set.
	Source *data.Split

	// Group is the processes that add up the run's sums together, of which this one is rank 0; nil is
	// this one alone.
	Group group.Group
	// Patience is how long to wait at least for another rank; 0 is ranks.Patience.
	Patience time.Duration

	engines compute.Choice        // that a run goes on with; none in a new one
	account accountant.Accountant // in place of the configured one, for tests; nil in every other run
}

// examples says where the examples lie and features are kept: below the folder with the ledger of data
// sets.
func (o Options) examples() examples.Request {
	return examples.Request{
		DataDir: o.DataDir, DataFolder: o.DataFolder, Features: filepath.Join(o.registry(), folder.Features), Given: o.Source, Computed: o.Computed,
	}
}

// accountants are the configured ones, under a relation.
func (o Options) accountants(c *configs.Config, relation accountant.Relation) (account.Accountants, error) {
	if o.account != nil {
		return account.WithRDP(o.account)
	}
	return account.New(c.Privacy.Accountant, relation)
}

// Run is one training run with its folder. Close releases it.
type Run struct {
	Dir string // the run's folder

	config      *configs.Config
	source      *examples.Source
	examples    *data.Split // as the network sees them: those of source, or features of them
	featureMean []float32   // private; nil before it was released, or if there is none
	centred     bool        // whether the mean is subtracted from examples
	plan        *RunPlan
	identity    string // of the plan, and its hash
	planHash    string
	model       *model.Model
	initial     string // SHA-256 of the file with the weights that it begins with; "" if they are random
	update      *optimizer.Update
	schedule    optimizer.Schedule
	mean        *optimizer.Mean // of the parameters, which is evaluated and written
	records     *records.Records
	extensions  []folder.Extension
	engines     compute.Choice // that the folder held; none in a new run
	evaluator   *compute.Evaluator
	door        *release.Door
	leader      *ranks.Leader // nil where this process is alone
	bounds      []int         // of the examples of each rank, where each has its own
	ranks       int           // that the run has had at most
	physical    int           // examples in a physical batch
	patience    time.Duration
	count       float64 // what the last release says of its examples' norms, under a policy that counts
	journal     *books.Books
	order       *run.Order // of checkpoints and events
	pool        *kernel.Pool
	watcher     Watcher
	diagnoses   *diagnostics
	metrics     *run.Copies // of metrics.jsonl

	where      string                   // the flags that say where the data is
	registered checkpoints.Registration // how the run appears in the ledger of its data

	step       int // updates that the parameters contain
	evaluation compute.Evaluation
	byClass    *score.Matrix // of that
	meter      meter
	saved      int             // step of the newest checkpoint, once Fit has begun
	tried      int             // step of the newest attempt to save one
	ctx        context.Context // of Fit, which also ends waiting for a disk; nil before
	waits      func(message string)
	warned     int // fallbacks of the plan that the watcher knows of

	resumedAt int
	started   time.Time
	stepped   int // steps of this process
	stepTime  time.Duration
}

// Create prepares a new run: it reads the data, fixes the plan, declares the network, and only when
// all of that has worked makes the run's folder.
func Create(c *configs.Config, o Options) (*Run, error) {
	r, err := prepare(c, o, nil)
	if err != nil {
		return nil, err
	}
	if err := r.makeFolder(o); err != nil {
		r.pool.Close()
		return nil, err
	}
	if err := r.fillFolder(o); err != nil {
		r.pool.Close()
		if r.journal != nil {
			r.journal.Close()
		}
		return nil, errors.Join(err, os.RemoveAll(r.Dir))
	}
	return r, nil
}

// Open prepares a run that was started before to go on from its last checkpoint, with the spend of
// its ledger.
func Open(dir string, o Options) (*Run, error) {
	r, begun, err := reopen(dir, o)
	if err != nil {
		return nil, err
	}
	if err := r.goOn(begun); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// reopen restores a run that was started before, and writes nothing; begun is as restore says.
func reopen(dir string, o Options) (r *Run, begun bool, err error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, false, err
	}
	journal, err := books.Open(dir)
	if err != nil {
		return nil, false, err
	}
	if o.Apart {
		journal.Apart()
	}
	o.engines = compute.ReadChoice(dir)
	extensions, err := folder.ReadExtensions(dir)
	if err == nil {
		r, err = prepare(c, o, &past{journal.Ledger(), extensions})
	}
	if err != nil {
		journal.Close()
		return nil, false, err
	}
	r.Dir, r.journal, r.order = dir, journal, run.NewOrder(journal)
	if err = r.openDoor(); err == nil {
		begun, err = r.restore()
	}
	if err == nil {
		r.registered, err = books.Registration(r.config, r.source.Outline, r.journal.Registry, r.Dir)
	}
	if err != nil {
		r.Close()
		return nil, false, err
	}
	return r, begun, nil
}

// goOn makes the folder of a restored run that of one at work.
func (r *Run) goOn(begun bool) error {
	all, err := r.plan.Schedule(r.plan.MaxSteps)
	if err != nil {
		return err
	}
	if err := r.journal.Settle(r.registered, all); err != nil {
		return err
	}
	if len(r.extensions) > 0 {
		if err := checkpoints.WriteFileAtomic(r.path(folder.Plan), []byte(r.identity), folder.FilePerm); err != nil {
			return err
		}
	}
	r.keepEngines()
	r.openDiagnostics()
	r.openCopies()
	if begun {
		return nil
	}
	// Killed before the first checkpoint, and nothing was released: the run starts here.
	r.started = time.Now()
	return r.save()
}

// prepare builds everything of a run that needs no folder. Past is nil for a new one.
func prepare(c *configs.Config, o Options, past *past) (*Run, error) {
	request := o.examples()
	if err := cmp.Or(o.undiagnosed(c), request.Fit(c)); err != nil {
		return nil, err
	}
	source, bounds, err := ranks.Find(o.Group, c, request)
	if err != nil {
		return nil, err
	}
	r := &Run{config: c, source: source, bounds: bounds, patience: o.Patience, watcher: o.Watcher, waits: o.Waits, engines: o.engines, where: request.Flags()}
	if r.watcher == nil {
		r.watcher = silent{}
	}
	if source.Warning() != "" && o.Source == nil {
		r.watcher.Warned(source.Warning())
	}
	r.pool = kernel.NewPool(cmp.Or(o.Threads, setup.Threads(c)))
	if err := r.build(o, past); err != nil {
		r.pool.Close()
		return nil, err
	}
	return r, nil
}

// build makes plan, model, and the graphs of training and evaluation.
func (r *Run) build(o Options, past *past) error {
	c, source := r.config, r.source
	var err error
	if r.plan, err = newPlan(c, setup.Records(c, source.Outline), o, past, r.pool); err != nil {
		return err
	}
	if past == nil {
		if err := r.plan.affordsAny(); err != nil {
			return err
		}
	}
	if r.model, err = setup.Model(c, source.Shape, source.Classes); err != nil {
		return err
	}
	if r.initial, err = setup.Start(c, r.model); err != nil {
		return err
	}
	if past != nil {
		r.extensions = past.extensions
	}
	r.identity = r.plan.identity(c, source.Outline, r.initial) + ofExtensions(r.extensions)
	r.planHash = hashOf(r.identity)
	if past == nil {
		if err := source.Check(); err != nil {
			return err
		}
	}
	if r.examples, err = source.Seen(r.pool); err != nil {
		return err
	}
	// Reading leaves garbage as large as the data, and the buffers of the graphs would come on top
	// of it.
	debug.FreeOSMemory()
	r.physical = ranks.Physical(c, r.plan.ExpectedBatchSize, source.Examples, o.size())
	if err := r.compile(); err != nil {
		return err
	}
	return r.lead(o.Group)
}

// compile makes the update rule and the mean, and declares the graphs of training and evaluation.
func (r *Run) compile() error {
	var err error
	if r.update, r.schedule, err = setup.Update(r.config, len(r.model.Values), r.plan.Steps, r.pool.Threads(), r.plan.Deviation); err != nil {
		return err
	}
	if r.mean, err = optimizer.NewMean(r.config.Training.Average, r.model.Values, r.plan.Steps); err != nil {
		return err
	}
	normalisation := setup.Normalisation(r.config, r.source.Shape.Channels)
	if r.evaluator, err = compute.NewEvaluator(r.model, r.examples.Test, normalisation, r.pool); err != nil {
		return err
	}
	r.records, err = records.New(r.config, records.Work{
		Model: r.model, Source: r.source, Examples: r.examples, Policy: r.plan.Policy, Physical: r.physical, Engines: r.engines, Pool: r.pool,
	})
	return err
}

// parent is the folder that gets the run's folder, and registry the one with the ledger of its
// data.
func (o Options) parent() string   { return cmp.Or(o.RunsDir, "runs") }
func (o Options) registry() string { return cmp.Or(o.Registry, o.parent()) }

// makeFolder makes the run's folder, named by the configuration or with the first free number.
func (r *Run) makeFolder(o Options) (err error) {
	r.Dir, err = folder.New(o.parent(), cmp.Or(o.Folder, r.config.Run.Name), o.Name)
	return err
}

// fillFolder writes what a run has before its first step.
func (r *Run) fillFolder(o Options) error {
	planned, err := r.plan.Schedule(r.plan.MaxSteps)
	if err != nil {
		return err
	}
	begin := books.Begin
	if o.Apart {
		begin = books.BeginApart
	}
	if r.journal, r.registered, err = begin(r.Dir, o.registry(), r.config, (*configs.Config).YAML, r.source.Outline, planned); err != nil {
		return err
	}
	r.order = run.NewOrder(r.journal)
	if err := r.openDoor(); err != nil {
		return err
	}
	if err := checkpoints.WriteFileAtomic(r.path(folder.Plan), []byte(r.identity), folder.FilePerm); err != nil {
		return err
	}
	r.keepEngines()
	r.openDiagnostics()
	r.openCopies()
	r.started = time.Now()
	return r.save()
}

// keepEngines keeps the choice of engines in the folder, so that the run goes on as fast as it
// began. It trains without that file, too.
func (r *Run) keepEngines() {
	gradients := r.records.Gradients
	if gradients == nil {
		return
	}
	if err := gradients.Choice(r.config.Performance.Engine).Keep(r.Dir); err != nil {
		r.watcher.Warned(fmt.Sprintf("train: the choice of engines is not kept, and the next start chooses again: %v", err))
	}
}

// restore loads the newest checkpoint, after checking it against the ledger and the plan. It
// returns false for a run without one that has released nothing.
func (r *Run) restore() (begun bool, err error) {
	state, path, err := checkpoints.Latest(r.path(folder.Checkpoints))
	switch {
	case errors.Is(err, checkpoints.ErrSkipped):
		r.watcher.Warned(err.Error())
	case errors.Is(err, checkpoints.ErrNoCheckpoint) && r.journal.Len() == 0:
		return false, nil
	case err != nil:
		return false, err
	}
	if err := r.journal.Check(state.Claim()); err != nil {
		return false, err
	}
	if state.Unreleased {
		return false, fmt.Errorf("%w: %s is of a run whose steps are no releases, expected one of noisy steps", books.ErrOtherPlan, path)
	}
	if state.PlanHash != r.planHash && !r.wasPlan(state.PlanHash) {
		return false, r.otherPlan(path, state.PlanHash)
	}
	if len(state.Parameters) != len(r.model.Values) {
		return false, fmt.Errorf("%w: %s holds %d parameters, expected %d", books.ErrOtherPlan, path, len(state.Parameters), len(r.model.Values))
	}
	if err := r.mean.Restore(state.Slots); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	if mean := state.Slots[trained.MeanOfFeatures]; mean != nil {
		r.featureMean = mean
		delete(state.Slots, trained.MeanOfFeatures)
	}
	if err := r.restoreRanks(state.Slots); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	if err := r.restoreClipNorm(state.Slots); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	if err := r.update.Restore(optimizer.State{Step: state.OptimizerStep, Slots: state.Slots}); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	copy(r.model.Values, state.Parameters)
	r.step, r.resumedAt = state.Step, state.Step
	return true, nil
}

// Close releases the ledger and the workers.
func (r *Run) Close() error {
	r.order.Close()
	r.pool.Close()
	return r.journal.Close()
}

func (r *Run) path(name string) string { return filepath.Join(r.Dir, name) }

func (r *Run) overview() Overview {
	o := Overview{
		Run: r.Dir, Data: r.source.Name, Examples: r.source.Examples, Parameters: len(r.model.Values), Plan: r.plan,
		ResumedAt: r.resumedAt, LedgerEntries: r.journal.Len(), PrivateDiagnosed: r.diagnoses != nil,
	}
	if r.leader != nil {
		o.Processes = r.leader.Processes
	}
	return o
}

// silent is the Watcher of nobody.
type silent struct{}

func (silent) Started(Overview) {}
func (silent) Stepped(Progress) {}
func (silent) Warned(string)    {}
func (silent) Finished(Result)  {}
