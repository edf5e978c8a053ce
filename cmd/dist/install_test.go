package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
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

// The Dockerfile builds what there is, with the Go of go.mod, and copies what it has built.
func TestDockerfile(t *testing.T) {
	text := tiny.Read(t, filepath.Join("..", "..", "Dockerfile"))
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(tiny.Read(t, filepath.Join("..", "..", "go.mod")))[1]
	if !strings.Contains(text, "FROM golang:"+version+" AS build\n") {
		t.Errorf("found another Go than %s in\n%s", version, text)
	}
	if !strings.Contains(text, "go build -tags mpi ") || !strings.Contains(text, "\nCOPY --from=build /out/train /out/train-mpi /usr/bin/\n") || !strings.Contains(text, "mkdir -p /run/sshd") {
		t.Errorf("found no program for MPI, or no folder of the server for ssh, in\n%s", text)
	}
	command := regexp.MustCompile(`go build .* (\./cmd/\w+)\n`).FindStringSubmatch(text)
	if command == nil {
		t.Fatalf("found no `go build` of a command in\n%s", text)
	}
	if _, err := os.Stat(filepath.Join("..", "..", command[1], "main.go")); err != nil {
		t.Error(err)
	}
	building, image, _ := strings.Cut(text, "\nFROM scratch\n")
	copies := regexp.MustCompile(`(?m)^COPY --from=build (?:--chown=\S+ )?(/out/\S+) `).FindAllStringSubmatch(image, -1)
	if len(copies) != 3 {
		t.Errorf("found %d copies, expected the program, certificates and the folder of work", len(copies))
	}
	for _, c := range copies {
		made := c[1]
		if strings.HasSuffix(made, "/ca-certificates.crt") {
			made = "ca-certificates.crt /out/"
		}
		if !strings.Contains(building, made) {
			t.Errorf("found a copy of %s, which is not made before", c[1])
		}
	}
}

// The image trains for a user without rights. Its first stage needs a registry; here the program
// comes from this machine in its place.
func TestImage(t *testing.T) {
	slow.Evidence(t)
	stage := t.TempDir()
	work := filepath.Join(stage, "out", "work")
	tiny.Check(t, os.MkdirAll(work, 0o755))
	runIn := imageTool(t)
	for name, content := range map[string][]byte{"train": program(t, "linux"), "ca-certificates.crt": nil} {
		tiny.Check(t, os.WriteFile(filepath.Join(stage, "out", name), content, 0o755))
	}
	out := runIn(stage, "run", "--set", "training.epochs=1")
	if !strings.Contains(out, "in runs/digits-1: model.safetensors") {
		t.Errorf("found\n%s", out)
	}
}

// imageTool returns what builds the image, with a folder in the place of its first stage, and runs
// the program in it: Docker where its daemon answers, or else Buildah.
func imageTool(t *testing.T) func(stage string, args ...string) string {
	t.Helper()
	context := filepath.Join("..", "..")
	if exec.Command("docker", "info").Run() == nil {
		return func(stage string, args ...string) string {
			runTool(t, "docker", "build", "--quiet", "--build-context", "build="+stage, "--tag", "dpsgd-test", context)
			defer runTool(t, "docker", "image", "rm", "dpsgd-test")
			return runTool(t, "docker", append([]string{"run", "--rm", "dpsgd-test"}, args...)...)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("found no Docker daemon; Buildah leaves files of other users where root does not run it")
	}
	store := t.TempDir()
	t.Setenv("STORAGE_DRIVER", "vfs")
	t.Setenv("BUILDAH_ISOLATION", "chroot")
	buildah := func(args ...string) []string {
		return append([]string{"--root", filepath.Join(store, "root"), "--runroot", filepath.Join(store, "run")}, args...)
	}
	if out, err := exec.Command("buildah", buildah("info")...).CombinedOutput(); err != nil {
		t.Skipf("found neither a Docker daemon nor a Buildah that works, with which the image is tested: %v %s", err, out)
	}
	return func(stage string, args ...string) string {
		runTool(t, "buildah", buildah("build", "--quiet", "--build-context", "build="+stage, "--tag", "dpsgd-test", context)...)
		runTool(t, "buildah", buildah("from", "--pull-never", "--name", "dpsgd-test", "dpsgd-test")...)
		defer runTool(t, "buildah", buildah("rm", "dpsgd-test")...)
		return runTool(t, "buildah", buildah(append([]string{"run", "dpsgd-test", "--", "/usr/bin/train"}, args...)...)...)
	}
}
