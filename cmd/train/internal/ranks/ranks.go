// Package ranks makes one run of the processes that an MPI launcher has started.
//
// There are two programs. One is static and speaks no MPI; started by a launcher, it becomes the other
// one, train-mpi, which is built with the tag mpi and opens an MPI library when it runs.
package ranks

import (
	"slices"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/mpi"

	"github.com/spf13/cobra"
)

// Program is the name of the one that speaks MPI.
const Program = "train-mpi"

// shared are the commands that all ranks carry out together, or that say what the program is.
var shared = []string{"train", "train run", "train resume", "train version", "train help", "train completion"}

// Refuse is the error of a command that every rank would carry out for itself.
func Refuse(c *cobra.Command) error {
	size, by, ok := mpi.Launched()
	if !ok {
		return nil
	}
	top := c // train completion, of train completion bash
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	if slices.Contains(shared, top.CommandPath()) {
		return nil
	}
	return shell.Usagef("found %d ranks of %s, each of which would carry out `%s`, expected `train run` or `train resume`, which share their work", size, by, c.CommandPath())
}
