package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// With exact and pld the number of steps is fixed before the run, and there are more of them than
// with RDP; or less noise is enough for the planned ones.
func TestTighterAccountantsAllowMore(t *testing.T) {
	fixed := []string{"privacy.epsilon=2", "privacy.noise_multiplier=0.8", "training.batch_size=3", "training.steps=1000"}
	calibrated := []string{"privacy.epsilon=2", "privacy.noise_multiplier=calibrated", "training.batch_size=3", "training.steps=1000"}
	rdp, quiet := mustPlan(t, fixed...), mustPlan(t, calibrated...)
	if quiet.MaxSteps != 1000 {
		t.Errorf("found %d steps with calibrated noise, expected all 1000", quiet.MaxSteps)
	}
	for _, name := range []string{"exact", "pld"} {
		override := "privacy.accountant=" + name
		p := mustPlan(t, append(fixed, override)...)
		if p.MaxSteps <= rdp.MaxSteps*11/10 || p.MaxSteps >= p.Steps {
			t.Errorf("%s: found %d steps, expected a tenth more than the %d of rdp", name, p.MaxSteps, rdp.MaxSteps)
		}
		if p := mustPlan(t, append(calibrated, override)...); p.MaxSteps != 1000 || p.NoiseMultiplier() >= 0.98*quiet.NoiseMultiplier() {
			t.Errorf("%s: found %d steps with noise multiplier %v, expected 1000 with less than %v", name, p.MaxSteps, p.NoiseMultiplier(), quiet.NoiseMultiplier())
		}
		if len(p.Fallbacks) > 0 {
			t.Errorf("%s: found fallbacks %v", name, p.Fallbacks)
		}
	}
}

// Random plans, each carried out as a ledger alone: the steps that are allowed are those that were
// fixed in advance, none of which passes the budget by the exact accountant, and no question is put
// to it on the way.
func TestBudgetHoldsByExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	plans, limited := slow.Number(t, "DPSGD_TEST_PLANS", 20, 200), 0
	for range plans {
		overrides := []string{
			fmt.Sprintf("privacy.epsilon=%g", 0.5*math.Pow(16, random.Float64())), fmt.Sprintf("privacy.delta=%g", math.Pow(10, -3-6*random.Float64())),
			fmt.Sprintf("training.batch_size=%d", 10+random.IntN(tiny.Examples-9)), fmt.Sprintf("training.steps=%d", 10+random.IntN(90)),
		}
		if random.IntN(2) == 0 {
			overrides = append(overrides, "privacy.noise_multiplier=calibrated")
		} else {
			overrides = append(overrides, fmt.Sprintf("privacy.noise_multiplier=%g", 0.9*math.Pow(8, random.Float64())))
		}
		s := newStub(t, nil)
		p := stubPlan(t, s, overrides...)
		l, before := new(accountant.Ledger), s.asked
		for range p.Steps {
			if s.asked != before {
				t.Fatalf("%q: the accountant was asked during the steps that were fixed in advance", overrides)
			}
			allowed := tiny.Must(p.Allows(l, p.Event(0)))(t)
			if !allowed {
				limited++
				break
			}
			l = tiny.Ledger(t, p.Event(0), l.Count()+1)
		}
		if l.Count() != p.MaxSteps {
			t.Errorf("%q: %d steps were made, expected the %d of the plan", overrides, l.Count(), p.MaxSteps)
		}
		for _, steps := range []int{l.Count(), random.IntN(l.Count() + 1)} {
			if g := guarantee(t, s.Accountant, tiny.Ledger(t, p.Event(0), steps), p.Delta); g.Epsilon > p.Budget.Epsilon {
				t.Errorf("%q: after %d steps ε is %v of %v", overrides, steps, g.Epsilon, p.Budget.Epsilon)
			}
		}
	}
	if limited < plans/10 || limited > plans-plans/10 {
		t.Errorf("the budget ended %d of %d plans, expected some and not all", limited, plans)
	}
}

// A ledger with more releases than planned, or with others, is asked about as it is, and may cost
// no more than the plan, whatever the budget is.
func TestOtherLedgersAreAskedAbout(t *testing.T) {
	s := newStub(t, nil)
	p := stubPlan(t, s, "privacy.epsilon=2", "privacy.noise_multiplier=1.3", "training.steps=10")
	if within, err := s.Guarantee(tiny.Ledger(t, p.Event(0), 11), p.Delta); err != nil || !within.Within(*p.Budget) || p.MaxSteps != 10 {
		t.Fatalf("%d steps are planned, expected 10; 11 cost %v (%v), expected room in the budget", p.MaxSteps, within, err)
	}
	other := tiny.Ledger(t, accountant.PoissonSampled{SamplingProbability: 0.5, Event: accountant.Gaussian{NoiseMultiplier: 0.7}}, 1)
	for name, test := range map[string]struct {
		ledger  *accountant.Ledger
		asked   int
		allowed bool
	}{
		"last planned step":           {tiny.Ledger(t, p.Event(0), 9), 0, true},
		"more than planned":           {tiny.Ledger(t, p.Event(0), 10), 1, false},
		"another release":             {other, 1, false},
		"another one that costs less": {tiny.Ledger(t, accountant.Gaussian{NoiseMultiplier: 1000}, 1), 1, true},
	} {
		s.asked = 0
		if allowed, err := p.Allows(test.ledger, p.Event(0)); err != nil || allowed != test.allowed || s.asked != test.asked {
			t.Errorf("%s: found %v after %d questions (%v), expected %v after %d", name, allowed, s.asked, err, test.allowed, test.asked)
		}
	}
}

// Where the accountant has no answer RDP gives it, so a plan is then that of RDP, and the plan says
// so once for each question.
func TestRDPStandsIn(t *testing.T) {
	for _, test := range []struct{ asked, override string }{
		{"the noise with which 100 steps fit ε = 2", "privacy.noise_multiplier=calibrated"},
		{"how many of 100 steps fit ε = 2", "privacy.noise_multiplier=1"},
		{"whether 100 steps fit ε = 2", "privacy.noise_multiplier=5"},
	} {
		overrides := []string{"privacy.epsilon=2", "training.steps=100", test.override}
		want := mustPlan(t, overrides...)
		p := stubPlan(t, newStub(t, always), overrides...)
		if p.NoiseMultiplier() != want.NoiseMultiplier() || p.MaxSteps != want.MaxSteps {
			t.Errorf("%s: found %d steps with %v, expected RDP's %d with %v", test.override, p.MaxSteps, p.NoiseMultiplier(), want.MaxSteps, want.NoiseMultiplier())
		}
		for range 3 {
			spent, err := p.Spent(tiny.Ledger(t, p.Event(0), p.MaxSteps+1))
			if err != nil || spent.Accountant != "rdp" || spent.EpsilonRDP == nil || *spent.EpsilonRDP != spent.Epsilon {
				t.Errorf("%s: found %+v (%v), expected RDP's ε", test.override, spent, err)
			}
			if _, err := p.Allows(tiny.Ledger(t, p.Event(0), p.MaxSteps), p.Event(0)); err != nil {
				t.Error(err)
			}
		}
		if len(p.Fallbacks) != 3 || p.Fallbacks[0].Asked != test.asked || p.Fallbacks[0].Accountant != "exact" || !strings.Contains(p.Fallbacks[0].Refusal, "the stub knows nothing") {
			t.Errorf("%s: found fallbacks %+v, expected one for the plan, one for the ε, one for the next step", test.override, p.Fallbacks)
		}
	}
}

// Refusals far from the answer change nothing: exact decides.
func TestRefusalsBesideTheAnswer(t *testing.T) {
	overrides := []string{"privacy.epsilon=2", "privacy.noise_multiplier=0.8", "training.batch_size=3", "training.steps=100000", "privacy.accountant=exact"}
	want := mustPlan(t, overrides...)
	p := stubPlan(t, newStub(t, func(l *accountant.Ledger) bool { return l.Count() > 2*want.MaxSteps || l.Count() < want.MaxSteps/2 }), overrides...)
	if p.MaxSteps != want.MaxSteps || len(p.Fallbacks) != 0 {
		t.Errorf("found %d steps and %v, expected %d and no fallback", p.MaxSteps, p.Fallbacks, want.MaxSteps)
	}
	// No answer for a part of the steps: the ε of the whole covers it, and RDP's is larger.
	part := tiny.Ledger(t, p.Event(0), want.MaxSteps/2-1)
	if spent, err := p.Spent(part); err != nil || spent.Epsilon > 2 || spent.Epsilon > *spent.EpsilonRDP {
		t.Errorf("found %+v (%v), expected at most the budget", spent, err)
	}
	// One step more than the last that exact answers for: RDP ends the run there, and the plan says
	// so.
	p = stubPlan(t, newStub(t, func(l *accountant.Ledger) bool { return l.Count() >= want.MaxSteps }), overrides...)
	if p.MaxSteps != want.MaxSteps-1 || len(p.Fallbacks) != 1 || !strings.Contains(p.Fallbacks[0].Asked, "how many") {
		t.Errorf("found %d steps and %v, expected %d and one fallback", p.MaxSteps, p.Fallbacks, want.MaxSteps-1)
	}
}

// A run whose accountant never answers is completed by RDP, within the budget, and says so on the
// screen and in its statement.
func TestRunWithoutCertificates(t *testing.T) {
	o := options(t)
	var warnings []string
	o.account = newStub(t, always)
	o.Warned = func(message string) { warnings = append(warnings, message) }
	overrides := []string{"privacy.epsilon=2", "privacy.noise_multiplier=calibrated"}
	r := train(t, o, append(overrides, "privacy.accountant=exact")...)
	want := train(t, options(t), overrides...)
	if r.Status != run.Done || r.Steps != 12 || r.Epsilon != want.Epsilon || r.Epsilon > 2 || r.Accountant != "rdp" || r.NoiseMultiplier != want.NoiseMultiplier {
		t.Errorf("found %+v, expected %+v", r, want)
	}
	if len(warnings) != 2 || !strings.HasPrefix(warnings[0], "the accountant exact has no answer for the noise with which 12 steps fit ε = 2 (accountant: no certified answer: the stub") ||
		!strings.Contains(warnings[0], "RDP stands in: noise multiplier ") || !strings.Contains(warnings[1], "the ε of ") {
		t.Errorf("found warnings %q", warnings)
	}
	for _, file := range []string{folder.Statement, folder.StatementData} {
		if text := tiny.Read(t, filepath.Join(r.Run, file)); !strings.Contains(text, "the noise with which 12 steps fit ε = 2") || !strings.Contains(text, "the stub knows nothing of 12 releases") {
			t.Errorf("%s does not tell about the fallback:\n%s", file, text)
		}
	}
}

// An accountant that fails on a ledger with repeated steps does not end the run with an error.
func TestRunWithoutCertificateForRepeatedSteps(t *testing.T) {
	o := options(t)
	overrides := []string{"privacy.epsilon=3", "privacy.noise_multiplier=2", "privacy.accountant=exact"}
	o.account = newStub(t, func(l *accountant.Ledger) bool { return l.Count() > 12 })
	r := fit(t, open(t, killAfter(t, create(t, tiny.Parse(t, overrides...), o), 9), o))
	if r.Status != run.BudgetExhausted || r.Steps != 8 || tiny.Releases(t, r.Run) != 12 || r.Epsilon > 3 || r.Accountant != "exact" {
		t.Errorf("found %+v with %d releases, expected 8 steps and 12", r, tiny.Releases(t, r.Run))
	}
	if text := tiny.Read(t, filepath.Join(r.Run, folder.Statement)); !strings.Contains(text, "whether release 13 fits ε = ") {
		t.Errorf("the statement does not tell about the fallback:\n%s", text)
	}
}

// A run goes on with the noise that its ledger holds, whatever the accountant would calibrate
// today, and within the budget.
func TestResumedRunKeepsItsNoise(t *testing.T) {
	for name, refuses := range map[string]func(*accountant.Ledger) bool{"less noise was used": nil, "more noise was used": always} {
		o := options(t)
		overrides := []string{"privacy.epsilon=2", "privacy.noise_multiplier=calibrated", "privacy.accountant=exact"}
		o.account = newStub(t, refuses)
		stopped := interruptAfter(t, create(t, tiny.Parse(t, overrides...), o), 5)
		o.account = newStub(t, func(l *accountant.Ledger) bool { return refuses == nil })
		r := fit(t, open(t, stopped.Run, o))
		if r.NoiseMultiplier != stopped.NoiseMultiplier || r.Epsilon > 2 || (r.Steps == 12) != (refuses != nil) {
			t.Errorf("%s: found %+v, expected the noise multiplier %v", name, r, stopped.NoiseMultiplier)
		}
	}
}

// A certificate covers the first planned releases in their order, and nothing else.
func TestCertificateCoversTheFirstReleases(t *testing.T) {
	a, b := accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1}}, accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 2}}
	c := certificate{planned: []accountant.Entry{{Event: a, Count: 3}, {Event: b, Count: 2}}}
	for _, test := range []struct {
		made []accountant.Event
		want bool
	}{
		{nil, true},
		{[]accountant.Event{a}, true},
		{[]accountant.Event{a, a, a}, true},
		{[]accountant.Event{a, a, a, b}, true},
		{[]accountant.Event{a, a, a, b, b}, true},
		{[]accountant.Event{b}, false},
		{[]accountant.Event{a, a, b}, false},
		{[]accountant.Event{a, a, a, a}, false},
		{[]accountant.Event{a, a, a, b, b, b}, false},
		{[]accountant.Event{a, a, a, b, b, a}, false},
	} {
		l := new(accountant.Ledger)
		for _, e := range test.made {
			tiny.Check(t, l.Add(e, 1))
		}
		if c.covers(l) != test.want {
			t.Errorf("%v: covered is %v, expected %v", test.made, !test.want, test.want)
		}
	}
}
