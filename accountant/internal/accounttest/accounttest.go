// Package accounttest has what the tests of the accountants share: ledgers, questions, and the
// values of other implementations, in a file that lies beside the repository.
package accounttest

import (
	"errors"
	"math"
	"testing"

	"dpsgd/accountant"
)

// Ledger returns the ledger of these entries.
func Ledger(t testing.TB, entries ...accountant.Entry) *accountant.Ledger {
	t.Helper()
	var l accountant.Ledger
	for _, e := range entries {
		if err := l.Add(e.Event, e.Count); err != nil {
			t.Fatal(err)
		}
	}
	return &l
}

// Composed returns the composition of these events.
func Composed(t testing.TB, events ...accountant.Event) accountant.Composed {
	t.Helper()
	c, err := accountant.Compose(events...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Epsilon returns epsilon at delta. It fails the test if the answer is refused or malformed.
func Epsilon(t testing.TB, a accountant.Accountant, l *accountant.Ledger, delta float64) float64 {
	t.Helper()
	e, ok := SupportedEpsilon(t, a, l, delta)
	if !ok {
		t.Fatalf("%s does not support %v under %v", a.Name(), l.Entries(), a.Relation())
	}
	return e
}

// SupportedEpsilon returns epsilon at delta and true, or false where the accountant refuses the
// events. It fails the test at any other error.
func SupportedEpsilon(t testing.TB, a accountant.Accountant, l *accountant.Ledger, delta float64) (float64, bool) {
	t.Helper()
	g, err := a.Guarantee(l, delta)
	if errors.Is(err, accountant.ErrUnsupported) && g == (accountant.Guarantee{}) {
		return 0, false
	}
	if err != nil {
		t.Fatalf("%v at delta %v: %v", l.Entries(), delta, err)
	}
	if math.IsNaN(g.Epsilon) || g.Epsilon < 0 || g.Delta != delta || g.Method == "" || g.Relation != a.Relation() {
		t.Fatalf("%v at delta %v: %+v", l.Entries(), delta, g)
	}
	return g.Epsilon, true
}

// Relative returns the error of got, divided by want, both as absolute values.
func Relative(got, want float64) float64 { return math.Abs(got-want) / math.Abs(want) }
