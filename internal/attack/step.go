package attack

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/chart"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
	"dpsgd/release"

	"gonum.org/v1/gonum/stat/distuv"
)

// Audited is what an audit is about: the plan of a run, and what the run claims.
type Audited struct {
	Name        string
	Plan        release.Plan
	Steps       int
	Step        int // the one with the least noise
	Coordinates int
	Ledger      *accountant.Ledger // the releases that the run claims to pay for
	Epsilon     float64            // what it claims they cost, at Delta
	Delta       float64
}

// StepAudit is the outcome of an audit of steps with canaries.
type StepAudit struct {
	Outcome
	Observed int `json:"observations"` // releases with the canary, and as many without, for each of Tests of one step
	// RunClaimed is what the run claims to spend; RunAtLeast what its releases cost with the least
	// noise multiplier and sampling probability that the tests leave possible, if all of its steps
	// are like those observed. It is 0 where no bound is known.
	RunClaimed float64 `json:"run_claimed"`
	RunAtLeast float64 `json:"run_at_least"`
	// Untested says which test was left out, and why; "" for none.
	Untested string `json:"untested,omitempty"`
}

// OfConfig returns what an audit of a configuration is about. If examples is above 0, the data has so
// many; otherwise data of one's own is counted, as [train.Describe] does.
func OfConfig(name string, c *configs.Config, examples int) (Audited, error) {
	o, err := setup.OutlineOf(c, examples)
	if err != nil {
		return Audited{}, err
	}
	p, err := train.NewPlan(c, setup.Records(c, o))
	if err != nil {
		return Audited{}, err
	}
	l, err := p.Schedule(p.MaxSteps)
	if err != nil {
		return Audited{}, err
	}
	spent, err := p.After(p.MaxSteps)
	if err != nil {
		return Audited{}, err
	}
	return about(name, c, p, l, spent.Epsilon)
}

// OfRun returns what an audit of a run is about: what its ledger holds and its configuration says. It
// reads no data.
func OfRun(dir string) (Audited, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return Audited{}, err
	}
	r, err := books.ReadReleases(dir)
	if err != nil {
		return Audited{}, err
	}
	cost, err := new(account.Answerer).Answer(r.Question(account.Epsilon))
	if err != nil {
		return Audited{}, err
	}
	// Sampling probability and noise are those of the ledger. How many records there are is of no
	// matter beside them: the audit has one.
	n := int(1/c.Privacy.Delta) - 1
	for _, e := range r.Claimed.Entries() {
		if sampled, ok := e.Event.(accountant.PoissonSampled); ok {
			n = int(math.Round(float64(c.Training.BatchSize) / sampled.SamplingProbability))
		}
	}
	entries := r.Claimed.Entries()
	first := slices.IndexFunc(entries, func(e accountant.Entry) bool { return accountant.NoiseMultiplier(e.Event) != c.Features.MeanNoise })
	if first >= 0 {
		c.Privacy.NoiseMultiplier = accountant.NoiseMultiplier(entries[first].Event)
	}
	c.Privacy.Epsilon, c.Privacy.Correlation = 0, configs.Independent // about refuses the sampling of any other
	p, err := train.NewPlan(c, n)
	if err != nil {
		return Audited{}, err
	}
	a, err := about(dir, c, p, r.Claimed, cost.Epsilon)
	if err == nil && !slices.ContainsFunc(entries, func(e accountant.Entry) bool { return e.Event == p.Event(0) }) {
		err = fmt.Errorf("%w: the ledger of %s holds %v, expected %v of its configuration", books.ErrOtherPlan, dir, entries, p.Event(0))
	}
	return a, err
}

func about(name string, c *configs.Config, p *train.RunPlan, l *accountant.Ledger, epsilon float64) (Audited, error) {
	if _, ok := p.Sampler.(release.Rotating); ok {
		return Audited{}, setup.Misfit("training.sampling", "is %s, expected poisson (with privacy.correlation none) or full for an audit: its releases are taken one by one", c.Training.Sampling.Name())
	}
	o := setup.Declared(c)
	m, err := setup.Sketch(c, o.Shape, o.Classes)
	if err != nil {
		return Audited{}, err
	}
	values, _ := m.Sizes()
	a := Audited{Name: name, Plan: p.Plan, Coordinates: min(values, mostCoordinates), Steps: l.Count(), Ledger: l, Epsilon: epsilon, Delta: p.Delta}
	if p.Mean != nil {
		a.Steps -= account.Counts(l)[p.Mean.Event(0)]
	}
	for step := range p.Steps {
		if constant, ok := p.Mechanism.(release.Constant); ok && constant.Constant() {
			break
		}
		if p.Mechanism.Deviation(step, 1) < p.Mechanism.Deviation(a.Step, 1) {
			a.Step = step
		}
	}
	return a, nil
}

// The level of all tests together is 1 - auditConfidence. Of it, the test of the sampling probability
// takes ofSampling, as its bound is what chance alone would pass at its level; those of ε, which need
// two errors to be below their bounds at once, share the rest.
const (
	auditConfidence = 0.95
	ofSampling      = 1e-4
	ofEpsilon       = (1 - auditConfidence - ofSampling) / 4
)

// How many observations Audit makes by itself, and in how many coordinates if there are many.
const (
	fewObserved, mostObserved = 20_000, 1_000_000
	fewCoordinates            = 512
)

// Audit tests what the releases of a plan claim, with a canary (Nasr et al. 2023, arXiv:2302.07956).
// The doors that open returns make the releases: for runs [OpenDoor]. n is how many are made with the
// canary, and as many without, for each test of one step; 0 is as many as the noise asks for.
//
// What is tested is: one step if the record is in its sample, against
// the exact trade-off curve of the mechanism; one step with the plan's own sampler, against that of
// the sampled mechanism; and how often the record is in a sample. The neighbours are a data set of
// one record and one of none, the hardest case for a sampler that leaves out empty batches.
//
// A lower bound on ε is that of the mechanism with the most noise that the observations leave
// possible, among those that differ from the claimed one in their noise multiplier alone.
func (a Audited) Audit(ctx context.Context, n int, open func(release.Plan, int) (Door, error)) (*StepAudit, error) {
	if n == 0 {
		// The relative error of a bound on μ = 1/σ is the same for n in proportion to σ².
		n = int(fewObserved * min(max(1, math.Pow(accountant.NoiseMultiplier(a.Plan.Event(a.Step)), 2)), mostObserved/fewObserved))
	}
	a.Coordinates = min(a.Coordinates, max(fewCoordinates, mostCoordinates*fewObserved/n))
	r := &StepAudit{Outcome: Outcome{Audit: "step", Private: true, Name: a.Name, Confidence: auditConfidence, Delta: a.Delta}, Observed: n, RunClaimed: a.Epsilon}
	if err := a.steps(ctx, r, open); err != nil {
		return nil, err
	}
	all, err := a.oneRun(ctx, ofEpsilon, open)
	if r.Tests = append(r.Tests, all...); len(all) == 1 {
		r.Untested = fmt.Sprintf("all steps, with noise of this law: found %d releases, expected at least %d (f-DP is not evaluated for fewer)", a.Ledger.Count(), fewestReleases)
	}
	r.Falsified = r.Err() != nil
	return r, err
}

// steps adds the tests of one step to r, and the bound on the run that follows from them.
func (a Audited) steps(ctx context.Context, r *StepAudit, open func(release.Plan, int) (Door, error)) error {
	event, inside := a.Plan.Event(a.Step), a.Plan
	inside.Sampler = data.Full{}
	given, err := a.one(ctx, "one step, if the record is in its sample", inside, unsampled(event), r.Observed, open)
	if err != nil {
		return err
	}
	r.Tests = append(r.Tests, given.Tested)
	r.ROC = []Curve{{"observed", rocOf(given.in[0], given.out[0])}}
	for _, rate := range rates() {
		r.Allowed = append(r.Allowed, chart.Point{X: rate, Y: 1 - given.curve.TypeII(rate)})
	}
	least := 1.0 // of the sampling probability
	if e, ok := event.(accountant.PoissonSampled); ok {
		sampled, err := a.one(ctx, "one step, as it is sampled", a.Plan, event, r.Observed, open)
		if err != nil {
			return err
		}
		q := e.SamplingProbability
		least = 1 - upperEnd(sampled.releases-sampled.drawn, sampled.releases, ofSampling)
		r.Tests = append(r.Tests, sampled.Tested, Tested{
			Claim: "how often a record is in a sample", Quantity: "q", Claimed: q, AtLeast: least, By: fmt.Sprintf("%d of %d samples", sampled.drawn, sampled.releases), Falsified: least > q,
		})
	}
	_, _, g, err := a.scaled(given.factor, least)
	r.RunAtLeast = g.Epsilon
	return err
}

// outcome is a test with the releases that it was made with.
type outcome struct {
	Tested
	*observed
	curve accountant.Tradeoff // of the claim
}

// one observes releases of a plan and tests the claim that they are as private as an event says.
func (a Audited) one(ctx context.Context, claim string, p release.Plan, event accountant.Event, n int, open func(release.Plan, int) (Door, error)) (outcome, error) {
	o, err := observe(ctx, p, a.Step, a.Coordinates, n, open)
	if err != nil {
		return outcome{}, err
	}
	t := outcome{Tested: Tested{Claim: claim, Quantity: "ε"}, observed: o}
	exact, err := accountants.New(account.Exact, accountant.RelationOf(event))
	if err != nil {
		return t, err
	}
	if t.curve, err = curveOf(exact, event); err != nil {
		return t, err
	}
	alpha, beta, by := o.errors(t.curve, ofEpsilon)
	t.By, t.Falsified = by, t.curve.TypeII(alpha) > beta
	if t.Claimed, err = epsilonOf(exact, event, a.Delta); err != nil {
		return t, err
	}
	var least accountant.Event
	if t.factor, least, err = mostNoise(exact, event, alpha, beta); err != nil || least == nil {
		return t, err
	}
	t.AtLeast, err = epsilonOf(exact, least, a.Delta)
	return t, err
}

// errors returns upper bounds of the errors of a test for the canary, which hold together but for a
// probability of level: of false alarms, and of misses. The first quarter of the observations chooses
// score and threshold: where the errors lie furthest below the claimed curve, on the scale of normal
// quantiles, which for Gaussian noise is where the bound on μ is largest. Its own bounds are of a
// level that keeps it from thresholds which are best by chance. The rest counts.
func (o *observed) errors(claimed accountant.Tradeoff, level float64) (alpha, beta float64, by string) {
	var best struct {
		score               int
		threshold, evidence float64
	}
	best.evidence = math.Inf(-1)
	quarter := len(o.in[0]) / 4
	bounds := func(score int, threshold float64, from, to int, level float64) (alpha, beta float64) {
		alarms, misses := 0, 0
		for i := from; i < to; i++ {
			if o.out[score][i] > threshold {
				alarms++
			}
			if o.in[score][i] <= threshold {
				misses++
			}
		}
		return upperEnd(alarms, to-from, level/2), upperEnd(misses, to-from, level/2)
	}
	const thresholds, cautious = 32, 1e-5
	for score := range o.in {
		all := slices.Sorted(slices.Values(slices.Concat(o.in[score][:quarter], o.out[score][:quarter])))
		for i := range thresholds {
			threshold := all[(2*i+1)*len(all)/(2*thresholds)]
			alpha, beta := bounds(score, threshold, 0, quarter, cautious)
			evidence := normal(claimed.TypeII(alpha)) - normal(beta)
			if evidence > best.evidence {
				best.score, best.threshold, best.evidence = score, threshold, evidence
			}
		}
	}
	alpha, beta = bounds(best.score, best.threshold, quarter, len(o.in[0]), level)
	return alpha, beta, scores[best.score]
}

// normal returns the standard normal quantile of a probability, finite also for 0 and 1.
func normal(p float64) float64 { return distuv.UnitNormal.Quantile(min(max(p, 1e-300), 1-1e-16)) }

// upperEnd returns the upper end of the one-sided interval of Clopper and Pearson 1934 for a
// probability of which k of n trials showed: it is larger with a probability of at most level.
func upperEnd(k, n int, level float64) float64 {
	if k == n {
		return 1
	}
	return distuv.Beta{Alpha: float64(k) + 1, Beta: float64(n - k)}.Quantile(1 - level)
}

func curveOf(a accountant.Accountant, e accountant.Event) (accountant.Tradeoff, error) {
	l, err := new(accountant.Ledger).With(e, 1)
	if err != nil {
		return accountant.Tradeoff{}, err
	}
	return accountant.TradeoffOf(a, l)
}

func epsilonOf(a accountant.Accountant, e accountant.Event, delta float64) (float64, error) {
	l, err := new(accountant.Ledger).With(e, 1)
	if err != nil {
		return 0, err
	}
	g, err := a.Guarantee(l, delta)
	return g.Epsilon, err
}

// with returns an event with another noise multiplier and sampling probability: factor times the
// one, and q in place of the other if it is smaller. It is nil for an event that has neither.
func with(e accountant.Event, factor, q float64) accountant.Event {
	changed, err := accountant.WithNoiseMultiplier(e, factor*accountant.NoiseMultiplier(e))
	if err != nil {
		return nil
	}
	if sampled, ok := changed.(accountant.PoissonSampled); ok {
		sampled.SamplingProbability = min(q, sampled.SamplingProbability)
		return sampled
	}
	return changed
}

// mostNoise returns the event with the most noise that errors of at most alpha and beta leave
// possible, and its noise over that of the claimed event: with more, the curve would lie above them.
// The event is nil if any noise is possible.
func mostNoise(a accountant.Accountant, e accountant.Event, alpha, beta float64) (factor float64, most accountant.Event, err error) {
	above := func(exponent float64) bool {
		curve, failed := curveOf(a, with(e, math.Exp2(exponent), 1))
		err = cmp.Or(err, failed)
		return curve.TypeII(alpha) > beta
	}
	const far = 10
	if with(e, 1, 1) == nil || !above(far) {
		return 0, nil, err
	}
	_, high := halved(-far, far, 30, func(exponent float64) bool { return !above(exponent) })
	return math.Exp2(high), with(e, math.Exp2(high), 1), err
}

// scaled returns the ledger with so many times the noise and a sampling probability of q at most, its
// accountant, and what it costs; nothing where an event has neither.
func (a Audited) scaled(factor, q float64) (l *accountant.Ledger, exact accountant.Accountant, g accountant.Guarantee, err error) {
	l = new(accountant.Ledger)
	for _, entry := range a.Ledger.Entries() {
		e := with(entry.Event, factor, q)
		if factor == 0 || q == 0 || e == nil {
			return nil, nil, g, nil
		}
		if err := l.Add(e, entry.Count); err != nil {
			return nil, nil, g, err
		}
	}
	if exact, err = accountants.New(account.Exact, l.Relation()); err == nil {
		g, err = exact.Guarantee(l, a.Delta)
	}
	return l, exact, g, err
}
