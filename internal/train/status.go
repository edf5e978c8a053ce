package train

import (
	"math"
	"time"

	"dpsgd/accountant"
	"dpsgd/internal/account"
	"dpsgd/internal/gradients"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/statement"
)

// Result is what a run reports at its end, on the terminal. Every field but the two of time is
// public or a function of what was released; no file of the run holds those two.
type Result struct {
	Status         run.Status `json:"status"`
	Steps          int        `json:"steps"`
	account.Answer            // that holds for every set of results: of all that was planned, where the run stopped before
	// Released covers the releases so far, where Answer covers more; else it is nil. It holds only
	// if the decision to stop looked at no result.
	Released        *account.Answer `json:"released,omitempty"`
	TargetEpsilon   float64         `json:"target_epsilon,omitempty"` // the budget; 0 for none
	NoiseMultiplier float64         `json:"noise_multiplier"`
	score.Test
	ByClass            []score.Class `json:"accuracy_by_class,omitempty"` // with intervals: who pays for the noise
	Average            string        `json:"average"`                     // of the parameters, which model and accuracy are of: training.average
	Seconds            float64       `json:"seconds"`                     // of this part of the run
	ExamplesPerSecond  float64       `json:"examples_per_second"`         // expected examples, over the time of the steps of this part
	Run                string        `json:"run"`
	LedgerEntries      int           `json:"-"`
	LedgerHead         string        `json:"-"` // hash of the ledger after them
	statement.Together               // of all runs on this data, if there are others
}

// Progress is what a run shows while it goes on.
type Progress struct {
	Step, Steps       int
	Spent             account.Spent // of the steps so far, or of the next few too where the accountant is slow
	Budget            *accountant.Guarantee
	Evaluated         bool                 // whether Evaluation is of this step
	Evaluation        gradients.Evaluation // the newest one, zero before the first
	LearningRate      float64
	ClipNorm          float64 // of the step to come where it changes from step to step, 0 where it does not
	Seconds           float64
	SecondsPerStep    float64 // mean of this process, steps alone
	ExamplesPerSecond float64 // expected examples over the time of the steps
}

// Watcher holds the functions that a training run calls before its first step, after every step and
// at its end. A function that is nil is not called.
type Watcher = run.Watcher[Overview, Progress, Result]

// Overview describes a run at its start: its folder, its data, its network and its plan.
type Overview struct {
	Run              string // its folder
	Data             string
	Examples         int
	Parameters       int
	Plan             *RunPlan
	ResumedAt        int // steps behind the checkpoint that the run goes on from; 0 for a new one
	LedgerEntries    int
	PrivateDiagnosed bool
	Processes        []int64 // of the ranks, where there are several
}

// The cost of watching ε: a share of the training time, or a number of questions if that is less.
const (
	meterShare     = 0.02
	meterQuestions = 20
)

// meter shows ε while a run goes on. An exact answer takes about as long as a step of a small
// network, so the meter asks ahead: about the ledger and the next few steps together. Until these
// have run the answer stands, and it is an upper bound of what was spent. Files and the final
// result are about the ledger alone and do not come from here.
type meter struct {
	spent   account.Spent
	covers  int     // releases that spent is the cost of; 0 before the first question
	seconds float64 // that the last question took
}

// read returns an upper bound of what the run has spent so far.
func (m *meter) read(r *Run) (account.Spent, error) {
	l := r.Books.Ledger()
	if l.Count() <= m.covers {
		return m.spent, nil
	}
	next, made := l.Clone(), r.plan.stepsIn(l)
	for step := range m.ahead(r, l.Count()) {
		if err := next.Add(r.plan.Event(made+step), 1); err != nil {
			return account.Spent{}, err
		}
	}
	start := time.Now()
	var err error
	if m.spent, err = r.plan.Spent(next); err != nil {
		return account.Spent{}, err
	}
	m.covers, m.seconds = next.Count(), time.Since(start).Seconds()
	return m.spent, nil
}

// ahead returns how many steps beyond the releases so far the next answer is to cover.
func (m *meter) ahead(r *Run, releases int) int {
	if !r.plan.accounts.Two() || m.covers == 0 {
		return 0 // RDP takes microseconds, and a first question its time
	}
	perStep := r.PerStep()
	steps := min(m.seconds/meterShare/perStep, float64(r.plan.Steps)/meterQuestions, float64(r.plan.MaxSteps-releases))
	return max(0, int(math.Ceil(steps)))
}
