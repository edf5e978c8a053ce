package train

import (
	"math"
	"time"

	"dpsgd/internal/account"
)

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
	next := l.Clone()
	for step := range m.ahead(r, l.Count()) {
		if err := next.Add(r.plan.Event(r.Step+step), 1); err != nil {
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
