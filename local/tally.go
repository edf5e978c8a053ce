package local

import "math"

// Tally adds up the reports of a protocol. It is not safe for concurrent use.
type Tally struct {
	protocol Protocol
	scores   []float64
	reports  int
}

// NewTally returns an empty tally.
func NewTally(p Protocol) *Tally { return &Tally{protocol: p, scores: make([]float64, p.Values())} }

// Add counts a report.
func (t *Tally) Add(r Report) {
	t.protocol.Add(t.scores, r)
	t.reports++
}

// Count is an estimate of how many records have a value. It is unbiased, and so may be negative.
type Count struct {
	Value     float64
	Deviation float64 // of the randomness of the reports
	Low, High float64 // hold the number with a chance of 95 %, which is exact for many reports
}

// The normal distribution has 2.5 % above quantile.
const quantile = 1.959963984540054

// Counts estimates the count of every value. The deviation follows from the estimated counts, since
// the true ones are not known; of a rare value it hardly depends on them.
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
