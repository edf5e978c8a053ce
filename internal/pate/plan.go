package pate

import (
	"cmp"
	"errors"
	"fmt"
	"sort"

	"dpsgd/accountant"
	"dpsgd/accountant/votes"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/setup"
	"dpsgd/release/answer"
)

// Plan says what is asked, and how much of it the budget allows. All of it is public. It is fixed
// before the first question, and again after a kill.
type Plan struct {
	Examples, Teachers, Pool int
	Queries, Answers         int // questions, and how many of them are answered at most
	Aggregation              votes.Aggregation
	Release                  *votes.Smooth // how the data-dependent ε is released; nil if it is not
	Budget                   accountant.Guarantee

	config   *configs.Config
	accounts account.Accountants
	check    accountant.Event // nil without a check
	answer   accountant.Event
	lost     tally // events whose results were lost in a kill
}

// tally is a number of checks, of answers and of releases of the data-dependent ε.
type tally struct {
	Checks   int `json:"checks"`
	Answers  int `json:"answers"`
	Releases int `json:"-"`
}

// NewPlan returns the plan of c for data with the outline o. The error matches [setup.ErrPlan] if c
// cannot be carried out.
func NewPlan(c *configs.Config, o setup.Outline) (*Plan, error) {
	if err := refuse(c, o); err != nil {
		return nil, err
	}
	p, err := planOf(c, c.Pate.Teachers, cmp.Or(c.Pate.Queries, c.Pate.Pool))
	if err != nil {
		return nil, err
	}
	p.Examples, p.Pool = o.Examples, c.Pate.Pool
	if p.Release != nil {
		unanimous := make([]int, o.Classes)
		unanimous[0] = p.Teachers
		if _, err := p.Aggregation.LocalSensitivity([]votes.Question{{Votes: unanimous, Answered: true}}, p.Teachers, p.Release.Order); err != nil {
			return nil, fmt.Errorf("%w: pate.release_data_dependent: %w", setup.ErrPlan, err)
		}
	}
	if err := p.afford(); err != nil || p.Release == nil {
		return p, err
	}
	if err := answer.Releasable(p.Aggregation, p.Queries, p.Answers, *p.Release); err != nil {
		return nil, fmt.Errorf("%w: pate.release_data_dependent: %w", setup.ErrPlan, err)
	}
	return p, nil
}

// planOf returns the plan of a configuration for so many teachers and questions. It leaves open how
// many answers the budget allows.
func planOf(c *configs.Config, teachers, queries int) (*Plan, error) {
	accounts, err := account.New(c.Privacy.Accountant, accountant.ZeroOut)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Teachers: teachers, Queries: queries, config: c, accounts: accounts,
		Budget: accountant.Guarantee{Epsilon: c.Privacy.Epsilon, Delta: c.Privacy.Delta, Relation: accountant.ZeroOut},
	}
	if c.Pate.ReleaseDataDependent {
		p.Release = released(c.Pate.ReleaseOrder)
	}
	return p, p.aggregate()
}

// refuse returns an error for the first setting that PATE does not support; nil if there is none.
func refuse(c *configs.Config, o setup.Outline) error {
	for _, wrong := range []struct {
		is              bool
		found, expected string
	}{
		{!c.Pate.Any(), "no pate.teachers", "a number of teachers above 0"},
		{!c.Privacy.HasBudget(), "no privacy.epsilon", "a budget, from which follows how many questions are answered"},
		{c.Privacy.NoiseMultiplier > 0, "privacy.noise_multiplier", "pate.noise, the noise on votes, alone"},
		{c.Privacy.None, "privacy.none", "a budget"},
		{c.Federated.Any(), "federated.clients", "teachers or clients"},
		{c.Privacy.Unit != configs.UnitExample, "privacy.unit " + c.Privacy.Unit, configs.UnitExample + ": one example is in the part of one teacher"},
		{c.Model.Init != "", "model.init", "networks that begin at random"},
		{c.Run.PrivateDiagnostics, "run.private_diagnostics", "none: they are of noisy steps"},
		{c.Optimizer.ByNoise(), "optimizer.learning_rate by_noise", "a number: training is without noise"},
		{c.Training.Average.Name() != "none", "training.average " + c.Training.Average.Name(), "none"},
		{c.Pate.Teachers > o.Examples, fmt.Sprintf("%d pate.teachers", c.Pate.Teachers), fmt.Sprintf("at most one for each of the %d training examples", o.Examples)},
		{c.Pate.Pool >= o.Tests, fmt.Sprintf("pate.pool %d", c.Pate.Pool), fmt.Sprintf("fewer than the %d test examples, the others of which measure the student", o.Tests)},
		{c.Pate.Queries > c.Pate.Pool, fmt.Sprintf("pate.queries %d", c.Pate.Queries), fmt.Sprintf("at most pate.pool, %d", c.Pate.Pool)},
		{c.Pate.Threshold > c.Pate.Teachers && c.Pate.Aggregation == "confident", fmt.Sprintf("pate.threshold %d", c.Pate.Threshold), fmt.Sprintf("at most the %d votes of all teachers", c.Pate.Teachers)},
	} {
		if wrong.is {
			return fmt.Errorf("%w: found %s, expected %s for `train pate`", setup.ErrPlan, wrong.found, wrong.expected)
		}
	}
	return setup.CheckDelta(c.Privacy.Delta, o.Examples, "training examples")
}

// aggregate sets how the plan answers votes and, for "confident", how it checks them first, and the
// event of each for the ledger. It refuses a check whose event equals that of an answer.
func (p *Plan) aggregate() error {
	c := p.config.Pate
	none, err := answer.NewVotes([]int{0}, 2)
	if err != nil {
		return err
	}
	first, err := p.question(none)
	if err != nil {
		return fmt.Errorf("%w: pate.noise: %w", setup.ErrPlan, err)
	}
	p.answer = first.Event()
	switch c.Aggregation {
	case "lnmax":
		p.Aggregation.Max = votes.LaplaceMax{Scale: c.Noise}
	default:
		p.Aggregation.Max = votes.GaussianMax{Sigma: c.Noise}
	}
	if c.Aggregation != "confident" {
		return nil
	}
	check, err := p.agreement(none)
	if err != nil {
		return fmt.Errorf("%w: pate.threshold_noise: %w", setup.ErrPlan, err)
	}
	p.check = check.Event()
	p.Aggregation.Check = &votes.Threshold{At: float64(c.Threshold), Sigma: c.ThresholdNoise}
	if p.check == p.answer {
		return fmt.Errorf("%w: found a check that looks like an answer in the ledger, expected pate.threshold_noise other than pate.noise/√2", setup.ErrPlan)
	}
	return nil
}

// question returns the question, to be answered with noise, which class has the most votes in v.
func (p *Plan) question(v *answer.Votes) (answer.Question[int], error) {
	if p.config.Pate.Aggregation == "lnmax" {
		return answer.LaplaceMax(v, p.config.Pate.Noise)
	}
	return answer.GaussianMax(v, p.config.Pate.Noise)
}

// agreement returns the check ahead of a question: whether enough teachers agree.
func (p *Plan) agreement(v *answer.Votes) (answer.Question[bool], error) {
	return answer.Agreement(v, p.config.Pate.Threshold, p.config.Pate.ThresholdNoise)
}

// released returns how the data-dependent ε is released at an order. Beta is far enough below
// 1/(2·order) that the two variances of neighbours cost little. The released ε is below the true
// one once in a hundred times.
func released(order float64) *votes.Smooth {
	return &votes.Smooth{Order: order, Beta: min(0.02, 0.25/order), Sigma: 4, Z: 2.3263478740408408}
}

// planned returns the ledger of so many checks and answers, of the release and of all lost events.
func (p *Plan) planned(checks, answers int) (*accountant.Ledger, error) {
	l := new(accountant.Ledger)
	if p.check != nil {
		if err := l.Add(p.check, checks+p.lost.Checks); err != nil {
			return nil, err
		}
	}
	if err := l.Add(p.answer, answers+p.lost.Answers); err != nil {
		return nil, err
	}
	if p.Release != nil {
		return l, l.Add(p.Release.Event(), 1+p.lost.Releases)
	}
	return l, nil
}

// afford sets Answers to the most that the budget allows beside all checks. It refuses 0, unless
// events were lost in a kill.
func (p *Plan) afford() error {
	fits, err := p.fits(p.Queries, func(n int) (*accountant.Ledger, error) { return p.planned(p.Queries, n) })
	p.Answers = fits
	if err == nil && fits == 0 && p.lost == (tally{}) {
		err = fmt.Errorf("%w: found that %d pate.queries and one answer pass privacy.epsilon %g at privacy.delta %g, expected room for answers: fewer queries, more pate.noise or a larger epsilon",
			setup.ErrPlan, p.Queries, p.Budget.Epsilon, p.Budget.Delta)
	}
	return err
}

// fits returns the largest n up to most for which ledger(n) is within the budget; 0 if none is.
func (p *Plan) fits(most int, ledger func(n int) (*accountant.Ledger, error)) (int, error) {
	var problem error
	n := sort.Search(most, func(i int) bool {
		l, err := ledger(i + 1)
		var spent account.Spent
		if err == nil {
			spent, _, err = p.accounts.Spent(l, p.Budget.Delta)
		}
		problem = cmp.Or(problem, err)
		return err != nil || !spent.Within(p.Budget)
	})
	return n, problem
}

// goOn changes the plan after a kill. The lost events, those without a result, stay paid for, and
// the rest of the budget is planned again; at least the done events, those with a result, stay
// planned. The time of a kill depends on no vote.
func (p *Plan) goOn(lost, done tally) error {
	p.lost = lost
	if err := p.afford(); err != nil || p.Answers >= done.Answers {
		return err
	}
	p.Answers = done.Answers // they are made; what gives way are checks
	fits, err := p.fits(p.Queries, func(n int) (*accountant.Ledger, error) { return p.planned(n, p.Answers) })
	p.Queries = max(fits, done.Checks)
	return err
}

func (p *Plan) count(l *accountant.Ledger) tally {
	var t tally
	for _, e := range l.Entries() {
		switch {
		case e.Event == p.answer:
			t.Answers += e.Count
		case e.Event == p.check:
			t.Checks += e.Count
		case p.Release != nil && e.Event == p.Release.Event():
			t.Releases += e.Count
		}
	}
	return t
}

// Allows implements [release.Budget]: it allows an event while the plan has one of its kind left,
// and none of a kind that is not planned. All that is planned is within the budget.
func (p *Plan) Allows(l *accountant.Ledger, next accountant.Event) (bool, error) {
	with, err := l.With(next, 1)
	planned, refused := p.planned(p.Queries, p.Answers)
	if err := errors.Join(err, refused); err != nil {
		return false, err
	}
	t, most := p.count(with), p.count(planned)
	return t.Checks+t.Answers+t.Releases == with.Count() && t.Checks <= most.Checks && t.Answers <= most.Answers && t.Releases <= most.Releases, nil
}
