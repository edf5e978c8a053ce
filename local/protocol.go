package local

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/internal/random"
)

// ErrInvalid is wrapped by errors about parameters out of range.
var ErrInvalid = errors.New("local: invalid parameter")

// Report is what leaves the holder of a record: bytes, of which every protocol has a fixed number.
type Report []byte

// Protocol is a randomizer of values 0 … Values()-1 with the estimator that belongs to it. Its
// parameters are public and fixed; it may be used by several goroutines, each with a source.
type Protocol interface {
	// Name returns the protocol's name in configurations.
	Name() string
	// String says in a few words what a report is, with its numbers.
	String() string
	// Values returns the number of values, at least 2.
	Values() int
	// Epsilon bounds the logarithm of P[r | v] / P[r | w] for all reports r and values v, w.
	Epsilon() float64
	// Randomize returns a report of a value. The source must come from random.New and serve nothing
	// else: whoever can repeat its words can undo the randomness of the report.
	Randomize(value int, src *random.Source) Report
	// Likelihood returns P[r | value] up to a factor that is the same for all values.
	Likelihood(value int, r Report) float64
	// Add adds to scores[v], for every v, a number whose mean over the randomness of r is 1 where r
	// is of the value v, and 0 where it is of another.
	Add(scores []float64, r Report)
	// Variance returns, for every value, the variance of the sum of its scores over all reports,
	// where counts[v] records have the value v.
	Variance(counts []float64) []float64
}

// maxEpsilon bounds the ε of a report: above it, a report says almost as much as the value itself.
const maxEpsilon = 20

// maxValues bounds the number of values that can be told apart.
const maxValues = 1 << 16

// claim holds a protocol's name, its number of values, and the ε that it promises for a report.
type claim struct {
	name    string
	values  int
	epsilon float64
}

func (c claim) Name() string     { return c.name }
func (c claim) Values() int      { return c.values }
func (c claim) Epsilon() float64 { return c.epsilon }

func newClaim(name string, values int, epsilon float64) (claim, error) {
	switch {
	case values < 2 || values > maxValues:
		return claim{}, fmt.Errorf("%w: found %d values, expected 2 to %d", ErrInvalid, values, maxValues)
	case !(epsilon > 0 && epsilon <= maxEpsilon):
		return claim{}, fmt.Errorf("%w: found an epsilon of %g, expected more than 0 and at most %d", ErrInvalid, epsilon, maxEpsilon)
	}
	return claim{name, values, epsilon}, nil
}

// chance is 2^63 times a probability, which is drawn exactly: from 0 to certain.
type chance uint64

const certain chance = 1 << 63

// atLeast returns x as a chance, rounded up by more than the rounding errors with which x was
// computed, so that it is not below the exact x.
func atLeast(x float64) chance {
	x *= 1 + 0x1p-48
	if x >= 1 {
		return certain
	}
	return chance(math.Ceil(x * 0x1p63))
}

func (c chance) draw(src *random.Source) bool { return src.Uint64()>>1 < uint64(c) }
func (c chance) value() float64               { return float64(c) * 0x1p-63 }

// complement returns the probability 1 - c. The subtraction is exact.
func (c chance) complement() float64 { return float64(certain-c) * 0x1p-63 }

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
