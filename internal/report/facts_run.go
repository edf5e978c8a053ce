package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"dpsgd/accountant"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/speed"
	"dpsgd/internal/statement"
	"dpsgd/internal/stats"
	"dpsgd/internal/train"
)

// Request says how much is wanted of a run beyond what its files say as they are.
type Request struct {
	setup.Request      // where the data is
	Predict       bool // test examples, by the model: reads the data

	Spent       *account.Answer // what the run has spent, where the caller knows; nil asks its accountant
	Accountants bool            // ε over steps by every accountant, and of all trials of a sweep together: takes seconds
	Times       bool            // the parts of a step, measured now on random numbers
	Private     bool            // private diagnostics: what is made of them is NOT private
}

// Run is what the folder of a run says, as far as the run has come.
type Run struct {
	Dir      string
	Name     string          // of the folder
	Config   *configs.Config // with every default
	YAML     string          // the configuration as the run wrote it
	Spent    account.Answer  // of everything in the ledger; zero before the first release
	Releases int
	// NoiseMultiplier is that of the last release; 0 where it has none.
	NoiseMultiplier float64
	// NotPrivate is a baseline that was trained without privacy: it has no ledger, and ε is infinite.
	NotPrivate bool
	Metrics    []run.Metrics // of the steps that were evaluated

	// Statement is what the run claimed at its end. It is nil while there is none of all that was
	// released: before the end, and after the run was gone on with.
	Statement *statement.Statement
	Markdown  string // the statement in words

	Asks       bool           // for statistics: there is no network
	Statistics []stats.Result // of a run that asks for them

	Curves      *account.Comparison // nil unless asked for
	Examination *score.Examination  // nil where Unexamined says why
	Unexamined  string
	Times       *speed.Result     // nil unless asked for
	Diagnostics []run.Diagnostics // NOT private; none unless asked for
	Warnings    []string

	entries int // of the ledger: releases, and choices to go on
	ledger  *accountant.Ledger
}

// ReadRun reads the folder of a run, which may be at work.
func ReadRun(ctx context.Context, dir string, q Request) (*Run, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: dir, Name: folder.Name(dir), Config: c, YAML: string(c.YAML())}
	if r.Metrics, err = run.ReadMetrics(dir); err != nil {
		return nil, err
	}
	if q.Private {
		if r.Diagnostics, err = run.ReadDiagnostics(dir); err != nil {
			return nil, err
		}
	}
	for _, read := range []func() error{r.readStatistics, func() error { return r.readLedger(ctx, q) }, r.holdMetrics, r.readStatement} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	if q.Predict && !r.Asks {
		r.examine(q)
	}
	if q.Times && !r.Asks {
		if r.Times, err = speed.Measure(ctx, c, "private", timesTaken); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	return r, ctx.Err()
}

// holdMetrics holds the ε of the lines that are shown against the ledger: lines have no sum, and whoever edits one
// would show another ε. Where training releases nothing, all was released ahead of it.
func (r *Run) holdMetrics() error {
	ahead := r.Config.Pate.Any() || r.Config.Privacy.Unit == configs.UnitLabel
	if r.ledger == nil {
		return nil
	}
	released, _, err := account.Seen(r.ledger)
	if err != nil {
		return err
	}
	for _, line := range thinned(r.Metrics) {
		n := line.Step
		if ahead {
			n = r.ledger.Count()
		}
		first, err := account.Beginning(released, n)
		if err != nil {
			return err
		}
		where := fmt.Sprintf("%s: step %d", filepath.Join(r.Dir, folder.Metrics), line.Step)
		if err := books.Refute(where, first, r.Config.Privacy.Delta, line.Answer); err != nil {
			return err
		}
	}
	return nil
}

const (
	timesTaken  = 2 * time.Second // for measuring steps
	curvePoints = 25              // of a curve of ε
)

// readLedger asks what the run has cost. The whole ledger answers: beside releases it holds when a
// person chose to go on, which costs, too.
func (r *Run) readLedger(ctx context.Context, q Request) error {
	i, err := books.Inspect(r.Dir)
	if errors.Is(err, books.ErrNotPrivate) {
		r.NotPrivate = true
		r.Spent = account.Answer{Epsilon: statement.NoGuarantee, Delta: 1, Accountant: "none"}
		return nil
	}
	if err != nil {
		return err
	}
	r.warn(i.Warning)
	r.ledger = i.Ledger
	if r.entries = i.Entries; r.entries == 0 {
		return nil
	}
	r.Releases = r.entries - account.Choices(i.Ledger)
	for _, e := range i.Ledger.Entries() {
		r.NoiseMultiplier = cmp.Or(accountant.NoiseMultiplier(e.Event), r.NoiseMultiplier)
	}
	if q.Spent != nil {
		r.Spent = *q.Spent
	} else {
		claim, err := i.Claim(r.Config)
		if err != nil {
			return err
		}
		r.Spent = claim.Answer()
	}
	if !q.Accountants {
		return nil
	}
	releases, err := books.ReadReleases(r.Dir)
	if err != nil {
		return err
	}
	r.Curves, err = account.Compare(ctx, releases.Question(account.Epsilon), curvePoints)
	return err
}

// readStatistics reads what a run of statistics asks for and has released. Any other run has
// neither.
func (r *Run) readStatistics() error {
	asked, err := folder.Content(filepath.Join(r.Dir, folder.Statistics))
	if err != nil || asked == nil {
		return err
	}
	r.Asks, r.YAML = true, string(asked)
	r.Statistics, err = stats.ReadResults(r.Dir)
	return err
}

// readStatement keeps the statement. It only warns if that says too little.
func (r *Run) readStatement() error {
	s, err := statement.Read(r.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.LedgerEntries != r.entries {
		r.warn(fmt.Sprintf("the privacy statement in the folder is about %d entries of the ledger, which holds %d: the run has been gone on with since", s.LedgerEntries, r.entries))
		return nil
	}
	if s.Understates(r.Spent.Epsilon) {
		r.warn(fmt.Sprintf("the privacy statement in the folder claims ε = %g, and the ledger costs %s: it was edited or is damaged, and is not shown", s.Epsilon, accountant.RoundUp(r.Spent.Epsilon, 3)))
		return nil
	}
	text, err := s.Markdown()
	if err != nil {
		return err
	}
	r.Statement, r.Markdown = &s, string(text)
	return nil
}

// examine predicts the test examples. Where that cannot be done the rest is as good as it was.
func (r *Run) examine(q Request) {
	e, err := train.Examine(r.Dir, train.Options{Options: run.Options{Request: q.Request}})
	switch {
	case errors.Is(err, data.ErrMissing):
		r.Unexamined = fmt.Sprintf("the test examples are not where the run found them (%v); say where they are now by --data-dir or --data-folder", err)
	case err != nil:
		r.Unexamined = err.Error()
	default:
		r.Examination = &e
		r.warn(e.Warning)
	}
}

func (r *Run) warn(message string) {
	if message != "" && !slices.Contains(r.Warnings, message) {
		r.Warnings = append(r.Warnings, message)
	}
}
