package main

import (
	"os"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

// What is computed of training examples says so, stays out of the folder of the run, and needs a name
// that says so for its picture, which is for its owner alone. The result of the run has every class.
func TestMembershipIsMarked(t *testing.T) {
	result := lastLine(t, succeed(t, "run", own(t, 5), "--json"))
	if classes, _ := result["accuracy_by_class"].([]any); len(classes) != 2 || classes[0].(map[string]any)["low"] == nil {
		t.Errorf("found the classes %v, expected two with intervals", result["accuracy_by_class"])
	}
	before := tiny.Snapshot(t, "runs")
	text := succeed(t, "attack", "membership", "runs/own-1", "--out", "seen.private.svg")
	if !strings.HasPrefix(text, "NOT PRIVATE: ") {
		t.Errorf("found %q, expected it to begin with NOT PRIVATE", text)
	}
	if info, err := os.Stat("seen.private.svg"); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("found %v, expected a picture for its owner alone (%v)", info, err)
	}
	asked := command("attack", "membership", "runs/own-1", "--json")
	if o := lastLine(t, asked.out); o["private"] != false || !strings.Contains(asked.err, "NOT PRIVATE") {
		t.Errorf("found %v and %q", o["private"], asked.err)
	}
	after := tiny.Snapshot(t, "runs")
	for path, sum := range after {
		if before[path] != sum {
			t.Errorf("the attack wrote %s", path)
		}
	}
	for _, name := range []string{"seen.svg", "private/seen.svg", "seen.private.pdf"} {
		refused(t, 2, name, "attack", "membership", "runs/own-1", "--out", name)
	}
}

// The curve of a run is about everything in its ledger, at the δ of its configuration.
func TestTradeoffOfARun(t *testing.T) {
	succeed(t, "run", own(t, 5))
	spent, curve := lastLine(t, succeed(t, "epsilon", "runs/own-1", "--json")), lastLine(t, succeed(t, "tradeoff", "runs/own-1", "--json"))
	for _, key := range []string{"epsilon", "delta", "releases", "relation", "accountant"} {
		if curve[key] != spent[key] {
			t.Errorf("%s: found %v, expected %v", key, curve[key], spent[key])
		}
	}
	for _, key := range []string{"epsilons", "curve", "beliefs"} {
		if list, _ := curve[key].([]any); len(list) < 4 {
			t.Errorf("%s: found %v", key, curve[key])
		}
	}
	refused(t, 2, "curve.pdf", "tradeoff", "runs/own-1", "--out", "curve.pdf")
}
