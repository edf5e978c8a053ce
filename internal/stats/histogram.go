package stats

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/theorems"
	"dpsgd/configs"
	"dpsgd/internal/random"
	"dpsgd/local"
)

// histogram counts the records of every class, or in every one of equal parts of the bounds.
func (a *asked) histogram(w *work) (estimate, error) {
	if a.Trust != configs.Curator {
		return a.local(w)
	}
	buckets, number := a.buckets(w)
	noisy, err := w.counts(a.noise(), buckets, number)
	if err != nil {
		return estimate{}, err
	}
	e := vector(number)
	for i, x := range noisy {
		e.set(i, float64(x), around(float64(x), a.noise().within(1, miss)))
	}
	return e, nil
}

// buckets returns the index of every record's bucket, and the number of buckets, which are classes
// or equal parts of the bounds.
func (a *asked) buckets(w *work) (buckets []int, number int) {
	number = a.Bins
	if a.Kind == configs.StatQuantiles {
		number = a.places(w.records.public)
	}
	if a.columns[0].Class {
		number = len(w.records.config.Data.Learnt())
	}
	for r := range w.records.each() {
		if a.columns[0].Class {
			buckets = append(buckets, r.class())
		} else {
			buckets = append(buckets, bucket(r.number(a.columns[0]), a.Bounds.Interval, number))
		}
	}
	return buckets, number
}

// bucket returns which of number equal parts of the bounds holds x. A part holds its low end, and
// the last one its high end, too.
func bucket(x float64, b configs.Interval, number int) int {
	at := math.Floor((b.Nearest(x) - b.Low) / (b.High - b.Low) * float64(number))
	return min(int(at), number-1)
}

// edge returns the low end of bucket i of number equal ones of b; the high end of b if i is number.
func edge(i int, b configs.Interval, number int) float64 {
	if i == number {
		return b.High
	}
	return b.Low + (b.High-b.Low)*float64(i)/float64(number)
}

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
		var together float64
		var err error
		if name == "randomized_response" { // for which the bound is tighter
			together, err = theorems.ShuffleResponse(middle, values, n, delta)
		} else {
			together, err = theorems.Shuffle(middle, n, delta)
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
