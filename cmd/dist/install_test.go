package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// A wheel with the program as it is now installs into a new virtual environment, without a network,
// and passes the tests of the Python package there.
func TestWheelInstalls(t *testing.T) {
	slow.Evidence(t)
	bin := virtualEnvironment(t)
	c := current(t)
	content := tiny.Must(c.Wheel())(t)
	wheel := filepath.Join(t.TempDir(), c.WheelName())
	tiny.Check(t, os.WriteFile(wheel, content, 0o600))
	python := filepath.Join(bin, "python")
	t.Log(runTool(t, python, "-m", "pip", "install", "--disable-pip-version-check", "--no-index", "--no-deps", wheel))
	t.Log(runTool(t, filepath.Join(bin, "dpsgd"), "version"))
	t.Log(runTool(t, python, "-m", "unittest", "discover", "-s", filepath.Join("..", "..", "python", "tests")))
}

// virtualEnvironment returns the folder of programs of a new one.
func virtualEnvironment(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("virtual environments have other folders on Windows")
	}
	dir := t.TempDir()
	if out, err := exec.Command("python3", "-m", "venv", dir).CombinedOutput(); err != nil {
		t.Skipf("found no python3 with venv, with which wheels are tested: %v %s", err, out)
	}
	return filepath.Join(dir, "bin")
}

// current is the program and the Python package as they are in this checkout.
func current(t *testing.T) Contents {
	t.Helper()
	c := contents(t, "linux/amd64")
	c.Python = tiny.Must(files(filepath.Join("..", "..", "python", "dpsgd"), "*.py", "py.typed"))(t)
	here, err := parsePlatforms(runtime.GOOS + "/" + runtime.GOARCH)
	if err != nil {
		t.Skip(err)
	}
	c.Platform = here[0]
	c.Program = program(t, runtime.GOOS)
	return c
}

// built is the program for each system, built once.
var built = map[string][]byte{}

// program builds a static one for the processor of this machine.
func program(t *testing.T, system string) []byte {
	t.Helper()
	if built[system] == nil {
		t.Setenv("CGO_ENABLED", "0")
		t.Setenv("GOOS", system)
		file := filepath.Join(t.TempDir(), "train")
		runTool(t, "go", "build", "-o", file, "dpsgd/cmd/train")
		built[system] = tiny.Must(os.ReadFile(file))(t)
	}
	return built[system]
}

func runTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
