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
	var err error
	if c.Python, err = files(filepath.Join("..", "..", "python", "dpsgd"), "*.py", "py.typed"); err != nil {
		t.Fatal(err)
	}
	if c.Platform, err = parsePlatform(runtime.GOOS + "/" + runtime.GOARCH); err != nil {
		t.Skip(err)
	}
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
		built[system] = read(t, file)
	}
	return built[system]
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	return tiny.Must(os.ReadFile(file))(t)
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
