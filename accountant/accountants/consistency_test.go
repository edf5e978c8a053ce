package accountants

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// randomQuestions counts the random questions on which the accountants are compared; all 1,000 of
// them take minutes.
func randomQuestions(t *testing.T) int {
	t.Helper()
	return slow.Number(t, "DPSGD_QUESTIONS", 10, 1000)
}

// question is a ledger of DP-SGD, of one phase or of several, and a δ.
type question struct {
	ledger *accountant.Ledger
	delta  float64
}

func (q question) String() string { return fmt.Sprintf("%v at δ=%.3g", q.ledger.Entries(), q.delta) }

func randomQuestion(t *testing.T, rng *rand.Rand) question {
	q := question{ledger: &accountant.Ledger{}, delta: math.Pow(10, -2-10*rng.Float64())}
	for range 1 + rng.IntN(3) {
		var e accountant.Event = accountant.Gaussian{NoiseMultiplier: math.Exp(2*rng.Float64() + 2)}
		if rng.IntN(4) > 0 {
			e = accountant.PoissonSampled{SamplingProbability: math.Pow(10, -4*rng.Float64()), Event: accountant.Gaussian{NoiseMultiplier: math.Exp(3*rng.Float64() - 0.5)}}
		}
		tiny.Check(t, q.ledger.Add(e, 1+int(math.Pow(10, 4.5*rng.Float64()))))
	}
	return q
}

// The truth lies in both intervals, so they overlap; and the exact answer is at most PLD's, which
// is at most RDP's, up to its grid.
func TestAccountantsAgree(t *testing.T) {
	exact, pld, rdp := newAccountant(t, "exact").(accountant.IntervalAccountant), newAccountant(t, "pld").(accountant.IntervalAccountant), newAccountant(t, "rdp")
	rng := rand.New(rand.NewPCG(9, 1))
	uncertified := 0
	n := randomQuestions(t)
	for range n {
		q := randomQuestion(t, rng)
		e, err := exact.EpsilonInterval(q.ledger, q.delta)
		if err != nil {
			t.Errorf("exact: %v: %v", q, err)
			continue
		}
		r := accounttest.Epsilon(t, rdp, q.ledger, q.delta)
		if !(e.Lower <= e.Upper) || !(e.Upper <= r) || math.IsInf(e.Upper, 1) {
			t.Errorf("%v: exact in %v, rdp %v", q, e, r)
		}
		if at0, err := exact.DeltaInterval(q.ledger, 0); e.Upper == 0 && !(at0.Lower <= q.delta) {
			t.Errorf("%v: exact is 0, where δ(0) is in %v, %v", q, at0, err)
		}
		p, err := pld.EpsilonInterval(q.ledger, q.delta)
		if errors.Is(err, accountant.ErrUncertified) {
			uncertified++
			continue
		}
		if err != nil {
			t.Errorf("pld: %v: %v", q, err)
			continue
		}
		if !(p.Lower <= e.Upper) || !(e.Lower <= p.Upper) || !(e.Upper <= p.Upper*(1+1e-9)) || !(p.Upper <= r*1.0005) {
			t.Errorf("%v: exact in %v, pld in %v, rdp %v", q, e, p, r)
		}
	}
	if uncertified > n/50 {
		t.Errorf("pld had no answer to %d of %d questions", uncertified, n)
	}
}

// δ at ε, by both, and back.
func TestDeltasAgree(t *testing.T) {
	exact, pld, rdp := newAccountant(t, "exact").(accountant.IntervalAccountant), newAccountant(t, "pld").(accountant.IntervalAccountant), newAccountant(t, "rdp")
	rng := rand.New(rand.NewPCG(9, 2))
	for range randomQuestions(t) / 2 {
		q := randomQuestion(t, rng)
		e, err := exact.EpsilonInterval(q.ledger, q.delta)
		if err != nil {
			t.Fatalf("%v: %v", q, err)
		}
		d, err := exact.DeltaInterval(q.ledger, e.Upper)
		tight := e.Upper-e.Lower < 1e-6*e.Upper
		if err != nil || !(d.Lower <= q.delta) || tight && e.Lower > 0 && !(d.Upper >= q.delta*(1-1e-3)) {
			t.Errorf("%v: exact ε %v, δ there %v, %v", q, e, d, err)
		}
		p, err := pld.DeltaInterval(q.ledger, e.Upper)
		if errors.Is(err, accountant.ErrUncertified) {
			continue
		}
		if err != nil || !(p.Lower <= d.Upper) || !(d.Lower <= p.Upper) {
			t.Errorf("%v: δ(%v) exact in %v, pld in %v, %v", q, e.Upper, d, p, err)
		}
		if r, err := rdp.Delta(q.ledger, e.Upper); err != nil || !(r.Delta >= d.Lower) {
			t.Errorf("%v: δ(%v) by rdp %v, %v, below the exact %v", q, e.Upper, r.Delta, err, d)
		}
	}
}

// Extremes are answered, or refused as ErrUncertified, by an accountant that is not below the
// exact one.
func TestExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 3))
	exact, rdp := newAccountant(t, "exact").(accountant.IntervalAccountant), newAccountant(t, "rdp")
	for range randomQuestions(t) {
		q := math.Pow(10, -7*rng.Float64())
		sigma := 0.2 * math.Pow(5000, rng.Float64())
		steps := int(math.Pow(10, 7*rng.Float64()))
		delta := math.Pow(10, -2-13*rng.Float64())
		l := accounttest.Ledger(t, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, Count: steps})
		r := accounttest.Epsilon(t, rdp, l, delta)
		e, err := exact.EpsilonInterval(l, delta)
		if errors.Is(err, accountant.ErrUncertified) {
			t.Logf("q=%v σ=%v T=%d δ=%v: %v (rdp %v)", q, sigma, steps, delta, err, r)
			continue
		}
		if err != nil || !(e.Lower >= 0 && e.Lower <= e.Upper && e.Upper <= r*1.0005) {
			t.Errorf("q=%v σ=%v T=%d δ=%v: exact in %v, %v, rdp %v", q, sigma, steps, delta, e, err, r)
		}
	}
}

// Every accountant bounds ε at the smallest δ that a float64 holds, where math.Log is wrong. The
// least true ε is the one of the Gaussian profile, by mpmath 1.3 with 50 digits.
func TestLeastDelta(t *testing.T) {
	const least, want = math.SmallestNonzeroFloat64, 38.871832832494309
	l := accounttest.Ledger(t, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 1}, Count: 1})
	epsilons := map[string]float64{"plain": tiny.Must(accountant.PlainEpsilon(l, least))(t)}
	for _, name := range Names() {
		epsilons[name] = accounttest.Epsilon(t, newAccountant(t, name), l, least)
	}
	for name, epsilon := range epsilons {
		if epsilon < want {
			t.Errorf("%s: ε = %v, want at least %v", name, epsilon, want)
		}
	}
}

// A replaced record is one that goes and one that comes, whoever is asked.
func TestReplacedRecordsCostTwice(t *testing.T) {
	for _, name := range Names() {
		one, replaced := tiny.Must(New(name, accountant.AddOrRemoveOne))(t), tiny.Must(New(name, accountant.ReplaceOne))(t)
		for _, e := range []accountant.Event{
			accountant.DiscreteLaplace{Scale: 3, Sensitivity: 2}, accountant.DiscreteGaussian{NoiseMultiplier: 5, Sensitivity: 2}, accountant.DiscreteGaussian{NoiseMultiplier: 5}, accountant.BoundedRange{Range: 0.3}, accountant.AddOrRemoveDP{Epsilon: 0.3}, accountant.Laplace{Scale: 3}, accountant.Gaussian{NoiseMultiplier: 5},
		} {
			l := accounttest.Ledger(t, accountant.Entry{Event: e, Count: 3})
			want, known := accounttest.SupportedEpsilon(t, one, tiny.Must(accountant.Group(l, 2))(t), 1e-6)
			if got, answers := accounttest.SupportedEpsilon(t, replaced, l, 1e-6); answers != known || known && !(accounttest.Relative(got, want) < 1e-6) {
				t.Errorf("%s: %v: epsilon %v for a replaced record, %v for two", name, e, got, want)
			}
		}
	}
}

func newAccountant(t *testing.T, name string) accountant.Accountant {
	t.Helper()
	return tiny.Must(New(name, accountant.AddOrRemoveOne))(t)
}

// Every accountant that knows DP-SGD is an upper bound of the exact epsilon and delta of the
// composition.
func TestReferenceExactProfiles(t *testing.T) {
	for _, name := range Names() {
		a := newAccountant(t, name)
		for _, kind := range []string{"eps_pld", "delta_at_eps"} {
			if name == "pld" && kind == "delta_at_eps" && !slow.Asked() {
				continue
			}
			for _, row := range accounttest.Rows[accounttest.Row](t, kind) {
				ask, given := a.Guarantee, row.Delta
				if kind == "delta_at_eps" {
					ask, given = a.Delta, row.Eps
				}
				g, err := ask(row.Ledger(t), given)
				if errors.Is(err, accountant.ErrUnsupported) {
					break
				}
				found := g.Epsilon
				if kind == "delta_at_eps" {
					found = g.Delta
				}
				if err != nil || !(found >= row.Value-row.ValueErr-row.LnValueErr*row.Value) {
					t.Errorf("%s: %s answers %v, %v, below the exact %v", row.ID, name, found, err, row.Value)
				}
			}
		}
	}
}
