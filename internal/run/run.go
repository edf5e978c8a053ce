package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
)

// Options of a run stand beside its configuration. None of them changes what is computed.
type Options struct {
	setup.Request
	RunsDir string // parent of new runs; "runs" when empty
	Name    string // base of the folder's name when the configuration has none
	Folder  string // the folder's name in any case; "" leaves it to the configuration
	// Registry is the folder with the ledger of data sets that a new run registers in; RunsDir when
	// empty.
	Registry string
	// Apart says that the run shares no file with others until somebody collects it: books.Collect.
	Apart   bool
	Threads int // in place of what the configuration says; 0 is what it says
	// Find finds the examples; if nil, the request does.
	Find func(*configs.Config, setup.Request) (*setup.Source, error)
	// Fits returns an error if the run needs more memory than there is; nil is [setup.CheckMemory].
	Fits   func(*configs.Config, setup.Outline) error
	Warned func(message string) // nil tells nobody
	// Waits is told in one line that the run waits for a person to mend something, such as a disk
	// that is full; nil tells Warned.
	Waits func(message string)
}

// parent is the folder that gets the run's folder, and registry the one with the ledger of its
// data.
func (o Options) parent() string   { return cmp.Or(o.RunsDir, "runs") }
func (o Options) registry() string { return cmp.Or(o.Registry, o.parent()) }

// Located returns the request with the folder that keeps features: the one given, or else the one
// beside the ledger of data sets.
func (o Options) Located() setup.Request {
	o.Request.Features = cmp.Or(o.Request.Features, filepath.Join(o.registry(), folder.Features))
	return o.Request
}

// Run is a run with its folder, and what every kind of it has. Close releases it.
type Run struct {
	Dir        string // the run's folder; "" before it is made
	Config     *configs.Config
	Source     *setup.Source
	Examples   *data.Split // as the network sees them: those of the source, or features of them
	Pool       *kernel.Pool
	Books      *books.Books                 // nil without a promise, and without a folder
	Registered checkpoints.Registration     // how the run appears in the ledger of its data
	Order      *Order                       // of checkpoints and events
	PlanHash   string                       // of the job's identity
	Step       int                          // steps behind the run
	ResumedAt  int                          // Step when this part began; 0 for a new run
	Began      time.Time                    // when this part of the run began
	ConfigText func(*configs.Config) []byte // formats the configuration for the folder

	job      Job
	lock     *checkpoints.Lock // on the configuration of a run that has no ledger to lock; else nil
	options  Options
	identity string
	copies   *Copies         // of metrics.jsonl
	begun    bool            // whether there is a checkpoint to go on from
	saved    int             // step of the newest checkpoint, once steps are taken
	tried    int             // step of the newest attempt to save one
	ctx      context.Context // of CarryOut, which also ends waiting for a disk; nil before
	stepped  int             // steps of this process
	stepTime time.Duration   // that these steps took
}

// Create prepares a new run: it reads the data, has the job built, and only when all of that has
// worked makes the run's folder.
func Create[J Job](c *configs.Config, o Options, build func(*Run) (J, error)) (job J, err error) {
	job, r, err := Prepare(c, o, build)
	if err == nil {
		err = r.makeFolder()
	}
	return job, err
}

// Prepare prepares a new run as Create does, but makes no folder.
func Prepare[J Job](c *configs.Config, o Options, build func(*Run) (J, error)) (J, *Run, error) {
	return prepare(c, o, nil, build)
}

// Open prepares an earlier run to go on from its last checkpoint, with the spend of its ledger.
func Open[J Job](dir string, c *configs.Config, o Options, build func(*Run) (J, error)) (J, error) {
	job, r, err := Reopen(dir, c, o, build)
	if err == nil {
		if err = r.GoOn(); err != nil {
			r.Close()
		}
	}
	return job, err
}

// Reopen restores a run that was started before, and writes nothing; [Run.GoOn] does.
func Reopen[J Job](dir string, c *configs.Config, o Options, build func(*Run) (J, error)) (job J, r *Run, err error) {
	if err := folder.OwnFiles(dir, cmp.Or(o.Registry, filepath.Dir(dir))); err != nil {
		return job, nil, err
	}
	opened := &Run{Dir: dir}
	if err := opened.openBooks(c, o); err != nil {
		return job, nil, err
	}
	if opened.Books != nil {
		o.Registry = cmp.Or(o.Registry, opened.Books.Registry)
	}
	if job, r, err = prepare(c, o, opened, build); err != nil {
		opened.closeBooks()
		return job, nil, err
	}
	if err = r.restore(); err != nil {
		r.Close()
	}
	return job, r, err
}

// openBooks opens the ledgers of a run that promises something, and locks the folder in any case.
func (r *Run) openBooks(c *configs.Config, o Options) (err error) {
	if c.Privacy.None {
		if folder.HoldsAny(r.Dir, folder.Ledger) {
			return fmt.Errorf("%w: %s holds a ledger, and its %s says privacy.none; expected the configuration that the ledger was begun with", books.ErrOtherPlan, r.Dir, folder.Config)
		}
		r.lock, err = checkpoints.TakeLock(r.Path(folder.Config))
		return err
	}
	if r.Books, err = books.Open(r.Dir); err == nil && o.Apart {
		r.Books.Apart()
	}
	return err
}

// prepare finds the examples, if the run fits into memory, and builds the job. opened is a run
// whose folder and ledgers are open, or nil for a new one.
func prepare[J Job](c *configs.Config, o Options, opened *Run, build func(*Run) (J, error)) (job J, r *Run, err error) {
	request := o.Located()
	fits := o.Fits
	if fits == nil {
		fits = setup.CheckMemory
	}
	if err := request.Fit(c, fits); err != nil {
		return job, nil, err
	}
	find := o.Find
	if find == nil {
		find = func(c *configs.Config, request setup.Request) (*setup.Source, error) { return request.Find(c) }
	}
	source, err := find(c, request)
	if err != nil {
		return job, nil, err
	}
	if r = opened; r == nil {
		r = new(Run)
	}
	r.Config, r.Source, r.options, r.ConfigText = c, source, o, (*configs.Config).YAML
	r.order()
	if w := source.Warning(); w != "" && o.Given == nil {
		r.Warn(w)
	}
	r.Pool = kernel.NewPool(cmp.Or(o.Threads, setup.Threads(c)))
	if job, err = build(r); err != nil {
		r.Pool.Close()
		return job, nil, err
	}
	r.job, r.identity = job, job.Identity()
	r.PlanHash = HashOf(r.identity)
	return job, r, nil
}

// order sets r.Order to a new one that writes events to the books that the run has by now, if any.
func (r *Run) order() {
	r.Order = NewOrder(nil)
	if r.Books != nil {
		r.Order = NewOrder(r.Books)
	}
}

// New reports whether the run has no folder yet.
func (r *Run) New() bool { return r.Dir == "" }

// See sets r.Examples to what a network sees of the examples. For a new run it first makes sure
// that all of them can be read.
func (r *Run) See() (err error) {
	if r.New() {
		if err := r.Source.Check(); err != nil {
			return err
		}
	}
	r.Examples, err = r.Source.Seen(r.Pool)
	// Reading leaves garbage as large as the data, and the buffers of the graphs would come on top
	// of it.
	debug.FreeOSMemory()
	return err
}

// makeFolder makes the run's folder, named by the configuration or with the first free number.
// Where it cannot be filled it is taken away again.
func (r *Run) makeFolder() error {
	dir, err := folder.New(r.options.parent(), cmp.Or(r.options.Folder, r.Config.Run.Name), r.options.Name)
	if err != nil {
		r.Close()
		return err
	}
	r.Dir = dir
	if err := r.fill(); err != nil {
		r.Close()
		return errors.Join(err, discard(dir))
	}
	return nil
}

// discard takes away the folder of a run that has released nothing. Wherever it is stopped, what is
// left can be read: the ledger goes after all that shows that there was one, and before its
// configuration.
func discard(dir string) error {
	entries, err := disk.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != folder.Ledger && e.Name() != folder.Config {
			err = errors.Join(err, disk.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	for _, name := range []string{folder.Ledger, folder.Config} {
		if err == nil {
			err = disk.System.SyncDir(dir)
		}
		if err == nil {
			err = disk.RemoveAll(filepath.Join(dir, name))
		}
	}
	if err != nil {
		return err
	}
	return disk.Remove(dir)
}

// fill writes what a run has before its first step, from the configuration to a first checkpoint.
func (r *Run) fill() error {
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.keepIdentity(); err != nil {
		return err
	}
	if err := r.job.Ready(); err != nil {
		return err
	}
	r.Began = time.Now()
	return r.Save()
}

// begin writes the configuration, and creates the ledgers of a run that promises something.
func (r *Run) begin() (err error) {
	if r.Config.Privacy.Ordinary() {
		if err := books.RefuseUnprotected(r.options.registry(), r.Config, r.Source.Outline); err != nil {
			return err
		}
	}
	if r.Config.Privacy.None {
		if err := checkpoints.WriteFileAtomic(r.Path(folder.Config), r.ConfigText(r.Config), folder.FilePerm); err != nil {
			return err
		}
		r.lock, err = checkpoints.TakeLock(r.Path(folder.Config))
		return err
	}
	planned, err := r.job.Planned()
	if err != nil {
		return err
	}
	r.Books, r.Registered, err = books.Begin(r.Dir, r.options.registry(), r.Config, r.ConfigText, r.Source.Outline, planned, r.options.Apart)
	r.order()
	return err
}

// GoOn makes a restored run ready for its next step: it settles the ledgers, and writes what the
// folder lacks.
func (r *Run) GoOn() error {
	if r.Books != nil {
		planned, err := r.job.Planned()
		if err != nil {
			return err
		}
		if err := r.Books.Settle(r.Registered, planned); err != nil {
			return err
		}
	}
	if err := r.keepIdentity(); err != nil {
		return err
	}
	if err := r.job.Ready(); err != nil {
		return err
	}
	if r.begun {
		return nil
	}
	// Killed before the first checkpoint, and nothing was released: the run starts here.
	r.Began = time.Now()
	return r.Save()
}

// Close waits for a checkpoint that is being written, and releases the ledgers and the workers.
func (r *Run) Close() error {
	r.Order.Close()
	r.Pool.Close()
	return r.closeBooks()
}

func (r *Run) closeBooks() error {
	switch {
	case r.lock != nil:
		return r.lock.Close()
	case r.Books != nil:
		return r.Books.Close()
	}
	return nil
}

// Path returns the path of the file with that name in the run's folder.
func (r *Run) Path(name string) string { return filepath.Join(r.Dir, name) }

// Name returns the name of the run's folder, without where it lies: a statement may be published.
func (r *Run) Name() string { return folder.Name(r.Dir) }

// Warn tells about something that a person should know and that did not stop the run.
func (r *Run) Warn(message string) {
	if r.options.Warned != nil {
		r.options.Warned(message)
	}
}

// Seconds returns how long this part of the run has taken. Earlier parts do not count: their times
// are not kept, because a step takes as long as its batch is large.
func (r *Run) Seconds() float64 { return time.Since(r.Began).Seconds() }

// Took counts a step of this process, which took d.
func (r *Run) Took(d time.Duration) { r.stepped, r.stepTime = r.stepped+1, r.stepTime+d }

// PerSecond returns how many examples this process takes a second, at batch examples a step; 0
// before its first step.
func (r *Run) PerSecond(batch float64) float64 {
	if r.stepTime == 0 {
		return 0
	}
	return batch / r.PerStep()
}

// PerStep returns the mean seconds of the steps of this process; 0 before the first.
func (r *Run) PerStep() float64 {
	if r.stepTime == 0 {
		return 0
	}
	return r.stepTime.Seconds() / float64(r.stepped)
}
