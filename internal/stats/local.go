package stats

import (
	"fmt"

	"dpsgd/accountant"
	"dpsgd/accountant/theorems"
	"dpsgd/configs"
	"dpsgd/internal/random"
	"dpsgd/local"
)

// local estimates a histogram from reports: each record is randomized by itself. Nobody has to be
// trusted, or only somebody to mix the reports.
//
// The ledger gets one event for all reports. A record is in one report, which is (ε, 0)-private for
// it whatever it says, and so are all of them together, as they are independent (parallel
// composition, McSherry 2009, Theorem 4): ApproxDP{ε, 0}. A record that is zeroed out still sends a
// report, of one fixed value. Mixed reports are ApproxDP{ε, δ}, by amplification; see mixed.
func (a *asked) local(w *work) (estimate, error) {
	buckets, number := a.buckets(w)
	epsilon := a.epsilon / a.factor
	protocol, err := a.protocol(w, number, epsilon)
	if err != nil {
		return estimate{}, err
	}
	if err := w.desk.Pay(accountant.ApproxDP{Epsilon: epsilon, Delta: a.delta}); err != nil {
		return estimate{}, err
	}
	tally, src := local.NewTally(protocol), random.New()
	for _, b := range buckets {
		tally.Add(protocol.Randomize(b, src))
	}
	e := vector(number)
	e.mechanism = protocol.Name()
	for i, c := range tally.Counts() {
		e.set(i, c.Value, configs.Interval{Low: c.Low, High: c.High})
	}
	return e, nil
}

// maxLocal bounds the ε of one report.
const maxLocal = 20

// protocol returns the protocol of the statistic's mechanism; if it names none, the less noisy one
// of randomized response and unary for rare values. A mixed report may cost more than epsilon.
func (a *asked) protocol(w *work, values int, epsilon float64) (best local.Protocol, err error) {
	names := []string{a.Mechanism}
	if a.Mechanism == "" {
		names = []string{"randomized_response", "unary"}
	}
	other := make([]float64, values) // a record with another value than the first
	other[1] = 1
	for _, name := range names {
		each := min(epsilon, maxLocal)
		if a.Trust == configs.Shuffler && !w.dry {
			if each, err = mixed(name, values, w.records.public, epsilon, a.delta); err != nil {
				return nil, err
			}
		}
		p, err := protocolOf(name, values, each)
		if err != nil {
			return nil, err
		}
		if best == nil || p.Variance(other)[0] < best.Variance(other)[0] {
			best = p
		}
	}
	return best, nil
}

// mixed returns the largest ε that one report of the protocol called name may cost so that n of
// them are (epsilon, delta)-private together once they are mixed. The theorems replace a record's
// value by any other one, and so also by the one that stands for an empty place.
func mixed(name string, values, n int, epsilon, delta float64) (float64, error) {
	// Reports that are not mixed cost epsilon, so mixed ones may never cost less each.
	low, high := min(epsilon, maxLocal), maxLocal+0.0
	for high-low > low/1000 {
		middle := (low + high) / 2
		together, err := theorems.Shuffle(middle, n, delta)
		if name == "randomized_response" { // for which the bound is tighter
			together, err = theorems.ShuffleResponse(middle, values, n, delta)
		}
		if err != nil {
			return 0, err
		}
		if together <= epsilon {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

func protocolOf(name string, values int, epsilon float64) (local.Protocol, error) {
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
	return nil, fmt.Errorf("stats: found the mechanism %q, expected one of %v", name, configs.LocalMechanisms)
}
