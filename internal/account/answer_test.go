package account

import (
	"errors"
	"math"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// releasesOf is a ledger of DP-SGD.
func releasesOf(t testing.TB, q, sigma float64, steps int) *accountant.Ledger {
	t.Helper()
	return tiny.Ledger(t, DPSGD(q, sigma), steps)
}

func answer(t testing.TB, q Question) Cost {
	t.Helper()
	return tiny.Must(new(Answerer).Answer(q))(t)
}

// views are all accountants under all relations that they know; with -short, the slowest one under
// one relation only.
func views(t testing.TB) []accountant.Accountant {
	t.Helper()
	var all []accountant.Accountant
	for _, name := range accountants.Names() {
		for _, r := range []accountant.Relation{accountant.AddOrRemoveOne, accountant.ReplaceOne, accountant.ZeroOut} {
			if !slow.Asked() && name == PLD && r != accountant.AddOrRemoveOne {
				continue
			}
			if a, err := accountants.New(name, r); err == nil {
				all = append(all, a)
			}
		}
	}
	return all
}

// Answers about ε and δ are those of the accountant, for all of them, also for groups.
func TestAnswersAreThoseOfTheAccountant(t *testing.T) {
	ledgers := map[string]*accountant.Ledger{
		"sampled":   releasesOf(t, 0.02, 1.3, 3000),
		"unsampled": releasesOf(t, 1, 400, 1000),
	}
	for _, a := range views(t) {
		for name, l := range ledgers {
			for _, size := range []int{0, 2} {
				seen := tiny.Must(accountant.Group(l, max(1, size)))(t)
				v := View{a.Name(), a.Relation(), size}
				g, err := a.Guarantee(seen, 1e-6)
				c, ourErr := new(Answerer).Answer(Question{View: v, Ledger: l, Delta: 1e-6})
				switch {
				case (err != nil) != (ourErr != nil):
					t.Errorf("%s, %+v: found error %v, expected %v", name, v, ourErr, err)
				case err != nil:
					continue
				case c.Epsilon != g.Epsilon || c.Upper != g.Epsilon || c.Delta != 1e-6 || c.Accountant != a.Name() || c.Relation != a.Relation().String() || c.Method != g.Method:
					t.Errorf("%s, %+v: found %+v, expected %+v", name, v, c, g)
				}
				if b, ok := a.(accountant.IntervalAccountant); ok != c.Bracketed {
					t.Errorf("%s, %+v: bracketed is %t", name, v, c.Bracketed)
				} else if ok {
					if i, err := b.EpsilonInterval(seen, 1e-6); err != nil || i != (accountant.Interval{Lower: c.Lower, Upper: c.Upper}) {
						t.Errorf("%s, %+v: found [%v, %v], expected %v (%v)", name, v, c.Lower, c.Upper, i, err)
					}
				}
				if size > 0 {
					continue
				}
				d, err := a.Delta(seen, 1.5)
				c, ourErr = new(Answerer).Answer(Question{View: v, Unknown: Delta, Ledger: l, Epsilon: 1.5})
				if (err != nil) != (ourErr != nil) || err == nil && (c.Delta != d.Delta || c.Epsilon != 1.5 || c.Upper != d.Delta) {
					t.Errorf("%s, %+v: found %+v (%v), expected %+v (%v)", name, v, c, ourErr, d, err)
				}
			}
		}
	}
}

// Solved parameters keep the budget, and a little beyond them nothing does: tight to 1e-5, for one
// phase and for three.
func TestSolvedParametersAreTightAndSafe(t *testing.T) {
	phases := releasesOf(t, 0.01, 1.2, 300)
	for _, e := range []accountant.Event{DPSGD(0.02, 1.2), DPSGD(1, 40)} {
		tiny.Check(t, phases.Add(e, 7))
	}
	for _, name := range []string{RDP, DefaultAccountant} {
		for _, l := range []*accountant.Ledger{releasesOf(t, 512./60000, 1, 4688), phases} {
			for _, size := range []int{1, 2} {
				q := Question{View: View{Accountant: name, GroupSize: size}, Ledger: l, Epsilon: 3, Delta: 1e-5}
				for unknown, change := range map[Unknown]struct {
					with   func(accountant.Event, float64) (accountant.Event, error)
					found  func(Cost) float64
					beyond float64
				}{
					NoiseMultiplier:     {withNoise, func(c Cost) float64 { return c.NoiseMultiplier }, 1 - 1e-5},
					SamplingProbability: {withSampling, func(c Cost) float64 { return c.SamplingProbability }, 1 + 1e-5},
				} {
					q.Unknown = unknown
					c := answer(t, q)
					if c.Epsilon > 3 || c.Epsilon < 2.9999 || c.TargetEpsilon != 3 || c.Method == "" {
						t.Errorf("%s, groups of %d: found ε = %v of %v by %q", name, size, c.Epsilon, c.TargetEpsilon, c.Method)
					}
					v := tiny.Must(vary(l, change.with))(t)
					past := tiny.Must(v.ledger(change.found(c) * change.beyond))(t)
					if more := answer(t, Question{View: q.View, Ledger: past, Delta: 1e-5}); more.Epsilon <= 3 {
						t.Errorf("%s, groups of %d: a little beyond %v, ε is %v, expected more than 3", name, size, change.found(c), more.Epsilon)
					}
				}
			}
		}
	}
}

// One more step than the answer passes the budget, whatever was spent before; none fit if that is
// everything.
func TestMostSteps(t *testing.T) {
	step := DPSGD(0.01, 0.9)
	for _, before := range []int{0, 1000} {
		spent := releasesOf(t, 0.02, 1, before)
		q := Question{View: View{Accountant: DefaultAccountant}, Unknown: Steps, Ledger: spent, Step: step, Epsilon: 5, Delta: 1e-5}
		n := *answer(t, q).Steps
		if n < 1 {
			t.Fatalf("after %d, %d steps fit", before, n)
		}
		for more, within := range map[int]bool{n: true, n + 1: false} {
			all := tiny.Must(spent.With(step, more))(t)
			if c := answer(t, Question{View: q.View, Ledger: all, Delta: 1e-5}); (c.Epsilon <= 5) != within {
				t.Errorf("after %d, %d steps cost %v of 5", before, more, c.Epsilon)
			}
		}
	}
	q := Question{View: View{Accountant: DefaultAccountant}, Unknown: Steps, Ledger: releasesOf(t, 0.02, 1, 1000), Step: step, Epsilon: 1e-3, Delta: 1e-5}
	if n := *answer(t, q).Steps; n != 0 {
		t.Errorf("%d steps fit in ε = 0.001, expected none", n)
	}
}

func TestQuestionsWithoutAnAnswer(t *testing.T) {
	l := releasesOf(t, 0.1, 1, 10)
	good := Question{View: View{Accountant: RDP}, Ledger: l, Delta: 1e-5, Epsilon: 1, Step: DPSGD(0.1, 1)}
	laplace := tiny.Ledger(t, accountant.Laplace{Scale: 1}, 1)
	for name, test := range map[string]struct {
		unknown Unknown
		spoil   func(*Question)
		want    error
	}{
		"no noise":               {Epsilon, func(q *Question) { q.Ledger = releasesOf(t, 0.1, 0, 1) }, ErrNoGuarantee},
		"delta of 1":             {Epsilon, func(q *Question) { q.Delta = 1 }, accountant.ErrInvalid},
		"delta of 0":             {Steps, func(q *Question) { q.Delta = 0 }, accountant.ErrInvalid},
		"delta NaN":              {NoiseMultiplier, func(q *Question) { q.Delta = math.NaN() }, accountant.ErrInvalid},
		"epsilon below 0":        {Delta, func(q *Question) { q.Epsilon = -1 }, accountant.ErrInvalid},
		"infinite epsilon":       {Delta, func(q *Question) { q.Epsilon = math.Inf(1) }, accountant.ErrInvalid},
		"budget of 0":            {Steps, func(q *Question) { q.Epsilon = 0 }, accountant.ErrInvalid},
		"negative group":         {Epsilon, func(q *Question) { q.GroupSize = -1 }, accountant.ErrInvalid},
		"unknown accountant":     {Epsilon, func(q *Question) { q.Accountant = "moments" }, accountant.ErrUnsupported},
		"no ledger":              {Epsilon, func(q *Question) { q.Ledger = nil }, accountant.ErrInvalid},
		"noise of nothing":       {NoiseMultiplier, func(q *Question) { q.Ledger = new(accountant.Ledger) }, ErrFixed},
		"noise of Laplace":       {NoiseMultiplier, func(q *Question) { q.Ledger = laplace }, ErrFixed},
		"sampling of Laplace":    {SamplingProbability, func(q *Question) { q.Ledger = laplace }, ErrFixed},
		"steps of nothing":       {Steps, func(q *Question) { q.Step = nil }, ErrFixed},
		"noise that cannot help": {NoiseMultiplier, func(q *Question) { q.Ledger, q.Epsilon = releasesOf(t, 1, 1, 1000), 1e-12 }, accountant.ErrUnreachable},
	} {
		q := good
		q.Unknown = test.unknown
		test.spoil(&q)
		if c, err := new(Answerer).Answer(q); !errors.Is(err, test.want) {
			t.Errorf("%s: found %+v and error %v, expected %v", name, c, err, test.want)
		}
	}
}

// A refusal names an accountant that has an answer, and that is true.
func TestRefusalsNameAnother(t *testing.T) {
	response := tiny.Ledger(t, accountant.RandomizedResponse{NoiseProbability: 0.9, Buckets: 3}, 100)
	questions := []Question{
		{View: View{Relation: accountant.ReplaceOne}, Ledger: releasesOf(t, 0.1, 4, 1000), Delta: 1e-5},
		{View: View{Relation: accountant.ZeroOut}, Ledger: releasesOf(t, 0.1, 4, 1000), Delta: 1e-5},
		{View: View{Relation: accountant.ReplaceOne}, Ledger: response, Delta: 1e-5},
	}
	for _, q := range questions {
		for _, name := range accountants.Names() {
			q.Accountant = name
			_, err := new(Answerer).Answer(q)
			if err == nil {
				continue
			}
			_, other, found := strings.Cut(err.Error(), "; the accountant ")
			if !refused(err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: found error %v, expected a refusal on one line", name, err)
			}
			if !found {
				continue
			}
			q := q
			q.Accountant = strings.TrimSuffix(other, " has an answer")
			if _, err := new(Answerer).Answer(q); err != nil {
				t.Errorf("%s was named, which answers %v", q.Accountant, err)
			}
		}
	}
}

// What the exact accountant says from below is never above what another one says from above.
func TestLowerBoundsAreTrue(t *testing.T) {
	for _, e := range []accountant.Event{accountant.BoundedRange{Range: 1}, accountant.DiscreteLaplace{Scale: 1, Sensitivity: 1}} {
		l := tiny.Ledger(t, e, 2)
		by := func(name string) Cost {
			return tiny.Must(new(Answerer).Answer(Question{View: View{Accountant: name}, Ledger: l, Delta: 1e-5}))(t)
		}
		if exact, rdp := by("exact"), by("rdp"); exact.Lower > rdp.Epsilon {
			t.Errorf("%v: found ε of at least %v by exact and at most %v by rdp", e, exact.Lower, rdp.Epsilon)
		}
	}
	c := answer(t, Question{View: View{Accountant: "exact"}, Ledger: releasesOf(t, 1.2548595611185668e-09, 132.7319079895962, 5242), Delta: 1.6628065864177577e-16})
	if c.Lower > c.Epsilon {
		t.Errorf("found ε from %v to %v of next to nothing", c.Lower, c.Epsilon)
	}
}
