package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
)

// A federated run ends with one object of these keys; the commands for runs take it like every other,
// and run takes its configuration.
func TestFederated(t *testing.T) {
	config := own(t, 4)
	clients := []string{"--set", "federated.clients=20", "--set", "training.batch_size=10"}
	out := succeed(t, append([]string{"federated", config, "--json"}, clients...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	want := []string{"status", "rounds", "epsilon", "delta", "unit", "test_accuracy", "seconds", "run"}
	d := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
	var keys []string
	for i := 0; ; i++ {
		token, err := d.Token()
		if err != nil {
			break
		}
		if key, ok := token.(string); ok && i%2 == 1 {
			keys = append(keys, key)
		}
	}
	if r := lastLine(t, out); !slices.Equal(keys, want) || r["rounds"] != 4.0 || r["unit"] != "one client with all its examples" || r["status"] != "done" {
		t.Errorf("found the keys %q of %v, expected %q", keys, r, want)
	}
	if r := lastLine(t, succeed(t, append([]string{"run", config, "--json"}, clients...)...)); r["steps"] != 4.0 {
		t.Errorf("train run says %v", r)
	}
	for _, line := range []string{"eval runs/own-1", "epsilon runs/own-1", "ledger show", "ledger verify", "runs", "resume runs/own-2", "report runs/own-1 runs/own-2 --output report.html", "describe " + config + " " + strings.Join(clients, " ")} {
		succeed(t, strings.Fields(line)...)
	}
	if shown := succeed(t, "ledger", "show"); !strings.Contains(shown, "20 clients (iid, seed 1) of") {
		t.Errorf("the ledger shows\n%s\nexpected the clients of the data", shown)
	}
	refused(t, shell.ExitUsage, "without federated.clients, expected clients", "federated", config)
}

// Pictures that do not say whose they are stop a run that protects persons, by name.
func TestPersonsOfPictures(t *testing.T) {
	t.Chdir(t.TempDir())
	folder := t.TempDir()
	drawPictures(t, folder)
	config := ownConfig(t, folder, 4)
	persons := []string{"run", config, "--set", "privacy.unit=person", "--set", "data.group=prefix", "--set", "training.batch_size=10"}
	refused(t, shell.ExitData, "does not say whose it is", persons...)
	for _, class := range []string{"up", "down"} {
		found, err := filepath.Glob(filepath.Join(folder, "train", class, "*.png"))
		if err != nil || len(found) != 60 {
			t.Fatal(len(found), err)
		}
		for i, path := range found { // 30 persons, each with one of each class and the last ones with more
			who := string(rune('a'+min(i, 29))) + "_" + filepath.Base(path)
			tiny.Check(t, os.Rename(path, filepath.Join(filepath.Dir(path), who)))
		}
	}
	out := succeed(t, persons...)
	if !strings.Contains(out, "protects  one person with all their examples, of 30") {
		t.Errorf("expected 30 persons in\n%s", out)
	}
}
