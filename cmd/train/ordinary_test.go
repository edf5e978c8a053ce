package main

import (
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

// The ε of private labels is never shown as one of examples, whose pictures are not protected.
func TestEpsilonOfLabelsSaysSo(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "run", ownConfig(t, pictures(t), 5), "--set", "privacy.unit=label", "--set", "privacy.label_stages=2")
	const unit = "the label of one training example"
	for _, args := range [][]string{{"epsilon"}, {"delta", "--epsilon", "1"}, {"tradeoff"}, {"compare"}, {"eval"}} {
		args = append([]string{args[0], "runs/own-1"}, args[1:]...)
		if text := succeed(t, args...); !strings.Contains(text, unit) || strings.Contains(text, "add-or-remove-one") {
			t.Errorf("%q: found\n%s\nexpected %q and no relation of examples", args, text, unit)
		}
		if o := lastLine(t, succeed(t, append(args, "--json")...)); o["unit"] != unit || o["relation"] == "add-or-remove-one" {
			t.Errorf("%q: found the unit %v and the relation %v", args, o["unit"], o["relation"])
		}
	}
	if r := command("epsilon", "runs/own-1", "--relation", "add-or-remove-one"); r.code != 2 || !strings.Contains(r.err, unit) {
		t.Errorf("found exit code %d and %q, expected a refusal of a relation of examples", r.code, r.err)
	}
	if text := succeed(t, "steps", "runs/own-1"); !strings.Contains(text, "0 steps are the most") {
		t.Errorf("found %q, expected that no label can be asked again", text)
	}
	succeed(t, "report", "runs/own-1", "-o", "report.html")
	if text := tiny.Read(t, "report.html"); !strings.Contains(text, "for "+unit+", after") {
		t.Error("the report does not begin with what its ε is about")
	}
}
