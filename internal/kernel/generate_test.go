package kernel

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/slow"
)

// TestGeneratedFilesAreCurrent runs the generator as go generate does, but into
// another folder, and wants the files that are committed.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	slow.Evidence(t)
	inGenerator(t, t.Skipf, "go", "list", "-deps", ".") // fails when a module is missing
	dir := t.TempDir()
	generator := filepath.Join(dir, "generator")
	inGenerator(t, t.Fatalf, "go", "build", "-o", generator, ".")
	directives := generateDirectives(t, "dispatch_amd64.go")
	for _, arguments := range directives {
		for i, argument := range arguments {
			arguments[i] = strings.Replace(argument, "../", dir+"/", 1)
		}
		inGenerator(t, t.Fatalf, generator, arguments...)
	}
	written, _ := filepath.Glob(filepath.Join(dir, "*_amd64.*"))
	if len(written) != 2*len(directives) {
		t.Fatalf("%d files from %d directives, want two each", len(written), len(directives))
	}
	for _, path := range written {
		name := filepath.Base(path)
		got, want := withoutCommand(t, path), withoutCommand(t, name)
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate", name)
		}
	}
	assemblies, _ := filepath.Glob("*.s")
	if len(assemblies) != len(directives) {
		t.Errorf("%d assembly files, %d of them generated", len(assemblies), len(directives))
	}
}

// inGenerator runs a command in the generator's folder and reports its failure.
func inGenerator(t *testing.T, report func(format string, args ...any), name string, arguments ...string) {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Dir = "gen"
	command.Env = append(os.Environ(), "GOARCH=", "GOOS=", "GOFLAGS=-buildvcs=false")
	if out, err := command.CombinedOutput(); err != nil {
		report("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, out)
	}
}

// generateDirectives returns the arguments of the generator in each go:generate line of a file.
func generateDirectives(t *testing.T, path string) [][]string {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(source)) {
		if arguments, ok := strings.CutPrefix(line, "//go:generate go -C gen run . "); ok {
			all = append(all, strings.Fields(arguments))
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no go:generate lines", path)
	}
	return all
}

// withoutCommand reads a generated file but for its first line, which tells how
// the generator was called.
func withoutCommand(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		t.Fatalf("%s is a single line", path)
	}
	return rest
}
