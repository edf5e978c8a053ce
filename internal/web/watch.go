package web

import (
	"fmt"
	"slices"

	"dpsgd/accountant"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/gradients"
	"dpsgd/internal/run"
	"dpsgd/internal/sweep"
	"dpsgd/internal/train"
)

// moment is how far a job has come, as the trainer stores it. What takes time to write is written
// later, by [moment.state].
type moment struct {
	dir      string // of the run or sweep; "" before it has one
	phase    phase
	ending   string         // why the job ended, in its own words; "" where it has not said
	step     int            // of the run, or of the trial at work if there is one alone
	steps    int            // planned
	progress train.Progress // zero before the first step of this process
	result   *train.Result  // of a run that has ended
	trials   *trials        // of a sweep; nil for a run
}

// phase is how far a job is.
type phase int

const (
	preparing phase = iota
	working
	finished // the trainer has said that it ended
	closed   // nothing comes any more
)

// trials is how many trials of a sweep are finished, of how many, and those at work.
type trials struct {
	finished, all int
	atWork        []trialAtWork // in the order in which they began
}

// Run returns a watcher that shows a run on p and tells next the same; it is next where p is nil.
func (p *Page) Run(next train.Watcher) train.Watcher {
	if p == nil {
		return next
	}
	var dir string
	return train.Watcher{
		Started: func(o train.Overview) {
			dir = o.Run
			p.set(moment{dir: dir, phase: working, step: o.ResumedAt, steps: o.Plan.Steps}, true)
			run.Tell(next.Started, o)
		},
		Stepped: func(s train.Progress) {
			p.set(moment{dir: dir, phase: working, step: s.Step, steps: s.Steps, progress: s}, s.Evaluated)
			run.Tell(next.Stepped, s)
		},
		Finished: func(r train.Result) {
			p.set(moment{dir: dir, phase: finished, ending: endings[r.Status], step: 1, steps: 1, result: &r}, true)
			run.Tell(next.Finished, r)
		},
	}
}

// endings say why a job ended.
var endings = map[run.Status]string{
	run.Done:            "Done: all planned steps ran.",
	run.BudgetExhausted: "Done: no step more fits plan and budget.",
	run.Interrupted:     "Stopped from outside and saved.",
}

// Sweep returns a watcher that shows a sweep on p and tells next the same; next itself if p is nil.
func (p *Page) Sweep(next sweep.Watcher) sweep.Watcher {
	if p == nil {
		return next
	}
	w := &sweepWatcher{page: p}
	return sweep.Watcher{
		SweepStarted: func(o sweep.Overview) {
			w.dir, w.finished, w.all = o.Dir, o.Finished, o.Trials
			w.show(working, "", true)
			run.Tell(next.SweepStarted, o)
		},
		TrialStarted: func(o sweep.TrialOverview) {
			w.progress = train.Progress{}
			w.atWork = append(w.atWork, trialAtWork{o.Name, o.ResumedAt, o.Steps})
			w.show(working, "", false)
			run.Tell(next.TrialStarted, o)
		},
		TrialStepped: func(o sweep.TrialOverview, s train.Progress) {
			if i := w.index(o.Name); i >= 0 {
				w.atWork[i].step = s.Step
			}
			w.progress = s
			w.show(working, "", false)
			if next.TrialStepped != nil {
				next.TrialStepped(o, s)
			}
		},
		TrialFinished: func(r books.Row) {
			if i := w.index(r.Trial); i >= 0 {
				w.atWork = slices.Delete(w.atWork, i, i+1)
			}
			w.finished++
			w.show(working, "", true)
			run.Tell(next.TrialFinished, r)
		},
		SweepFinished: func(r sweep.Result) {
			ending := endings[r.Status]
			if r.Status == run.Done {
				ending = "Done: every trial has a result."
			}
			w.finished, w.all, w.atWork = r.Finished, r.Trials, nil
			w.show(finished, ending, true)
			run.Tell(next.SweepFinished, r)
		},
	}
}

// sweepWatcher keeps how far a sweep has come, and shows it on page.
type sweepWatcher struct {
	page *Page
	dir  string
	trials
	progress train.Progress // of the newest step
}

// trialAtWork is a trial of a sweep, its newest step, and how many steps are planned.
type trialAtWork struct {
	name        string
	step, steps int
}

// index returns the place of a trial among those at work; -1 if it is not among them.
func (w *sweepWatcher) index(trial string) int {
	return slices.IndexFunc(w.atWork, func(t trialAtWork) bool { return t.name == trial })
}

// show stores how far the sweep has come as the newest moment of the page. news is as in set.
func (w *sweepWatcher) show(p phase, ending string, news bool) {
	m := moment{dir: w.dir, phase: p, ending: ending, trials: &trials{w.finished, w.all, slices.Clone(w.atWork)}}
	if len(w.atWork) == 1 {
		m.step, m.steps, m.progress = w.atWork[0].step, w.atWork[0].steps, w.progress
	}
	w.page.set(m, news)
}

// set stores the newest moment and does no more. news says that the files hold more than before.
func (p *Page) set(m moment, news bool) {
	p.latest.Store(&m)
	if news {
		p.stale.Store(true)
	}
}

// spent returns what a run has spent by now; nil for a sweep, and before a run has said.
func (m moment) spent() *account.Answer {
	switch {
	case m.result != nil:
		return &m.result.Answer
	case m.trials == nil && m.progress.Step > 0:
		answer := m.progress.Spent.Answer()
		return &answer
	}
	return nil
}

// state is a moment in words, as pages are told. All of it is public: it has no times and no rates.
type state struct {
	Title   string  `json:"title"` // of the browser's tab
	State   string  `json:"state"`
	Numbers string  `json:"numbers"`
	Done    float64 `json:"done"` // share of the steps
	Ended   bool    `json:"ended"`
}

func (m moment) state() state {
	s := state{Done: m.done(), Numbers: m.numbers(), Ended: m.phase == closed}
	s.Title = fmt.Sprintf("%.0f %% · train", 100*s.Done)
	switch {
	case m.ending != "":
		s.State, s.Title = m.ending, "ended · train"
	case m.phase == preparing:
		s.State, s.Title = "Preparing: reading data and making a plan.", "train"
	case m.phase == closed:
		s.State, s.Title = "The job has stopped.", "stopped · train"
	default:
		s.State = "At work."
	}
	return s
}

// done returns the share of the work that is done, 0 to 1. Every trial counts the same.
func (m moment) done() float64 {
	if m.trials == nil {
		return share(m.step, m.steps)
	}
	done := float64(m.trials.finished)
	for _, t := range m.trials.atWork {
		done += share(t.step, t.steps)
	}
	return min(1, done/float64(max(1, m.trials.all)))
}

func share(part, whole int) float64 { return float64(part) / float64(max(1, whole)) }

// numbers returns one line on how far the job has come: steps or trials, ε, test accuracy.
func (m moment) numbers() string {
	switch {
	case m.phase == preparing || m.dir == "":
		return ""
	case m.result != nil:
		return fmt.Sprintf("%d steps · ε %s at δ = %g · %s %s", m.result.Steps, accountant.RoundUp(m.result.Epsilon, 3), m.result.Delta, m.result.Test.Name(), m.result.Test)
	case m.trials == nil:
		return m.stepNumbers()
	}
	text := fmt.Sprintf("%d of %d trials have a result", m.trials.finished, m.trials.all)
	for i, t := range m.trials.atWork {
		text += []string{" · at work on ", " and "}[min(i, 1)] + t.name
	}
	if len(m.trials.atWork) == 1 {
		text += ": " + m.stepNumbers()
	}
	return text
}

func (m moment) stepNumbers() string {
	text := fmt.Sprintf("step %d of %d", m.step, m.steps)
	s := m.progress
	if s.Step == 0 {
		return text
	}
	text += " · ε " + accountant.RoundUp(s.Spent.Epsilon, 2)
	if s.Budget != nil {
		text += fmt.Sprintf(" of %g", s.Budget.Epsilon)
	}
	if s.Evaluation != (gradients.Evaluation{}) {
		text += " · " + s.Evaluation.Name() + " " + s.Evaluation.String()
	}
	return text
}
