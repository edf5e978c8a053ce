package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

// offered is what shells are told to complete a command line to.
func offered(t *testing.T, args ...string) string {
	t.Helper()
	out := succeed(t, append([]string{"__complete"}, args...)...)
	var found []string
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		word, _, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(word, ":") && !strings.HasPrefix(word, "Completion ended") {
			found = append(found, filepath.ToSlash(word))
		}
	}
	return strings.Join(found, " ")
}

// Shells complete the names of runs, presets, sweeps, data sets, keys and accountants where a command
// takes one.
func TestCompletion(t *testing.T) {
	config := own(t, 2)
	succeed(t, "run", config)
	succeed(t, "run", config)
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+config+"\ngrid:\n  privacy.clip_norm: [0.1]\n")
	succeed(t, "sweep", "grid.yaml")
	tiny.Check(t, os.Mkdir("runs/no-run", 0o700))
	all := "runs/own-1 runs/own-2 runs/grid/clip_norm=0.1"
	for _, tt := range []struct{ line, want string }{
		{"resume ", all}, {"extend runs/own", "runs/own-1 runs/own-2"}, {"eval runs/grid/", "runs/grid/clip_norm=0.1"}, {"resume runs/own-1 ", ""},
		{"report runs/own-1 runs/g", "runs/grid/clip_norm=0.1 runs/grid"}, {"epsilon runs/own-1 ", "runs/own-2 runs/grid/clip_norm=0.1"},
		{"run dig", "digits"}, {"describe mnist-b", "mnist-best"}, {"sweep clip", "clip-noise"}, {"presets clip", "clip-noise"}, {"stats digits-", "digits-statistics"}, {"data fetch m", "mnist"},
		{"run --set privacy.eps", "privacy.epsilon="}, {"epsilon --accountant ex", "exact"}, {"bench --model mlp128", "mlp128"}, {"help ext", "extend"},
	} {
		words := strings.Split(tt.line, " ")
		if found := offered(t, words...); found != tt.want {
			t.Errorf("%q is completed to %q, expected %q", tt.line, found, tt.want)
		}
	}
}

// Each shell gets a script, which it can read where it is there.
func TestCompletionScripts(t *testing.T) {
	for name, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}, "powershell": nil} {
		script := succeed(t, "completion", name)
		if !strings.Contains(script, "__complete") {
			t.Errorf("%s: the script asks nobody", name)
		}
		path, err := exec.LookPath(name)
		if err != nil || check == nil {
			continue
		}
		file := filepath.Join(t.TempDir(), "script")
		tiny.Write(t, file, script)
		if out, err := exec.Command(path, append(check, file)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
