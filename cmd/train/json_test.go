package main

import (
	"strings"
	"testing"
)

// With --json a command that fails prints one object, too: its error and its exit code.
func TestFailuresAreJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args string
		code float64
		says string
	}{
		{"run nosuch --json", 2, "nosuch"},
		{"run digits --set privacy.epsilon=-1 --set x=1 --json", 2, "\n"}, // a line for each problem
		{"--json run --nosuch", 2, "unknown flag"},
		{"epsilon --json", 2, "expected"},
		{"resume runs/nosuch --json", 4, "runs/nosuch"},
		{"run mnist-cnn --data-dir here --json", 3, "train data fetch mnist --data-dir here"},
	} {
		r := command(strings.Fields(tt.args)...)
		if r.out == "" || strings.Count(r.out, "\n") != 1 {
			t.Errorf("train %s: standard output is %q, expected one line", tt.args, r.out)
			continue
		}
		o := lastLine(t, r.out)
		text, _ := o["error"].(string)
		if float64(r.code) != tt.code || o["exit_code"] != tt.code || !strings.Contains(text, tt.says) || strings.Contains(text, "train: ") {
			t.Errorf("train %s: exit code %d and %v, expected %v and %q", tt.args, r.code, o, tt.code, tt.says)
		}
	}
	if r := commandOn(t, "nonsense", "epsilon", "--batch", "--json"); r.code != 1 || strings.Count(r.out, "\n") != 1 || !strings.Contains(r.out, "line 1") {
		t.Errorf("a line without an answer is answered by %q, exit code %d", r.out, r.code)
	}
	if r := command("run", "nosuch"); r.out != "" {
		t.Errorf("without --json standard output is %q", r.out)
	}
}
