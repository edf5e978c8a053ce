// Package stats computes private statistics: counts, sums, means, variances, histograms, quantiles
// and covariances, and the first count above a threshold, of the training examples of a data set.
//
//	file ─► plan: every statistic's mechanisms at its share of the budget, calibrated together
//	     ─► ask: each in turn, through package answer or, where nobody is trusted, package local
//	     ─► result: a value and the interval of its noise, kept in the folder of the run
//
// The plan asks every statistic of no records: the cost of a mechanism depends on public parameters
// alone, so the events equal those of the real questions. With share w of the budget (ε, δ) a
// statistic gets mechanisms that are (wε, wδ)-private by themselves, and fit the budget together by
// basic composition; then all noise is scaled by one factor, the least with which the accountant
// says that they fit.
//
// A record contributes an integer function of itself: numbers outside their bounds become the
// nearest end, moved to the middle and counted in steps of 2^-20 of half the bounds' width. The
// number of records is public (see package release), so a mean is a sum over a known number.
package stats

import (
	"fmt"
	"slices"

	"dpsgd/accountant"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/setup"
	"dpsgd/release"
	"dpsgd/release/answer"
)

// asked is a statistic with its part of the budget and its noise.
type asked struct {
	configs.Statistic
	epsilon, delta float64            // its share of the budget; Gaussian noise has no δ here
	multiplier     float64            // of Gaussian noise at that share
	factor         float64            // scales the noise of all statistics; their ε are divided by it
	releases       *accountant.Ledger // the events of this statistic
	columns        []configs.Column
}

// plan is all statistics of a file, in the order in which they are asked, calibrated together.
type plan struct {
	asked    []asked
	budget   accountant.Guarantee
	accounts account.Accountants
	releases *accountant.Ledger // all events
}

// newPlan shares the budget out among the statistics of f and calibrates their noise for n records.
// It sets mechanisms that f left open, and finds what is wrong before anything is paid for.
func newPlan(f *configs.StatisticsFile, n int) (*plan, error) {
	privacy := f.Config.Privacy
	// A mechanism that publishes one record in n with certainty is (0, 1/n)-private.
	if err := setup.CheckDelta(privacy.Delta, n, "records"); err != nil {
		return nil, err
	}
	accounts, err := account.New(privacy.Accountant, accountant.ZeroOut)
	if err != nil {
		return nil, err
	}
	p := &plan{asked: withBounds(f.Statistics), accounts: accounts}
	for i := range p.asked {
		if p.asked[i].columns, err = columns(f.Config, p.asked[i].Statistic); err != nil {
			return nil, err
		}
	}
	p.budget = accountant.Guarantee{Epsilon: privacy.Epsilon, Delta: privacy.Delta, Relation: accountant.ZeroOut}
	if err := p.share(n); err != nil {
		return nil, err
	}
	for i, known := 0, 0; i < len(p.asked); i++ {
		if p.asked[i].Kind != boundsKind { // the run keeps what the plan has chosen
			f.Statistics[known] = p.asked[i].Statistic
			known++
		}
	}
	nothing := records{config: f.Config, public: n}
	factor, err := p.calibrate(nothing)
	if err != nil {
		return nil, err
	}
	p.releases, err = p.dry(nothing, factor)
	return p, err
}

// withBounds returns list, with searches for private bounds ahead of the statistics that need them.
func withBounds(list []configs.Statistic) (all []asked) {
	var found []string
	for _, s := range list {
		if s.Bounds.Private && !slices.Contains(found, s.Columns[0]) {
			found = append(found, s.Columns[0])
			all = append(all, asked{Statistic: configs.Statistic{Kind: boundsKind, Columns: s.Columns, Mechanism: boundsMechanism, Trust: configs.Curator, Share: 1}})
		}
		all = append(all, asked{Statistic: s})
	}
	return all
}

// share gives every statistic its part of ε, and of δ if it needs one; n is the number of records.
func (p *plan) share(n int) error {
	shares, withDelta := 0.0, 0.0
	for _, a := range p.asked {
		shares += a.Share
		if a.approximate() {
			withDelta += a.Share
		}
	}
	for i := range p.asked {
		a := &p.asked[i]
		a.epsilon = p.budget.Epsilon * a.Share / shares
		if a.Kind == configs.StatQuantiles && a.Mechanism == "" {
			a.factor = 1
			a.Mechanism, a.Interval = a.best(n)
		}
		switch delta := p.budget.Delta * a.Share / withDelta; {
		case !a.approximate():
		case !gaussian(a.Mechanism):
			a.delta = lastingShare * delta
		default:
			var err error
			event := func(sigma float64) accountant.Event { return accountant.Gaussian{NoiseMultiplier: sigma} }
			target := accountant.Guarantee{Epsilon: a.epsilon, Delta: delta, Relation: accountant.ZeroOut}
			if a.multiplier, err = accountant.CalibrateNoiseMultiplier(p.accounts, event, 1, target); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	// lastingShare is the part of their share of δ that mixed reports, and the test of a median,
	// take: it adds up with the δ of all others, also of other runs on the data. Gaussian noise has
	// an ε for every δ instead. The part is small, which costs about a fifth more noise.
	lastingShare = 1e-3
	mostFactor   = 64 // of the noise that is tried, relative to basic composition
)

// approximate reports whether the statistic needs a δ.
func (a *asked) approximate() bool {
	return gaussian(a.Mechanism) || a.Trust == configs.Shuffler || a.Kind == configs.StatMedian
}

// calibrate returns the least factor on all noise that keeps the statistics together within the
// budget, at most 1 % too large. The factor may be above 1: an accountant can be looser than basic
// composition, which needs 1. calibrate fails if mostFactor is too little.
func (p *plan) calibrate(nothing records) (float64, error) {
	fits := func(factor float64) (bool, error) {
		planned, err := p.dry(nothing, factor)
		if err != nil {
			return false, err
		}
		within, err := p.asks(planned)
		if err != nil {
			err = fmt.Errorf("%w: what the statistics cost together: %w; expected another mechanism (no accountant takes discrete_gaussian of sums together with mixed reports or a median)", setup.ErrPlan, err)
		}
		return within, err
	}
	low, high := 0.0, 1.0
	for enough := false; !enough; {
		var err error
		if enough, err = fits(high); err != nil {
			return 0, err
		}
		if enough {
			break
		}
		if low, high = high, 2*high; high > mostFactor {
			return 0, fmt.Errorf("%w: the %d statistics together pass ε = %g at δ = %g by %s with %d times the noise still", accountant.ErrUnreachable, len(p.asked), p.budget.Epsilon, p.budget.Delta, p.accounts.Name(), mostFactor)
		}
	}
	for step := 0.99; high-low > high/500; step = 0.5 {
		middle := low + (high-low)*step
		enough, err := fits(middle)
		if err != nil {
			return 0, err
		}
		if enough {
			high = middle
			continue
		}
		if low = middle; step > 0.5 {
			return high, nil
		}
	}
	return high, nil
}

// dry answers every statistic without records, with noise scaled by factor, and returns the ledger
// of the events: they equal the events of the real questions.
func (p *plan) dry(nothing records, factor float64) (*accountant.Ledger, error) {
	for i := range p.asked {
		a := &p.asked[i]
		a.factor = factor
		paper := new(release.MemoryJournal)
		trial := *a
		if a.Bounds.Private {
			trial.Bounds.Interval = configs.Interval{Low: 0, High: 1}
		}
		if _, err := trial.answer(&work{records: nothing, desk: answer.NewDesk(paper, nil), dry: true}); err != nil {
			return nil, fmt.Errorf("%w: the %s of %s: %w", setup.ErrPlan, a.Kind, columnName(a.Statistic), err)
		}
		a.releases = paper.Ledger()
	}
	return with(new(accountant.Ledger), p.asked)
}

// with returns a copy of ledger l with the releases of the statistics added.
func with(l *accountant.Ledger, statistics []asked) (*accountant.Ledger, error) {
	l = l.Clone()
	for _, a := range statistics {
		if err := account.AddAll(l, a.releases); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// allows reports whether one event more stays within the budget of the run.
func (p *plan) allows(spent *accountant.Ledger, next accountant.Event) (bool, error) {
	l, err := spent.With(next, 1)
	if err != nil {
		return false, err
	}
	return p.within(l)
}

// within reports whether a ledger stays within the budget. If all its events are of the plan, it
// does, without asking the accountant: the plan does, and an ε does not fall when events are added.
func (p *plan) within(l *accountant.Ledger) (bool, error) {
	if account.Holds(p.releases, l) {
		return true, nil
	}
	return p.asks(l)
}

// asks reports whether the accountant finds a ledger within the budget.
func (p *plan) asks(l *accountant.Ledger) (bool, error) {
	g, err := p.accounts.Guarantee(l, p.budget.Delta)
	return err == nil && g.Within(p.budget), err
}

// cost returns the (ε, δ) that a statistic costs by itself: its share of the budget over the factor
// of the noise, or, with Gaussian noise, the accountant's ε at the δ of the budget.
func (p *plan) cost(a *asked) (epsilon, delta float64, err error) {
	if !gaussian(a.Mechanism) {
		return a.epsilon / a.factor, a.delta, nil
	}
	g, err := p.accounts.Guarantee(a.releases, p.budget.Delta)
	return g.Epsilon, p.budget.Delta, err
}

// work holds the records and the desk that a statistic is computed with.
type work struct {
	records records
	desk    *answer.Desk
	dry     bool // there are no records: only the events count
}

// methods has the method that computes each kind of statistic.
var methods = map[string]func(*asked, *work) (estimate, error){
	configs.StatCount:          (*asked).count,
	configs.StatSum:            (*asked).sum,
	configs.StatMean:           (*asked).mean,
	configs.StatVariance:       (*asked).covariance,
	configs.StatCovariance:     (*asked).covariance,
	configs.StatHistogram:      (*asked).histogram,
	configs.StatQuantiles:      (*asked).quantiles,
	configs.StatMedian:         (*asked).median,
	configs.StatAboveThreshold: (*asked).aboveThreshold,
	boundsKind:                 (*asked).bounds,
}

func (a *asked) answer(w *work) (estimate, error) { return methods[a.Kind](a, w) }

// names returns a name for each number of a list, such as the part of the bounds that a count is
// of; none for a single number.
func (r *Run) names(a *asked) (names []string) {
	c := r.file.Config
	switch columns := a.Names(c); a.Kind {
	case configs.StatHistogram:
		if column, err := configs.ColumnOf(c, a.Columns[0]); err == nil && column.Class {
			return c.Data.Learnt()
		}
		b := a.Bounds.Interval
		if a.Bounds.Private {
			b, _ = r.foundBounds(a.Columns[0])
		}
		for i := range a.Bins {
			names = append(names, fmt.Sprintf("%.4g to %.4g", edge(i, b, a.Bins), edge(i+1, b, a.Bins)))
		}
	case configs.StatQuantiles:
		for _, q := range a.Quantiles {
			names = append(names, fmt.Sprintf("%g of the records", q))
		}
	case configs.StatCovariance:
		for _, x := range columns {
			for _, y := range columns {
				names = append(names, x+" × "+y)
			}
		}
	case configs.StatMean:
		if a.Many() {
			return columns
		}
	case boundsKind:
		return []string{"low", "high"}
	}
	return names
}
