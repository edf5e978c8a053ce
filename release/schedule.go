package release

import "dpsgd/accountant"

// Constant is an optional method of a [Mechanism]: whether all its releases have the event of the
// first. Then a schedule of millions of releases takes no longer than one of two.
type Constant interface{ Constant() bool }

// Constant reports whether the mechanism has no noise schedule.
func (m *Gaussian) Constant() bool { return m.schedule == nil }

// Schedule describes the first so many releases of the plan.
func (p Plan) Schedule(releases int) (*accountant.Ledger, error) {
	l := new(accountant.Ledger)
	if c, known := p.Mechanism.(Constant); known && c.Constant() {
		return l, l.Add(p.Event(0), max(0, releases))
	}
	for step := 0; step < releases; {
		event, end := p.Event(step), step+1
		for end < releases && p.Event(end) == event {
			end++
		}
		if err := l.Add(event, end-step); err != nil {
			return nil, err
		}
		step = end
	}
	return l, nil
}
