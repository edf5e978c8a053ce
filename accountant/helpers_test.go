package accountant

import "testing"

// newNamed returns the accountant of that name under AddOrRemoveOne.
func newNamed(t testing.TB, name string) Accountant {
	t.Helper()
	a, err := New(name, AddOrRemoveOne)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
