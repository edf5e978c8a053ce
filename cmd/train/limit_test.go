package main

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"dpsgd/internal/books"
	"dpsgd/internal/tiny"
)

// limitsOf returns the limits of a folder of runs, as the commands print them.
func limitsOf(t *testing.T, dir string) []books.LimitState {
	t.Helper()
	var shown struct {
		Limits []books.LimitState `json:"limits"`
	}
	tiny.Check(t, json.Unmarshal([]byte(succeed(t, "ledger", "show", "--runs-dir", dir, "--json")), &shown))
	return shown.Limits
}

// A run of every kind asks the limit of what it protects. Where it would pass, the run is refused and leaves
// the folder as it was; else what it released is counted, and the same once more counts twice.
func TestRunsOfEveryKindKeepTheLimit(t *testing.T) {
	t.Chdir(t.TempDir())
	folderOf(t, nil)
	for _, args := range runsOfEveryKind {
		kind := args[0]
		if args[0] == "extend" || args[0] == "resume" || args[0] == "sweep" {
			continue
		}
		for _, arg := range args {
			if name, ok := strings.CutPrefix(arg, "run.name="); ok {
				kind = name
			}
		}
		of := func(dir, epsilon string) []string {
			if kind == "stats" { // whose file has no such key
				succeed(t, "ledger", "limit", "people", "--epsilon", epsilon, "--delta", "1e-3", "--runs-dir", dir)
				return append(append([]string{}, args...), "--runs-dir", dir)
			}
			return append(append([]string{}, args...), "--set", "data.limit.epsilon="+epsilon, "--set", "data.limit.delta=1e-3", "--runs-dir", dir)
		}
		t.Run(kind, func(t *testing.T) {
			small, large := kind+"-small", kind+"-large"
			var before map[string]string
			for range 2 {
				refused(t, 2, "the limit of", of(small, "0.01")...)
				if after := tiny.Snapshot(t, small); before != nil && !maps.Equal(before, after) {
					t.Errorf("what was refused changed the folder: %v", after)
				} else {
					before = after
				}
			}
			if l := limitsOf(t, small); len(l) != 1 || l[0].Spent != 0 || l[0].Reserved != 0 {
				t.Errorf("found %+v of what was refused, expected nothing used", l)
			}
			succeed(t, of(large, "1000")...)
			once := limitsOf(t, large)
			again := of(large, "1000")
			for i, arg := range again {
				if strings.HasPrefix(arg, "run.name=") {
					again[i] = arg + "-2"
				}
			}
			succeed(t, again...)
			twice := limitsOf(t, large)
			if len(once) != 1 || len(twice) != 1 || !(0 < once[0].Spent && once[0].Spent < twice[0].Spent) || once[0].Reserved != once[0].Spent || twice[0].Reserved != twice[0].Spent {
				t.Errorf("found %+v and %+v, expected all that was released, and nothing reserved", once, twice)
			}
		})
	}
}

// More steps than planned ask the limit too: what passes it is refused and nothing is written, what does not is counted.
func TestExtensionsKeepTheLimit(t *testing.T) {
	t.Chdir(t.TempDir())
	folderOf(t, nil)
	succeed(t, "run", "own.yaml", "--set", "run.name=short", "--set", "data.limit.epsilon=6", "--set", "data.limit.delta=1e-3")
	spent := limitsOf(t, "runs")[0].Spent
	before := tiny.Snapshot(t, "runs")
	refused(t, 2, "the limit of", "extend", "runs/short", "--steps", "400")
	if after := tiny.Snapshot(t, "runs"); !maps.Equal(before, after) {
		t.Error("what was refused changed the folder")
	}
	succeed(t, "extend", "runs/short", "--steps", "5")
	succeed(t, "resume", "runs/short")
	if l := limitsOf(t, "runs")[0]; !(spent < l.Spent && l.Spent <= 6) || l.Reserved != l.Spent {
		t.Errorf("found %+v, expected more than the %v before", l, spent)
	}
}
