package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/features"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/release"
	"dpsgd/release/answer"
)

// Options says how a run of statistics is carried out.
type Options struct {
	run.Options
	// Answered is called with every result, also with those of earlier processes.
	Answered func(Result)
}

// Run is a run of statistics: a [run.Job] that answers one statistic a step. Close releases it.
type Run struct {
	*run.Run
	Results []Result   // once the run ended: of the statistics that it has come to
	Status  run.Status // how the run ended

	file     *configs.StatisticsFile
	plan     *plan
	records  records
	rows     []row
	answered func(Result)
}

// IsRun reports whether a folder is one of a run of statistics.
func IsRun(dir string) bool { return folder.HoldsAny(dir, folder.Statistics) }

// Create prepares a new run: it reads the data, makes the plan, and then the folder of the run.
func Create(f *configs.StatisticsFile, o Options) (*Run, error) {
	return run.Create(asTheyAre(f), o.common(), func(base *run.Run) (*Run, error) { return build(base, f, o) })
}

// Open prepares to go on with the run in a folder.
func Open(dir string, o Options) (*Run, error) {
	path := filepath.Join(dir, folder.Statistics)
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	f, err := configs.KeptStatistics(path, src)
	if err != nil {
		return nil, err
	}
	if err := unchanged(dir, f); err != nil {
		return nil, err
	}
	return run.Open(dir, asTheyAre(f), o.common(), func(base *run.Run) (*Run, error) { return build(base, f, o) })
}

func (o Options) common() run.Options {
	o.Fits = setup.CheckMemoryOfExamples
	return o.Options
}

// asTheyAre returns the configuration of f without features: statistics are of the examples.
func asTheyAre(f *configs.StatisticsFile) *configs.Config {
	c := *f.Config
	c.Features.Transform = features.None{}
	return &c
}

func build(base *run.Run, f *configs.StatisticsFile, o Options) (*Run, error) {
	if err := base.See(); err != nil {
		return nil, err
	}
	if base.Examples.Stored() {
		return nil, fmt.Errorf("%w: found more pictures than performance.data_memory or the machine holds, expected all of them in memory for statistics", setup.ErrPlan)
	}
	base.ConfigText = configYAML
	set := base.Examples.Train
	r := &Run{Run: base, file: f, answered: o.Answered, records: records{set: set, config: f.Config, public: set.Len()}}
	if r.answered == nil {
		r.answered = func(Result) {}
	}
	var err error
	r.plan, err = newPlan(f, set.Len())
	return r, err
}

// The methods of [run.Job] follow. There is no identity and no state to save: the folder keeps the
// file of statistics, which is the plan, and the file of results, which holds the steps.

func (r *Run) Identity() string                     { return "" }
func (r *Run) Planned() (*accountant.Ledger, error) { return r.plan.releases, nil }
func (r *Run) State() *checkpoints.State            { return nil }
func (r *Run) More() bool                           { return len(r.rows) < len(r.plan.asked) }

func (r *Run) Ready() error {
	if IsRun(r.Dir) {
		return nil
	}
	return checkpoints.WriteFileAtomic(r.Path(folder.Statistics), r.file.YAML(), folder.FilePerm)
}

// Restore reads the results of earlier processes, and refuses those that do not fit the plan.
func (r *Run) Restore(*checkpoints.State, string) (err error) {
	r.rows, err = readRows(r.Dir, func(number int, next row) error {
		if number >= len(r.plan.asked) || next.Statistic != r.plan.asked[number].Kind || next.Column != columnName(r.plan.asked[number].Statistic) {
			return noResult(number)
		}
		if next.Entries > r.Books.Len() {
			return fmt.Errorf("found %d entries of the ledger, which has %d, expected no more: %w", next.Entries, r.Books.Len(), checkpoints.ErrRollback)
		}
		return r.fits(next)
	})
	r.Step = len(r.rows)
	return err
}

// unchanged refuses a run whose file of statistics and whose configuration, which all other
// programs read, do not agree.
func unchanged(dir string, f *configs.StatisticsFile) error {
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

// configYAML returns the configuration as the folder of statistics holds it.
func configYAML(c *configs.Config) []byte { return (&configs.StatisticsFile{Config: c}).ConfigYAML() }

// fits refuses a result of an earlier process that has another cost, or another number of numbers,
// than the plan says. A newer program may calibrate noise that differs in the tenth digit.
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

// Start calls Options.Answered with the results of earlier processes.
func (r *Run) Start(context.Context) error {
	for i := range r.rows {
		r.rows[i].Names, r.rows[i].Trust = r.names(&r.plan.asked[i]), r.plan.asked[i].Trust
		r.answered(r.rows[i].Result)
	}
	return nil
}

// Finish sets Status and Results, and writes the privacy statement about everything in the ledger.
func (r *Run) Finish(status run.Status) error {
	r.Status, r.Results = status, make([]Result, len(r.rows))
	for i, row := range r.rows {
		r.Results[i] = row.Result
	}
	return r.state()
}

// Next answers the next statistic, or keeps a result without a value if that is lost.
func (r *Run) Next(context.Context) error {
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
		w := &work{records: r.records, desk: answer.NewDesk(r.Books, r.plan.allows)}
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

// lost reports whether an earlier process has paid for a statistic, at least in part, and the
// budget does not allow paying again and answering everything that comes after it.
func (r *Run) lost(number int) (bool, error) {
	entries := 0
	if number > 0 {
		entries = r.rows[number-1].Entries
	}
	if r.Books.Len() == entries {
		return false, nil
	}
	all, err := with(r.Books.Ledger(), r.plan.asked[number:])
	if err != nil {
		return false, err
	}
	within, err := r.plan.within(all)
	return !within, err
}

// foundBounds returns the private bounds of a column; none is true if their search is lost.
func (r *Run) foundBounds(column string) (found configs.Interval, none bool) {
	for _, known := range r.rows {
		if known.Statistic == boundsKind && known.Column == column && !known.Lost() {
			return configs.Interval{Low: known.Value.List[0], High: known.Value.List[1]}, false
		}
	}
	return configs.Interval{}, true
}

// keep adds a result to those before it, and writes the file of results.
func (r *Run) keep(number int, result Result) error {
	result.Names, result.Trust = r.names(&r.plan.asked[number]), r.plan.asked[number].Trust
	r.rows = append(r.rows, row{number, r.Books.Len(), result, result.Refused})
	var content []byte
	for _, known := range r.rows {
		line, err := json.Marshal(known)
		if err != nil {
			return fmt.Errorf("train: %s: %w", folder.Answers, err)
		}
		content = append(append(content, line...), '\n')
	}
	r.Step = len(r.rows)
	if err := r.Keep(run.Saving{What: "the results", File: folder.Answers, Bytes: len(content), Write: func(dir string) error {
		return checkpoints.WriteFileAtomic(filepath.Join(dir, folder.Answers), content, folder.FilePerm)
	}, Movable: true}); err != nil {
		return err
	}
	r.answered(result)
	return nil
}

// folderEpsilon is the default budget for statistics of a folder of data.
const folderEpsilon = 1

// Read makes the statistics that a person names: by a file of statistics, a configuration of a run,
// a preset of either, or a folder with data. For a configuration or a folder the statistics are the
// default ones, and bounds says the bounds of their columns.
func Read(name string, overrides []string, bounds map[string]configs.Bounds) (*configs.StatisticsFile, error) {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return configs.LoadStatistics(name, overrides, bounds)
	}
	made, err := configs.MakeDraft(name, folderEpsilon)
	if err != nil {
		return nil, err
	}
	c, err := configs.Parse("the configuration of "+name, made.Text, overrides)
	if err != nil {
		return nil, err
	}
	return configs.DefaultStatistics(c, bounds)
}
