package accountant

import (
	"errors"
	"math"
	"testing"
)

// mustLedger returns the ledger of these entries.
func mustLedger(t testing.TB, entries ...Entry) *Ledger {
	t.Helper()
	var l Ledger
	for _, e := range entries {
		if err := l.Add(e.Event, e.Count); err != nil {
			t.Fatal(err)
		}
	}
	return &l
}

// composed returns the composition of these events.
func composed(t testing.TB, events ...Event) Composed {
	t.Helper()
	c, err := Compose(events...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// epsilon asks for epsilon and checks the form of the answer.
func epsilon(t testing.TB, a Accountant, l *Ledger, delta float64) float64 {
	t.Helper()
	e, ok := supportedEpsilon(t, a, l, delta)
	if !ok {
		t.Fatalf("%s does not support %v under %v", a.Name(), l.Entries(), a.Relation())
	}
	return e
}

// supportedEpsilon is epsilon, or false where the accountant refuses the events.
func supportedEpsilon(t testing.TB, a Accountant, l *Ledger, delta float64) (float64, bool) {
	t.Helper()
	g, err := a.Guarantee(l, delta)
	if errors.Is(err, ErrUnsupported) && g == (Guarantee{}) {
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

// relative is the relative error of a number.
func relative(got, want float64) float64 { return math.Abs(got-want) / math.Abs(want) }
