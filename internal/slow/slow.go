// Package slow is for tests whose evidence takes long. `go test ./...` leaves it out or takes less
// of it; `DPSGD_SLOW=1 go test -timeout 60m ./...` asks for all of it, and so does .ci/slow, a step
// of .ci/run, with no other tests.
package slow

import (
	"os"
	"strconv"
	"testing"
)

// variable is the environment variable that asks for slow evidence when it is not empty.
const variable = "DPSGD_SLOW"

// Asked reports whether the environment variable DPSGD_SLOW is not empty. A test then takes more
// cases than it does by default.
func Asked() bool { return os.Getenv(variable) != "" }

// Evidence skips a test that takes seconds of processor time, unless slow evidence is asked for.
// Something quicker has to hold the same contract in every `go test ./...`.
func Evidence(t testing.TB) {
	t.Helper()
	if !Asked() {
		t.Skipf("slow evidence: %s=1 go test -timeout 60m -run '^%s$' . carries it out", variable, t.Name())
	}
}

// Number returns how many draws or cases a test takes: the value of the environment variable name
// if it is set; else all if slow evidence is asked for, and few if not.
func Number(t testing.TB, name string, few, all int) int {
	t.Helper()
	text := os.Getenv(name)
	switch {
	case text == "" && Asked():
		return all
	case text == "":
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, expected a number of at least 1", name, text)
	}
	return n
}
