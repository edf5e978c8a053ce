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

// Request says what a report computes or measures beside what the files of a run say.
type Request struct {
	setup.Request      // where the data is
	Predict       bool // have the model predict the test examples, which reads the data

	Spent       *account.Answer // what the run has spent, if the caller knows; nil asks the accountant
	Accountants bool            // ε over steps by every accountant, and of all trials of a sweep together: takes seconds
	Times       bool            // measure the parts of a step now, on random numbers
	Audits      []string        // files with what train audit --json printed
	Private     bool            // read private diagnostics: what is made of them is NOT private
}

// Run holds what the folder of a run says, as far as the run has come.
type Run struct {
	Dir      string
	Name     string          // of the folder
	Config   *configs.Config // with every default
	YAML     string          // the configuration as the run wrote it
	Spent    account.Answer  // of everything in the ledger; zero before the first release
	Releases int
	// NoiseMultiplier is σ of the last release that has one; 0 if none has.
	NoiseMultiplier float64
	// NotPrivate marks a baseline that was trained without privacy: it has no ledger, and ε is
	// infinite.
	NotPrivate bool
	Metrics    []run.Metrics // of the steps that were evaluated

	// Statement is the privacy statement of everything that was released. It is nil before the end
	// of the run, and after somebody went on with it.
	Statement *statement.Statement
	Markdown  string // the statement in words

	Asks       bool           // the run releases statistics and has no network
	Statistics []stats.Result // that were released so far

	Curves      *account.Comparison // nil unless asked for
	Examination *score.Examination  // predictions of the test examples; nil if there are none
	Unexamined  string              // why there are none
	Times       *speed.Result       // nil unless asked for
	Diagnostics []run.Diagnostics   // NOT private; none unless asked for
	Warnings    []string

	entries int // of the ledger: releases, and choices to go on
	ledger  *accountant.Ledger
}

// ReadRun reads the folder of a run. The run may be going on meanwhile.
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
	for _, read := range []func() error{func() error { return r.readLedger(ctx, q) }, r.readStatistics, r.holdMetrics, r.readStatement} {
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

// holdMetrics compares the ε in the lines of metrics with the ledger: lines have no checksum, so an
// edited one would show another ε. If training itself releases nothing (private labels, PATE),
// everything was released ahead of its first step.
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

// readLedger computes what the run has cost by its whole ledger: besides releases it holds the
// choices of a person to go on, which cost ε, too.
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

// readStatistics reads the file of statistics and their results. Other runs have neither file.
func (r *Run) readStatistics() error {
	asked, err := folder.Content(filepath.Join(r.Dir, folder.Statistics))
	if err != nil || asked == nil {
		return err
	}
	r.Asks, r.YAML = true, string(asked)
	r.Statistics, err = stats.ReadResults(r.Dir, r.ledger, r.Config.Privacy.Delta)
	return err
}

// readStatement reads the privacy statement. A statement that covers too few releases, or claims
// less than the ledger costs, is left out with a warning.
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

// examine has the model predict the test examples. If that fails, it only notes why.
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
