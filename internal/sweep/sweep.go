package sweep

import (
	"cmp"
	"context"
	"path/filepath"
	"sync"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
)

// Options of a sweep stand beside its file.
type Options struct {
	setup.Request // the data given there is used in place of the configured data of every trial
	// Sees returns what a trial sees in place of the data given above, as many examples of the same
	// shape and classes; nil shows all trials that data.
	Sees          func(*configs.Config) *data.Split
	RunsDir       string // parent of the sweep's folder; "runs" when empty
	Jobs          int    // trials at a time, in place of the file's number; 0 for that number
	Watcher       Watcher
	Warned, Waits func(message string) // see run.Options
}

// Watcher is told how a sweep goes, one call at a time. Functions that are nil are not called. If
// several trials are trained at a time, calls about different trials come in any order.
type Watcher struct {
	SweepStarted  func(Overview)
	TrialStarted  func(TrialOverview)
	TrialStepped  func(TrialOverview, train.Progress)
	TrialFinished func(books.Row)
	SweepFinished func(Result)
}

// Overview describes a sweep before it begins.
type Overview struct {
	Dir      string
	Trials   int
	Numbers  []int // numbers of the trials that a task trains, from 1; nil without tasks
	Finished int   // trials that have a result already
	Steps    int   // planned for the trials without a result
	Drawn    bool  // whether the number of trials was drawn, so that nobody may choose it
}

// TrialOverview describes a trial before it begins.
type TrialOverview struct {
	Number, Trials int // Number counts from 1
	Name           string
	ResumedAt      int // steps that were made before
	Steps          int
}

// Result is the report of a sweep at its end.
type Result struct {
	Sweep    string      `json:"sweep"`
	Status   run.Status  `json:"status"` // run.Done, run.Interrupted or Incomplete
	Trials   int         `json:"trials"`
	Finished int         `json:"finished"`
	Missing  []Missing   `json:"missing,omitempty"` // trials without a result
	Rows     []books.Row `json:"rows"`
	Points   []Point     `json:"points"`                // the rows, grouped by all settings but the seed
	Best     string      `json:"best,omitempty"`        // name of the point with the best mean; "" while there is none
	Composed *Composed   `json:"composed"`              // nil when nothing was released
	Selected *Selected   `json:"selected,omitempty"`    // nil unless the number of points was drawn and all are trained
	Public   bool        `json:"public_data,omitempty"` // the examples are nobody's: nothing was spent on anybody
	Scale    int         `json:"tan_scale,omitempty"`   // how many times smaller the trials are than their configurations
	drawn    bool        // the number of points was drawn
	Report   string      `json:"report_sha256,omitempty"` // of results.md, in results.json alone
}

// sweep is one sweep while it is carried out, by a process for all trials or by a task.
type sweep struct {
	file     *configs.Sweep
	dir      string
	registry string // the folder with the ledger of data sets
	options  Options
	collects bool  // tasks train the trials, and this process collects them
	numbers  []int // of the trials of a task's share, from 1; nil without tasks

	draw   configs.Draw
	trials []configs.Trial
	plans  []planned          // of the trials
	kinds  []accountant.Event // if the number of points is drawn: what each point that can be drawn releases
	delta  float64            // δ, the same for every point that can be drawn
	unit   checkpoints.Unit   // what all trials protect

	width int // trials at a time

	mu   sync.Mutex           // guards rows, and calls of the watcher
	rows map[string]books.Row // finished trials by name

	beginning  sync.Mutex  // held while a trial begins
	source     *data.Split // the data that was read last
	sourceSpec string      // what spec returned for it
}

// Run trains every trial that has no result yet, each as an ordinary run in the sweep's folder. A
// trial with a result is never repeated; one that was under way goes on from its checkpoint with
// the spend of its ledger. When ctx is done, the trials' current steps are finished and saved, and
// the status is [run.Interrupted].
func Run(ctx context.Context, file *configs.Sweep, o Options) (Result, error) {
	return carryOut(file, o, false, func(s *sweep) (run.Status, error) {
		s.announce()
		return s.train(ctx)
	})
}

// Collect gathers what the tasks of a sweep have made by now: their rows into the sweep's table,
// their ledgers into the one of the data. Trials without a result, under way or not, count with
// what they have released, and the result names them. Collecting again adds what has come since.
// Without any task it begins the sweep: what is drawn is drawn then.
func Collect(_ context.Context, file *configs.Sweep, o Options) (Result, error) {
	return carryOut(file, o, true, func(s *sweep) (run.Status, error) {
		if len(s.rows) < len(s.trials) {
			return Incomplete, nil
		}
		return run.Done, nil
	})
}

// carryOut plans a sweep, locks its folder, calls work, and returns the result of all trials.
func carryOut(file *configs.Sweep, o Options, collects bool, work func(*sweep) (run.Status, error)) (Result, error) {
	s := newSweep(file, o)
	s.collects = collects
	if err := s.plan(); err != nil {
		return Result{}, err
	}
	lock, err := s.open()
	if err != nil {
		return Result{}, err
	}
	defer lock.Close()
	status, err := work(s)
	if err != nil {
		return Result{}, err
	}
	result, err := s.result(status)
	if err == nil {
		run.Tell(o.Watcher.SweepFinished, result)
	}
	return result, err
}

func newSweep(file *configs.Sweep, o Options) *sweep {
	s := &sweep{file: file, registry: cmp.Or(o.RunsDir, "runs"), options: o}
	s.dir = filepath.Join(s.registry, file.Name)
	return s
}

// announce tells the watcher what is about to begin.
func (s *sweep) announce() {
	o := Overview{Dir: s.dir, Trials: len(s.trials), Numbers: s.numbers, Finished: len(s.rows), Drawn: s.drawsNumber()}
	for i := range s.trials {
		if !s.done(i) {
			o.Steps += s.plans[i].steps
		}
	}
	run.Tell(s.options.Watcher.SweepStarted, o)
}

// result gathers the rows in the order of the trials, compares their points, says what choosing
// among them costs, and writes the reports.
func (s *sweep) result(status run.Status) (Result, error) {
	if err := s.gather(); err != nil {
		return Result{}, err
	}
	members, err := s.inspect()
	if err != nil {
		return Result{}, err
	}
	composed, err := s.compose(members)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Missing: s.missing(members),
		Sweep:   s.dir, Status: status, Trials: len(s.trials), Finished: len(s.rows), Rows: s.finishedRows(), Composed: composed,
		Public: s.public(), drawn: s.drawsNumber(),
	}
	if s.file.Scale > 1 {
		r.Scale = s.file.Scale
	}
	r.Points, r.Best = s.points()
	if r.Selected, err = s.selected(); err != nil {
		return Result{}, err
	}
	if err := s.writeSelected(r); err != nil {
		return Result{}, err
	}
	report := r.text()
	if err := s.writeSummary(r, report); err != nil {
		return Result{}, err
	}
	return r, checkpoints.WriteFileAtomic(filepath.Join(s.dir, folder.Report), report, folder.FilePerm)
}
