//go:build !mpi

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/mpi"
)

// joinGroup returns nil where this process was started alone. Where it is one of several ranks, it
// replaces the program by the one that speaks MPI, with the same command line, in the same process,
// which the launcher watches.
func joinGroup() (mpi.Group, error) {
	size, by, ok := mpi.Launched()
	if !ok {
		return nil, nil
	}
	program, found := sibling()
	if !found {
		return nil, shell.Usagef("found %d ranks of %s, but this program speaks no MPI, expected `%s` beside it or on PATH: start that one", size, by, mpiProgram)
	}
	err := syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ())
	return nil, fmt.Errorf("train: %s: %w", program, err)
}

// sibling returns the file of the program that speaks MPI, beside this one or else on PATH. found
// is false if there is none, or if it is this program.
func sibling() (file string, found bool) {
	self, err := os.Executable()
	if err != nil {
		return "", false
	}
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	file, err = exec.LookPath(filepath.Join(filepath.Dir(self), mpiProgram))
	if err != nil {
		if file, err = exec.LookPath(mpiProgram); err != nil {
			return "", false
		}
	}
	here, err1 := os.Stat(self)
	there, err2 := os.Stat(file)
	return file, err1 == nil && err2 == nil && !os.SameFile(here, there)
}

// mpiLibrary returns "": this program opens no MPI library.
func mpiLibrary() string { return "" }
