package accountant_test

import (
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/internal/tiny"
)

// newNamed returns the accountant of that name under AddOrRemoveOne.
func newNamed(t testing.TB, name string) accountant.Accountant {
	t.Helper()
	return tiny.Must(accountants.New(name, accountant.AddOrRemoveOne))(t)
}
