package account

import (
	"errors"
	"testing"

	"dpsgd/accountant"
)

// A ledger that holds a release without noise has no ε to report, whoever is asked.
func TestNoGuaranteeIsNoNumber(t *testing.T) {
	for _, name := range []string{Exact, PLD, RDP} {
		l := new(accountant.Ledger)
		for _, e := range []accountant.Event{accountant.Gaussian{NoiseMultiplier: 1}, accountant.NonPrivate{}} {
			if err := l.Add(e, 1); err != nil {
				t.Fatal(err)
			}
		}
		if spent, err := SpentBy(name, l, 1e-5); !errors.Is(err, ErrNoGuarantee) {
			t.Errorf("by %s it is %v (%v), expected an error that matches %v", name, spent.Epsilon, err, ErrNoGuarantee)
		}
	}
}
