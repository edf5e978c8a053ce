package release

import "dpsgd/accountant"

// Schedule describes the first so many releases of the plan.
func (p Plan) Schedule(releases int) (*accountant.Ledger, error) {
	l := new(accountant.Ledger)
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
