package mpitest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Launcher is a program that starts ranks.
type Launcher struct {
	Name    string // "Open MPI" or "MPICH"
	command string
}

// Launchers returns the launchers of this machine, by Debian's names and the usual one, or the one
// that DPSGD_TEST_MPIRUN names; DPSGD_MPI may name its library. A test is skipped if there is none.
func Launchers(t testing.TB) []Launcher {
	t.Helper()
	var found []Launcher
	known := map[string]bool{}
	commands := []string{"mpirun.openmpi", "mpirun.mpich", "mpirun"}
	if command := os.Getenv("DPSGD_TEST_MPIRUN"); command != "" {
		commands = []string{command}
	}
	for _, command := range commands {
		text, err := exec.Command(command, "--version").CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		name := "Open MPI"
		if strings.Contains(string(text), "HYDRA") || strings.Contains(string(text), "Intel(R) MPI") {
			name = "MPICH"
		}
		if !known[name] {
			known[name] = true
			found = append(found, Launcher{name, command})
		}
	}
	if len(found) == 0 {
		t.Skipf("skipped: found none of %s", strings.Join(commands, ", "))
	}
	return found
}

// Part describes ranks that run the same command.
type Part struct {
	Ranks   int
	Folder  string // they work in; "" is this one
	Command []string
}

// Start returns a command, not yet running, that starts the ranks of all parts in the order of the
// parts. There may be more ranks than cores.
func (l Launcher) Start(ctx context.Context, parts ...Part) *exec.Cmd {
	var arguments []string
	for i, p := range parts {
		if i > 0 {
			arguments = append(arguments, ":")
		}
		arguments = append(arguments, "-n", strconv.Itoa(p.Ranks))
		if l.Name == "Open MPI" {
			arguments = append(arguments, "--oversubscribe", "--bind-to", "none")
		}
		if p.Folder != "" {
			arguments = append(arguments, "-wdir", p.Folder)
		}
		arguments = append(arguments, p.Command...)
	}
	c := exec.CommandContext(ctx, l.command, arguments...)
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	return c
}
