package account

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dpsgd/accountant"
	"dpsgd/data"
)

// Unknown names the number that a question asks for; the rest is given.
type Unknown int

// The unknowns. For the last three, (ε, δ) is a budget that the answer stays within.
const (
	Epsilon             Unknown = iota // at δ, of all releases
	Delta                              // at ε, of all releases
	NoiseMultiplier                    // the least one, the same for all releases
	SamplingProbability                // the largest one, the same for all releases
	Steps                              // the most further releases of one event
)

// View says by which accountant, under which relation and for which groups of records to answer.
type View struct {
	Accountant string // a name that accountants.New knows
	Relation   accountant.Relation
	GroupSize  int // records that differ together; 0 and 1 are one record
}

// Question is about releases that were made or are thought of.
type Question struct {
	View
	Unknown Unknown
	named   bool // whether the asker named the accountant

	// Ledger holds the releases. Where their noise multiplier or sampling probability is asked for,
	// any valid one stands in its place.
	Ledger *accountant.Ledger

	Step    accountant.Event // for Steps: the event that is released again and again, after those in Ledger
	Epsilon float64          // finite and above 0, or at least 0 for Delta; not used for Epsilon
	Delta   float64          // in (0, 1); not used for Delta
	Run     string           // the folder that the ledger is from, to be named in the answer
	Unit    string           // what differs in place of a record, to be named too; "" is a record

	// Divisor is the number that δ is divided by, because the number of releases was chosen after
	// some of them: see Choice. 0 and 1 leave δ as it is.
	Divisor float64

	// Made holds the releases by now of a run that stopped before it made all those in Ledger. It
	// is nil in any other question.
	Made *Made
}

// Made holds the releases of a run by now, and the number that δ is divided by for them.
type Made struct {
	Ledger  *accountant.Ledger
	Divisor float64
}

// DefaultAccountant answers questions that name none.
const DefaultAccountant = Exact

// DPSGD returns the event of one step of DP-SGD: Gaussian noise on the sum over a Poisson sample.
func DPSGD(samplingProbability, noiseMultiplier float64) accountant.Event {
	return data.Poisson{SamplingProbability: samplingProbability}.Sampled(accountant.Gaussian{NoiseMultiplier: noiseMultiplier})
}

// InTurns returns the event of one step of DP-SGD with samples as large, drawn from the one of so
// many blocks whose turn it is; of all records for blocks = 0.
func InTurns(blocks int, samplingProbability, noiseMultiplier float64) accountant.Event {
	inside := DPSGD(samplingProbability*float64(max(1, blocks)), noiseMultiplier)
	if blocks == 0 {
		return inside
	}
	return accountant.CyclicSampled{Blocks: blocks, Event: inside}
}

// ErrFixed is matched where the releases do not have the parameter that a question asks for.
var ErrFixed = errors.New("train: the releases do not have what is asked for")

func withNoise(e accountant.Event, sigma float64) (accountant.Event, error) {
	e, err := accountant.WithNoiseMultiplier(e, sigma)
	if err != nil {
		err = fmt.Errorf("%w: %w to solve for", ErrFixed, err)
	}
	return e, err
}

func withSampling(e accountant.Event, q float64) (accountant.Event, error) {
	e, err := accountant.WithSamplingProbability(e, q)
	if err != nil {
		err = fmt.Errorf("%w: %w to solve for", ErrFixed, err)
	}
	return e, err
}

// variable holds the releases of a ledger as a function of a parameter that they share.
type variable struct {
	with    func(accountant.Event, float64) (accountant.Event, error)
	entries []accountant.Entry
}

// vary returns the releases of l as a function of the parameter, which each of them must have.
func vary(l *accountant.Ledger, with func(accountant.Event, float64) (accountant.Event, error)) (variable, error) {
	v := variable{with, l.Entries()}
	if len(v.entries) == 0 {
		return v, fmt.Errorf("%w: nothing was released yet, expected at least one release", ErrFixed)
	}
	_, err := v.ledger(0.5)
	return v, err
}

// ledger returns the releases with the parameter x.
func (v variable) ledger(x float64) (*accountant.Ledger, error) {
	entries := slices.Clone(v.entries)
	for i := range entries {
		var err error
		if entries[i].Event, err = v.with(entries[i].Event, x); err != nil {
			return nil, err
		}
	}
	return ledgerOf(entries)
}

// event returns what a solver takes: one event for all entries as a function of the parameter, and
// how often it is released. It meets no error that vary has not met.
func (v variable) event() (event func(x float64) accountant.Event, count int) {
	if len(v.entries) == 1 {
		return func(x float64) accountant.Event {
			e, _ := v.with(v.entries[0].Event, x)
			return e
		}, v.entries[0].Count
	}
	return func(x float64) accountant.Event {
		var l accountant.Ledger
		for _, entry := range v.entries {
			e, _ := v.with(entry.Event, x)
			if l.Add(e, entry.Count) != nil {
				return e // which does not validate: the solver says so
			}
		}
		c, _ := l.Composed()
		return c
	}, 1
}

// uniform returns the one setting of DP-SGD that made all releases. ok is false if there is none.
func uniform(l *accountant.Ledger) (samplingProbability, noiseMultiplier float64, ok bool) {
	entries := l.Entries()
	if len(entries) != 1 {
		return 0, 0, false
	}
	return parameters(entries[0].Event)
}

func parameters(e accountant.Event) (samplingProbability, noiseMultiplier float64, ok bool) {
	if turns, ok := e.(accountant.CyclicSampled); ok {
		inside, sigma, ok := parameters(turns.Event)
		return inside / float64(turns.Blocks), sigma, ok
	}
	if shares, ok := e.(accountant.BallsInBins); ok {
		noise, ok := shares.Event.(accountant.Gaussian)
		return 1 / float64(shares.Bins), noise.NoiseMultiplier, ok
	}
	sampled, ok := e.(accountant.PoissonSampled)
	if !ok {
		return 0, 0, false
	}
	noise, ok := sampled.Event.(accountant.Gaussian)
	return sampled.SamplingProbability, noise.NoiseMultiplier, ok
}

// MostSteps bounds the steps of a question, and of an answer for Steps: larger counts would not
// fit 32-bit platforms.
const MostSteps = 1_000_000_000

// maxSteps returns accountant.MaxSteps with the limit MostSteps. It raises the limit step by step:
// far past a budget, an accountant that certifies its numerics may have no answer.
func maxSteps(a accountant.Accountant, e accountant.Event, target accountant.Guarantee) (int, error) {
	for limit := 1 << 10; ; limit <<= 3 {
		limit = min(limit, MostSteps)
		n, err := accountant.MaxSteps(a, e, target, limit)
		if err != nil || n < limit || limit == MostSteps {
			return n, err
		}
	}
}

// validate refuses a question without a ledger, or with a number out of range.
func (q Question) validate() error {
	switch {
	case q.Ledger == nil:
		return fmt.Errorf("%w: the ledger is nil", accountant.ErrInvalid)
	case q.GroupSize < 0:
		return fmt.Errorf("%w: the group size is %d, expected at least 1", accountant.ErrInvalid, q.GroupSize)
	case q.Unknown == Delta && !(q.Epsilon >= 0 && !math.IsInf(q.Epsilon, 1)):
		return fmt.Errorf("%w: epsilon is %v, expected a finite number of at least 0", accountant.ErrInvalid, q.Epsilon)
	case q.Unknown != Delta && !(q.Delta > 0 && q.Delta < 1):
		return fmt.Errorf("%w: delta is %v, expected a number above 0 and below 1", accountant.ErrInvalid, q.Delta)
	case q.Unknown > Delta && !(q.Epsilon > 0 && !math.IsInf(q.Epsilon, 1)):
		return fmt.Errorf("%w: the budget epsilon is %v, expected a finite number above 0", accountant.ErrInvalid, q.Epsilon)
	}
	return nil
}

// Counts returns the number of releases of each event in a ledger.
func Counts(l *accountant.Ledger) map[accountant.Event]int {
	n := map[accountant.Event]int{}
	for _, e := range l.Entries() {
		n[e.Event] += e.Count
	}
	return n
}

// Holds reports whether every event of l is in the ledger whole at least as often as in l.
func Holds(whole, l *accountant.Ledger) bool {
	left := Counts(whole)
	for _, e := range l.Entries() {
		if left[e.Event] -= e.Count; left[e.Event] < 0 {
			return false
		}
	}
	return true
}

// AddAll adds the releases of the ledger from to the ledger to, of the same run:
// [accountant.Ledger.Join] adds those of another one.
func AddAll(to, from *accountant.Ledger) error {
	for _, e := range from.Entries() {
		if err := to.Add(e.Event, e.Count); err != nil {
			return err
		}
	}
	return nil
}

// Beginning returns a ledger of the first n releases of l, of all if l has fewer.
func Beginning(l *accountant.Ledger, n int) (*accountant.Ledger, error) { return Part(l, 0, n) }

// Part returns a ledger of n releases of l that come after the first so many, of fewer if l ends.
func Part(l *accountant.Ledger, after, n int) (*accountant.Ledger, error) {
	entries := l.Entries()
	for i := range entries {
		skipped := min(after, entries[i].Count)
		entries[i].Count = min(n, entries[i].Count-skipped)
		after, n = after-skipped, n-entries[i].Count
	}
	return ledgerOf(entries)
}

func ledgerOf(entries []accountant.Entry) (*accountant.Ledger, error) {
	l := new(accountant.Ledger)
	for _, e := range entries {
		if err := l.Add(e.Event, e.Count); err != nil {
			return nil, err
		}
	}
	return l, nil
}
