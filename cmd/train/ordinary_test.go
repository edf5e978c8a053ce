package main

import (
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

// The ε of private labels is never shown as one of examples, whose pictures are not protected.
func TestEpsilonOfLabelsSaysSo(t *testing.T) {
	succeed(t, "run", own(t, 5), "--set", "privacy.unit=label", "--set", "privacy.label_stages=2")
	const unit = "the label of one training example"
	for _, args := range [][]string{{"epsilon"}, {"delta", "--epsilon", "1"}, {"tradeoff"}, {"compare"}, {"eval"}} {
		args = append([]string{args[0], "runs/own-1"}, args[1:]...)
		if text := succeed(t, args...); !strings.Contains(text, unit) || strings.Contains(text, "zero-out") {
			t.Errorf("%q: found\n%s\nexpected %q and no relation of examples", args, text, unit)
		}
		if o := lastLine(t, succeed(t, append(args, "--json")...)); o["unit"] != unit || o["relation"] == "zero-out" {
			t.Errorf("%q: found the unit %v and the relation %v", args, o["unit"], o["relation"])
		}
	}
	refused(t, 2, unit, "epsilon", "runs/own-1", "--relation", "zero-out")
	if text := succeed(t, "steps", "runs/own-1"); !strings.Contains(text, "0 steps are the most") {
		t.Errorf("found %q, expected that no label can be asked again", text)
	}
	succeed(t, "report", "runs/own-1", "-o", "report.html")
	if text := tiny.Read(t, "report.html"); !strings.Contains(text, "for "+unit+", after") {
		t.Error("the report does not begin with what its ε is about")
	}
}

// No one file that is edited makes the model of a baseline private, or private labels private examples.
func TestForgedUnitsAreRefused(t *testing.T) {
	config := own(t, 5)
	succeed(t, "run", config, "--set", "privacy.none=true", "--set", "run.name=none")
	succeed(t, "run", config, "--set", "privacy.unit=label", "--set", "run.name=labels")
	for _, forged := range []struct{ run, file, from, to, command string }{
		{"runs/none", "privacy.json", `"system": "none"`, `"system": ""`, "card"},
		{"runs/labels", "privacy.json", "the label of one training example", "one training example", "card"},
		{"runs/labels", "privacy.json", `"system": "label"`, `"system": ""`, "card"},
		{"runs/labels", "config.yaml", "unit: label", "unit: example", "epsilon"},
		{"runs/labels", "config.yaml", "unit: label", "unit: example", "card"},
	} {
		succeed(t, "card", forged.run)
		path := filepath.Join(forged.run, forged.file)
		content := tiny.Read(t, path)
		if !strings.Contains(content, forged.from) {
			t.Fatalf("found no %q in %s", forged.from, path)
		}
		tiny.Write(t, path, strings.Replace(content, forged.from, forged.to, 1))
		if r := command(forged.command, forged.run); r.code == 0 || !strings.Contains(r.err, forged.run) {
			t.Errorf("%s with %q in %s: found exit code %d and %q, expected a refusal", forged.command, forged.to, path, r.code, r.err)
		}
		tiny.Write(t, path, content)
	}
}
