package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

// teachersOf are the overrides that make a configuration of pictures one of teachers.
func teachersOf(teachers string) []string {
	var args []string
	for _, set := range []string{"pate.teachers=" + teachers, "pate.pool=5", "pate.aggregation=gnmax", "pate.noise=20", "privacy.epsilon=10"} {
		args = append(args, "--set", set)
	}
	return args
}

// The result has exactly the promised keys, and what reads runs reads this one.
func TestPate(t *testing.T) {
	config := own(t, 5)
	result := lastLine(t, succeed(t, append([]string{"pate", config, "--json"}, teachersOf("4")...)...))
	want := strings.Fields("answered delta epsilon epsilon_data_dependent queries run seconds status student_accuracy teacher_accuracy")
	if got := slices.Sorted(maps.Keys(result)); !slices.Equal(got, want) {
		t.Errorf("found the keys %v, expected %v", got, want)
	}
	run, _ := result["run"].(string)
	for _, args := range [][]string{{"eval", run}, {"epsilon", run}, {"runs"}, {"ledger", "verify"}, {"export", run}, {"card", run}, {"resume", run}, {"report", run}} {
		succeed(t, args...)
	}
	if statement, err := os.ReadFile(run + "/privacy.md"); err != nil || !strings.Contains(string(statement), "votes.private.jsonl") {
		t.Errorf("%v: the statement does not name the private files:\n%s", err, statement)
	}
}

// Votes of a file are analysed by the section of a configuration, what depends on them is marked, and
// nothing is written.
func TestPateOfVotes(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Write(t, "votes.csv", strings.Repeat("90,5,5\n", 40))
	said := succeed(t, "pate", "pate-digits", "--votes", "votes.csv")
	if !strings.Contains(said, "100 teachers, 40 questions, 3 classes") || !strings.Contains(said, "NOT PRIVATE") {
		t.Errorf("found %q", said)
	}
	if result := lastLine(t, succeed(t, "pate", "pate-digits", "--votes", "votes.csv", "--json")); result["answers"] != 40. || result["epsilon"].(float64) > 3 {
		t.Errorf("found %v", result)
	}
	refused(t, 2, "none.csv", "pate", "pate-digits", "--votes", "none.csv")
	if files, err := os.ReadDir("."); err != nil || len(files) != 1 {
		t.Errorf("found %v, %v", files, err)
	}
}
