package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/configs/statistics"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/examples"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/release"
	"dpsgd/release/answer"
)

// Options are what statistics need besides their file.
type Options struct {
	DataDir    string // of named data sets; data.DefaultDir when empty
	DataFolder string // where data of a person's own lies now, of a run that is there
	RunsDir    string // parent of the run's folder; "runs" when empty
	Name       string // base of the folder's name
	// Answered is told about every statistic, also of those that were answered before.
	Answered func(Result)
	Source   *data.Split // used instead of reading the configured data
}

// Run is a run of statistics with its folder. Close releases it.
type Run struct {
	Dir     string
	Started bool // an earlier process answered some of them

	file       *statistics.File
	plan       *plan
	records    records
	outline    setup.Outline
	journal    *books.Books
	registered checkpoints.Registration
	rows       []row
	answered   func(Result)
}

// row is a statistic in the run's file of results.
type row struct {
	Number  int `json:"number"`         // in the plan
	Entries int `json:"ledger_entries"` // by then
	Result
	NoAnswer bool `json:"refused,omitempty"` // Result.Refused
}

// Status says how a run of statistics ended.
type Status string

// The states.
const (
	Done        Status = "done"
	Interrupted Status = "interrupted"
)

// IsRun reports whether a folder is that of statistics.
func IsRun(dir string) bool { return folder.HoldsAny(dir, folder.Statistics) }

// Create prepares a new run: it reads the data, makes the plan, and only then the run's folder.
func Create(f *statistics.File, o Options) (*Run, error) {
	r, err := prepare(f, o)
	if err != nil {
		return nil, err
	}
	parent := cmp.Or(o.RunsDir, "runs")
	if r.Dir, err = folder.New(parent, "", o.Name); err != nil {
		return nil, err
	}
	if err := r.fill(parent); err != nil {
		if r.journal != nil {
			r.journal.Close()
		}
		return nil, errors.Join(err, os.RemoveAll(r.Dir))
	}
	return r, nil
}

// prepare reads the data and makes the plan.
func prepare(f *statistics.File, o Options) (*Run, error) {
	request := examples.Request{DataDir: o.DataDir, DataFolder: o.DataFolder, Given: o.Source}
	source, err := request.Read(f.Config)
	if err != nil {
		return nil, err
	}
	if source.Stored() {
		return nil, fmt.Errorf("%w: found more pictures than performance.data_memory or the machine holds, expected all of them in memory for statistics", setup.ErrPlan)
	}
	r := &Run{file: f, outline: setup.OutlineOfSource(source), answered: o.Answered}
	r.records = records{set: source.Train, config: f.Config, public: source.Train.Len()}
	if r.answered == nil {
		r.answered = func(Result) {}
	}
	r.plan, err = newPlan(f, r.records.public)
	return r, err
}

// fill writes what a run has before its first answer.
func (r *Run) fill(registry string) error {
	var err error
	if r.journal, r.registered, err = books.Begin(r.Dir, registry, r.file.Config, configYAML, r.outline, r.plan.releases); err != nil {
		return err
	}
	return checkpoints.WriteFileAtomic(r.path(folder.Statistics), r.file.YAML(), folder.FilePerm)
}

// Open prepares a run that was started before to go on.
func Open(dir string, o Options) (*Run, error) {
	path := filepath.Join(dir, folder.Statistics)
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	f, err := statistics.Kept(path, src)
	if err != nil {
		return nil, err
	}
	if err := unchanged(dir, f); err != nil {
		return nil, err
	}
	journal, err := books.Open(dir)
	if err != nil {
		return nil, err
	}
	r, err := prepare(f, o)
	if err != nil {
		journal.Close()
		return nil, err
	}
	r.Dir, r.journal = dir, journal
	if err := r.goOn(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// unchanged holds the run's file of statistics against its configuration, which everybody else
// reads.
func unchanged(dir string, f *statistics.File) error {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return err
	}
	without := func(c *configs.Config) string { // the limit, which the ledger of the data holds
		same := *c
		same.Data.Limit = configs.Limit{}
		return string(configYAML(&same))
	}
	if found := folder.Differences(without(c), without(f.Config)); len(found) > 0 {
		return fmt.Errorf("%w: %s was made with %s; expected %s as it was", books.ErrOtherPlan, dir, strings.Join(found, ", "), folder.Statistics)
	}
	return nil
}

// configYAML is the configuration of statistics as their folder holds it.
func configYAML(c *configs.Config) []byte { return (&statistics.File{Config: c}).ConfigYAML() }

// goOn checks everything before it writes.
func (r *Run) goOn() error {
	var err error
	if r.rows, err = r.readRows(); err != nil {
		return err
	}
	if r.registered, err = books.Registration(r.file.Config, r.outline, r.journal.Registry, r.Dir); err != nil {
		return err
	}
	r.Started = r.journal.Len() > 0
	return r.journal.Settle(r.registered, r.plan.releases)
}

// readRows reads the results of earlier processes, the first ones of the plan in its order.
func (r *Run) readRows() ([]row, error) {
	path := r.path(folder.Answers)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	var rows []row
	for line := range lines(content) {
		next := row{}
		number := len(rows)
		if err := json.Unmarshal(line, &next); err != nil || next.Number != number || number >= len(r.plan.asked) ||
			next.Statistic != r.plan.asked[number].Kind || next.Column != columnName(r.plan.asked[number].Statistic) {
			return nil, fmt.Errorf("train: %s:%d: found no result of statistic %d of the plan, expected a line that the run wrote: %w", path, number+1, number, checkpoints.ErrCorrupt)
		}
		if next.Entries > r.journal.Len() {
			return nil, fmt.Errorf("train: %s:%d: found %d entries of the ledger, which has %d, expected no more: %w", path, number+1, next.Entries, r.journal.Len(), checkpoints.ErrRollback)
		}
		next.Refused = next.NoAnswer
		if err := r.fits(next); err != nil {
			return nil, fmt.Errorf("train: %s:%d: %w", path, number+1, err)
		}
		rows = append(rows, next)
	}
	return rows, nil
}

// fits holds a result of an earlier process against the plan, which says what it cost, and how many
// numbers it has. A newer program may calibrate in the tenth digit another noise.
func (r *Run) fits(next row) error {
	a := &r.plan.asked[next.Number]
	epsilon, delta, err := r.plan.cost(a)
	if err != nil {
		return err
	}
	if math.Abs(next.Epsilon-epsilon) > 1e-6*epsilon || math.Abs(next.Delta-delta) > 1e-6*delta {
		return fmt.Errorf("%w: found ε = %g and δ = %g, expected the %.4g and %g of the plan", books.ErrOtherPlan, next.Epsilon, next.Delta, epsilon, delta)
	}
	n, low, high, expected := len(next.Value.List), len(next.Low.List), len(next.High.List), len(r.names(a))
	switch {
	case n != low || n != high:
		return fmt.Errorf("found %d, %d and %d numbers, expected as many in each: %w", n, low, high, checkpoints.ErrCorrupt)
	case n != 0 && n != expected && !(next.Value.One && expected == 0):
		return fmt.Errorf("found %d numbers, expected %d: %w", n, max(1, expected), checkpoints.ErrCorrupt)
	}
	return nil
}

// Answer answers every statistic that has no answer, one after the other, and writes the privacy
// statement. When ctx is done, the statistic at work is finished. The results are those of all.
func (r *Run) Answer(ctx context.Context) (_ []Result, _ Status, err error) {
	defer func() { err = r.journal.Told(err) }()
	for i := range r.rows {
		r.rows[i].Names, r.rows[i].Trust = r.names(&r.plan.asked[i]), r.plan.asked[i].Trust
		r.answered(r.rows[i].Result)
	}
	status := Done
	for len(r.rows) < len(r.plan.asked) {
		if ctx.Err() != nil {
			status = Interrupted
			break
		}
		if err := r.next(); err != nil {
			return nil, "", err
		}
	}
	results := make([]Result, len(r.rows))
	for i, row := range r.rows {
		results[i] = row.Result
	}
	return results, status, r.state(status)
}

// next answers the next statistic, or reports that it is lost.
func (r *Run) next() error {
	number := len(r.rows)
	a := r.plan.asked[number]
	lost, err := r.lost(number)
	if err != nil {
		return err
	}
	result := Result{Statistic: a.Kind, Column: columnName(a.Statistic), Mechanism: a.Mechanism}
	if result.Epsilon, result.Delta, err = r.plan.cost(&a); err != nil {
		return err
	}
	if !lost {
		if a.Bounds.Private {
			if a.Bounds.Interval, lost = r.foundBounds(a.Columns[0]); lost {
				return r.keep(number, result) // without bounds there is nothing to be asked: nothing was paid
			}
		}
		w := &work{records: r.records, desk: answer.NewDesk(r.journal, r.plan.allows), journal: r.journal, budget: r.plan.allows}
		e, err := a.answer(w)
		if errors.Is(err, release.ErrBudget) {
			return r.keep(number, result) // results of an earlier process are gone, and their cost is not
		}
		if err != nil {
			return fmt.Errorf("train: the %s of %s: %w", a.Kind, result.Column, err)
		}
		result.Refused = e.refused
		result.Value, result.Low, result.High = Numbers{e.value, e.one}, Numbers{e.low, e.one}, Numbers{e.high, e.one}
		result.Mechanism = cmp.Or(e.mechanism, a.Mechanism)
	}
	return r.keep(number, result)
}

// lost reports whether a statistic was paid for by an earlier process, at least in part, and cannot
// be paid for again: not if everything that comes after it is to be answered.
func (r *Run) lost(number int) (bool, error) {
	entries := 0
	if number > 0 {
		entries = r.rows[number-1].Entries
	}
	if r.journal.Len() == entries {
		return false, nil
	}
	var rest []accountant.Event
	for _, a := range r.plan.asked[number:] {
		rest = append(rest, a.events...)
	}
	allowed, err := r.plan.allowsAll(r.journal.Ledger(), rest)
	return !allowed, err
}

// foundBounds are those that were found privately; none are where the search is lost.
func (r *Run) foundBounds(column string) (found statistics.Interval, none bool) {
	for _, known := range r.rows {
		if known.Statistic == boundsKind && known.Column == column && !known.Lost() {
			return statistics.Interval{Low: known.Value.List[0], High: known.Value.List[1]}, false
		}
	}
	return statistics.Interval{}, true
}

// keep writes the result of a statistic behind those before it.
func (r *Run) keep(number int, result Result) error {
	result.Names, result.Trust = r.names(&r.plan.asked[number]), r.plan.asked[number].Trust
	r.rows = append(r.rows, row{number, r.journal.Len(), result, result.Refused})
	var content []byte
	for _, known := range r.rows {
		line, err := json.Marshal(known)
		if err != nil {
			return fmt.Errorf("train: %s: %w", folder.Answers, err)
		}
		content = append(append(content, line...), '\n')
	}
	if err := checkpoints.WriteFileAtomic(r.path(folder.Answers), content, folder.FilePerm); err != nil {
		return err
	}
	r.answered(result)
	return nil
}

// Close releases the ledger.
func (r *Run) Close() error { return r.journal.Close() }

func (r *Run) path(name string) string { return filepath.Join(r.Dir, name) }
