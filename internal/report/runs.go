package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
)

// Line describes one run, trial or sweep in the list of runs. Values that are not known are nil.
type Line struct {
	Run      string   `json:"run"`              // its folder
	Sweep    string   `json:"sweep,omitempty"`  // the folder of the sweep that it is a trial of
	Trials   int      `json:"trials,omitempty"` // of a sweep, which has a line of its own
	Data     string   `json:"data,omitempty"`
	Examples int      `json:"examples,omitempty"`
	Releases int      `json:"releases"`
	Epsilon  *float64 `json:"epsilon"`                    // at Delta; of a run that stopped early, of everything that it planned
	Released *float64 `json:"epsilon_released,omitempty"` // of its releases alone, where that is less: it holds only if the decision to stop looked at no result
	Delta    float64  `json:"delta,omitempty"`
	Budget   *float64 `json:"budget"`       // nil where there is none
	Left     *float64 `json:"epsilon_left"` // of the budget
	score.Test
	Status  string `json:"status"`
	Problem string `json:"problem,omitempty"` // one line, of a run that is damaged or gone
}

// The status of a run whose statement does not say how it ended.
const (
	Running = "running" // in another process
	Stopped = "stopped" // killed, or ended by an error; `train resume` goes on
	Damaged = "damaged" // its files do not agree
	// NotPrivate is the status of a baseline that was trained without privacy: it has no ledger and
	// no ε.
	NotPrivate = "NOT PRIVATE"
	Gone       = "gone" // the folder was deleted; what it released counts
)

// Lines describes all runs, sweeps and trials below a folder of runs, in the order of their names,
// a sweep ahead of its trials. What is wrong with one of them is written in its line.
func Lines(dir string) ([]Line, error) {
	listed, err := books.List(dir)
	if err != nil {
		return nil, err
	}
	list := []Line{}
	for len(listed) > 0 {
		n := 1
		for n < len(listed) && listed[0].Sweep != "" && listed[n].Sweep == listed[0].Sweep {
			n++
		}
		var trials []Line
		for _, l := range listed[:n] {
			trials = append(trials, describe(l))
		}
		if listed[0].Sweep != "" {
			list = append(list, sweep(trials, listed[:n]))
		}
		list, listed = append(list, trials...), listed[n:]
	}
	return list, nil
}

// sweep makes the line of a sweep: ε of all its trials together, also of those whose folder is
// gone, and the best accuracy, which is what that ε was paid for.
func sweep(trials []Line, listed []books.Listed) Line {
	first := trials[0]
	r := Line{Test: score.Untested(), Run: first.Sweep, Trials: len(trials), Data: first.Data, Examples: first.Examples, Status: string(run.Done)}
	lost := false
	for i, t := range trials {
		r.Releases += t.Releases
		if !t.Test.None() && (r.Test.None() || t.Quality() > r.Quality()) {
			r.Test = t.Test
		}
		if t.Status == Damaged || t.Status == Gone {
			r.Status, r.Problem = Damaged, t.Problem
		} else if t.Epsilon == nil && r.Status == string(run.Done) || t.goesOn() {
			r.Status = t.Status
		}
		lost = lost || listed[i].Lost
	}
	if r.Status == string(run.Done) {
		planned, err := books.ReadSweep(first.Sweep)
		if err != nil {
			r.Status, r.Problem = Damaged, oneLine(err)
		} else if len(planned.Trials) > len(trials) {
			r.Status = string(run.Interrupted)
		}
	}
	members := books.Members(listed)
	if len(members) == 0 || lost {
		return r
	}
	if spent, _, err := together(first.Sweep, members); err != nil {
		r.Status, r.Problem = Damaged, oneLine(err)
	} else {
		r.Epsilon, r.Delta = &spent.Epsilon, spent.Delta
	}
	return r
}

// goesOn reports whether more steps may follow.
func (l Line) goesOn() bool {
	return l.Status == Stopped || l.Status == Running || l.Status == string(run.Interrupted)
}

func describe(l books.Listed) Line {
	r := Line{
		Test: score.Untested(), Run: l.Dir, Sweep: l.Sweep, Data: l.Member.Data.Name, Examples: l.Member.Data.Examples,
		Releases: l.Member.Entries, Delta: l.Member.Delta,
	}
	problem := l.Problem
	if l.Member.Accountant != "" {
		claim, err := account.ClaimBy(l.Member.Accountant, l.Member.Ledger, l.Member.Planned, l.Member.Delta)
		if err == nil {
			r.Epsilon = &claim.Epsilon
			if claim.Released != nil {
				r.Released = &claim.Released.Epsilon
			}
		}
		problem = errors.Join(problem, err)
	}
	if _, err := os.Stat(l.Dir); l.Gone() || errors.Is(err, os.ErrNotExist) {
		r.Status, r.Problem = Gone, oneLine(problem)
		return r
	}
	c, err := folder.ReadConfig(l.Dir)
	switch {
	case err != nil:
		problem = errors.Join(problem, err)
	case c.Privacy.HasBudget():
		r.Budget = &c.Privacy.Epsilon
		if r.Epsilon != nil {
			left := max(0, *r.Budget-*r.Epsilon)
			r.Left = &left
		}
	}
	if lines, err := run.ReadMetrics(l.Dir); err == nil && len(lines) > 0 {
		r.Test = lines[len(lines)-1].Test
	}
	if errors.Is(l.Problem, books.ErrNotPrivate) {
		r.Status, r.Budget, r.Left, r.Data = NotPrivate, nil, nil, setup.Declared(c).Name
		return r
	}
	if r.Status, err = status(l); err != nil {
		problem = errors.Join(problem, err)
	}
	if problem != nil {
		r.Status, r.Problem = Damaged, oneLine(problem)
	}
	return r
}

// status returns the status that the statement names, if it covers everything that was released;
// else the run is running or stopped, as the lock of its ledger tells.
func status(l books.Listed) (string, error) {
	s, err := statement.Read(l.Dir)
	switch {
	case err == nil && s.LedgerHead == l.Member.Hash:
		return s.Status, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	if err = checkpoints.TryLock(filepath.Join(l.Dir, folder.Ledger)); errors.Is(err, checkpoints.ErrLocked) {
		return Running, nil
	}
	return Stopped, err
}

func oneLine(err error) string {
	if err == nil {
		return ""
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(text, "train: ")
}
