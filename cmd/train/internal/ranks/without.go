//go:build !mpi

package ranks

import (
	"os"
	"os/exec"
	"path/filepath"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/mpi"
)

// Join is nil where this process was started alone. One of several ranks goes on as the program that
// speaks MPI, with the same command line.
func Join() (mpi.Group, error) {
	size, by, ok := mpi.Launched()
	if !ok {
		return nil, nil
	}
	program, found := sibling()
	if !found {
		return nil, shell.Usagef("found %d ranks of %s, but this program speaks no MPI, expected `%s` beside it or on PATH: start that one", size, by, Program)
	}
	return nil, become(program)
}

// sibling is the file of the program that speaks MPI, unless that is this one.
func sibling() (file string, found bool) {
	self, err := os.Executable()
	if err != nil {
		return "", false
	}
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	file, err = exec.LookPath(filepath.Join(filepath.Dir(self), Program))
	if err != nil {
		if file, err = exec.LookPath(Program); err != nil {
			return "", false
		}
	}
	here, err1 := os.Stat(self)
	there, err2 := os.Stat(file)
	return file, err1 == nil && err2 == nil && !os.SameFile(here, there)
}

// Library is what `train version` says about MPI: nothing.
func Library() string { return "" }
