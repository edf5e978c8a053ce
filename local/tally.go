package local

import "math"

// Tally adds up the reports of a protocol. It is not safe for concurrent use.
type Tally struct {
	protocol Protocol
	scores   []float64
	reports  int
}

// NewTally returns a tally of the protocol p without reports.
func NewTally(p Protocol) *Tally { return &Tally{protocol: p, scores: make([]float64, p.Values())} }

// Add counts a report, which must be one of the protocol.
func (t *Tally) Add(r Report) {
	t.protocol.Add(t.scores, r)
	t.reports++
}

// Count is an estimate of how many records have a value. It is unbiased, and so may be negative.
type Count struct {
	Value     float64
	Deviation float64 // the standard deviation over the randomness of the reports
	Low, High float64 // the true number is between them with a chance of 95 %, exact for many reports
}

// quantile is the number above which the standard normal distribution has 2.5 %.
const quantile = 1.959963984540054

// Counts estimates the count of every value. Deviations are computed from the estimated counts,
// since the true ones are not known; the deviation of a rare value hardly depends on them.
func (t *Tally) Counts() []Count {
	plausible := make([]float64, len(t.scores))
	for v, s := range t.scores {
		plausible[v] = min(max(0, s), float64(t.reports))
	}
	counts := make([]Count, len(t.scores))
	for v, variance := range t.protocol.Variance(plausible) {
		deviation := math.Sqrt(variance)
		counts[v] = Count{Value: t.scores[v], Deviation: deviation, Low: t.scores[v] - quantile*deviation, High: t.scores[v] + quantile*deviation}
	}
	return counts
}

// pure is the estimator of a pure protocol (Wang, Blocki, Li, Jha 2017, section 3.1): a report
// supports some of the values, its own one with probability truth, and every other one with
// probability lie.
type pure struct{ truth, lie float64 }

// scores returns what a report adds to the score of a value that it supports, and of one that it
// does not, by equation (1) of the paper.
func (p pure) scores() (supported, other float64) {
	return (1 - p.lie) / (p.truth - p.lie), -p.lie / (p.truth - p.lie)
}

// add adds a report to the scores. supports says which values the report supports.
func (p pure) add(scores []float64, supports func(v int) bool) {
	supported, other := p.scores()
	for v := range scores {
		if supports(v) {
			scores[v] += supported
		} else {
			scores[v] += other
		}
	}
}

// Variance implements [Protocol]. The variance of a count is what the records with the value add to
// it, plus what the records without the value add (Theorem 2).
func (p pure) Variance(counts []float64) []float64 {
	all := 0.0
	for _, c := range counts {
		all += c
	}
	out := make([]float64, len(counts))
	for v, c := range counts {
		out[v] = (c*p.truth*(1-p.truth) + (all-c)*p.lie*(1-p.lie)) / ((p.truth - p.lie) * (p.truth - p.lie))
	}
	return out
}
