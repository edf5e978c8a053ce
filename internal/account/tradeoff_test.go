package account

import (
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/tiny"
)

// The answer agrees with itself: ε at many δ with the accountant, the curve with its own best
// guess, and a choice of the number of releases makes nothing look safer.
func TestTradeoffAgreesWithItself(t *testing.T) {
	ledger := tiny.Ledger(t, DPSGD(0.01, 1), 1000)
	q := Question{View: View{Accountant: "exact"}, Ledger: ledger, Delta: 1e-5}
	plain := tiny.Must(AskTradeoff(q))(t)
	for _, p := range plain.Epsilons {
		at := q
		at.Delta = p.Delta
		if c, err := new(Answerer).Answer(at); err != nil || c.Epsilon != p.Epsilon {
			t.Errorf("ε at δ = %g: found %v, expected %v (%v)", p.Delta, p.Epsilon, c.Epsilon, err)
		}
	}
	if len(plain.Epsilons) != len(deltas) || plain.Releases != 1000 || plain.NoiseMultiplier != 1 || len(plain.Beliefs) == 0 || plain.Except != 10*1e-5 {
		t.Errorf("found %+v", plain)
	}
	for name, other := range map[string]Question{
		"chosen": {View: q.View, Ledger: ledger, Delta: q.Delta, Divisor: 4},
		"group":  {View: View{Accountant: "exact", GroupSize: 2}, Ledger: ledger, Delta: q.Delta},
	} {
		shown := tiny.Must(AskTradeoff(other))(t)
		for i, e := range shown.Curve {
			if want := plain.Curve[i]; e.FalsePositive != want.FalsePositive || e.FalseNegative > want.FalseNegative+1e-6 {
				t.Errorf("%s: found %v, expected no more than %v", name, e, want)
			}
		}
		if !(shown.Epsilon > plain.Epsilon && shown.Epsilons[0].Epsilon > plain.Epsilons[0].Epsilon) || shown.BestGuess < plain.BestGuess {
			t.Errorf("%s: ε %v and guess %v, expected more than %v and %v", name, shown.Epsilon, shown.BestGuess, plain.Epsilon, plain.BestGuess)
		}
	}
	if lines := plain.Chart().Lines; len(lines) != 2 || len(lines[0].Points) != len(plain.Curve) {
		t.Errorf("found the lines %v, expected one of %d points and one of guessing", lines, len(plain.Curve))
	}
	first, last := plain.Curve[0], plain.Curve[len(plain.Curve)-1]
	if first.FalsePositive != 0 || !(math.Abs(first.FalseNegative-1) <= 1e-9) || last.FalsePositive != 1 || last.FalseNegative != 0 {
		t.Errorf("the curve runs from %v to %v", first, last)
	}
}

// What has no guarantee is refused, as by train epsilon.
func TestTradeoffOfNothingPrivate(t *testing.T) {
	ledger := tiny.Ledger(t, accountant.NonPrivate{}, 1)
	if _, err := AskTradeoff(Question{View: View{Accountant: "exact"}, Ledger: ledger, Delta: 1e-5}); err == nil {
		t.Error("found an answer for a release without noise")
	}
}
