package accountant_test

import (
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
)

// newNamed returns the accountant of that name under AddOrRemoveOne.
func newNamed(t testing.TB, name string) accountant.Accountant {
	t.Helper()
	a, err := accountants.New(name, accountant.AddOrRemoveOne)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
