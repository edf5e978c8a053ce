package main

import (
	"testing"
)

// The self-test of a preset tells each check with what was looked at; with --json it prints one
// object. A wrong command line is refused.
func TestSelftestCommand(t *testing.T) {
	says(t, succeed(t, "selftest", "label-digits"), "holds   derivatives", "–       noise               gradients get no noise")
	says(t, succeed(t, "selftest", "own-table", "--examples", "2000", "--json"), `"check":"sensitivity","passed":true`, `"false_failure_bound":`)
	refused(t, 2, "found --examples 0, expected at least 1", "selftest", "digits", "--examples", "0")
	refused(t, 2, "found no preset and no file", "selftest", "none")
}
