package stats

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/composition"
	"dpsgd/configs/statistics"
	"dpsgd/internal/random"
	"dpsgd/local"
	"dpsgd/release"
)

// local is a histogram of reports: each record is randomized by itself, and nobody is trusted with
// it, or somebody who mixes the reports and nothing else.
//
// What the ledger gets is one event for all reports. A record is in one report, which is
// (ε, 0)-private for it whatever it says, and so are all of them together, as they are independent
// (parallel composition, McSherry 2009, Theorem 4): ApproxDP{ε, 0}. Where a record's place is empty,
// its report is that of some fixed value, which is one more value to be hidden among. Mixed reports
// are ApproxDP{ε, δ}, by amplification; see [localEpsilon].
func (a *asked) local(w *work) (estimate, error) {
	buckets, number, err := a.buckets(w)
	if err != nil {
		return estimate{}, err
	}
	epsilon := a.epsilon / a.factor
	each := min(epsilon, maxLocal)
	if a.Trust == statistics.Shuffler && !w.dry {
		if each, err = localEpsilon(epsilon, a.delta, w.records.public); err != nil {
			return estimate{}, err
		}
	}
	protocol, err := protocolOf(a.Mechanism, number, each)
	if err != nil {
		return estimate{}, err
	}
	if err := w.pay(accountant.ApproxDP{Epsilon: epsilon, Delta: a.delta}); err != nil {
		return estimate{}, err
	}
	tally, src := local.NewTally(protocol), random.New()
	for _, b := range buckets {
		tally.Add(protocol.Randomize(b, src))
	}
	e := vector(number)
	e.mechanism = protocol.Name()
	for i, c := range tally.Counts() {
		e.set(i, c.Value, statistics.Interval{Low: c.Low, High: c.High})
	}
	return e, nil
}

// maxLocal is the most that a report may cost.
const maxLocal = 20

// localEpsilon is the most that a report may cost for n of them to be (epsilon, delta)-private once
// they are mixed. The bound is about replacing a record's value, by any other and so by that of an
// empty place.
func localEpsilon(epsilon, delta float64, n int) (float64, error) {
	low, high := 0.0, maxLocal+0.0
	for range 30 {
		middle := (low + high) / 2
		mixed, err := composition.Shuffle(middle, n, delta)
		if err != nil {
			return 0, err
		}
		if mixed <= epsilon {
			low = middle
		} else {
			high = middle
		}
	}
	// Reports that are not mixed cost epsilon, so mixed ones may never cost less each.
	return max(low, min(epsilon, maxLocal)), nil
}

// protocolOf makes the protocol with that name, or the one with the least variance of rare values:
// randomized response for few of them (Wang, Blocki, Li, Jha 2017, section 5).
func protocolOf(name string, values int, epsilon float64) (local.Protocol, error) {
	if name == "" {
		name = "unary"
		if float64(values) < 3*math.Exp(epsilon)+2 {
			name = "randomized_response"
		}
	}
	switch name {
	case "randomized_response":
		return local.NewResponse(values, epsilon)
	case "unary":
		return local.NewUnary(values, epsilon)
	case "symmetric_unary":
		return local.NewSymmetricUnary(values, epsilon)
	case "local_hashing":
		return local.NewHashing(values, epsilon)
	case "rappor":
		return local.NewRappor(values, local.DefaultFilter, epsilon)
	}
	return nil, fmt.Errorf("stats: found the mechanism %q, expected one of %v", name, statistics.Local)
}

// pay writes the event of reports, if the budget allows it, ahead of all of them: the order of
// package answer.
func (w *work) pay(e accountant.Event) error {
	if w.budget != nil {
		within, err := w.budget(w.journal.Ledger(), e)
		if err != nil {
			return err
		}
		if !within {
			return fmt.Errorf("stats: %w", release.ErrBudget)
		}
	}
	return w.journal.Begin(w.journal.Ledger().Count()+1, e)()
}
