package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

// The data of a configuration and of a run is read whole, also where a run would decode it when it is
// needed, and the first example that cannot be read is named.
func TestDataCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Files(t, "stripes", tiny.Source(t, 30), false)
	tiny.Write(t, "own.yaml", strings.Replace(tiny.Config, "{name: digits}", "{folder: stripes, classes: [top, middle, bottom], size: 6, channels: 1}", 1))
	small := []string{"--set", "performance.data_memory=1KB"}
	if r := command(append([]string{"run", "own.yaml", "--set", "training.batch_size=10", "--set", "privacy.delta=1e-3"}, small...)...); r.code != 0 {
		t.Fatal(r.err)
	}
	check := func(code int, says string, args ...string) {
		t.Helper()
		if r := command(append([]string{"data", "check"}, args...)...); r.code != code || !strings.Contains(r.out+r.err, says) {
			t.Errorf("train data check %q: exit code %d with %q and %q, expected %d and %q", args, r.code, r.out, r.err, code, says)
		}
	}
	check(0, "all 30 training and 90 test examples of stripes can be read", append([]string{"own.yaml"}, small...)...)
	check(0, "all 30 training", "runs/own-1")
	broken := filepath.Join("stripes", "test", "top", "broken.png")
	tiny.Write(t, broken, "no picture")
	check(3, broken, append([]string{"own.yaml"}, small...)...)
	check(3, broken, "own.yaml")
	check(3, broken, "runs/own-1")
	check(2, "expected it with a configuration", append([]string{"runs/own-1"}, small...)...)
	tiny.Check(t, os.Remove(broken))
	check(0, `"status":"readable"`, "own.yaml", "--json")
}
