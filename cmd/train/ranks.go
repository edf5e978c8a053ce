package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/mpi"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

// There are two programs. One is static and speaks no MPI; started by a launcher, it becomes the
// other one, train-mpi, which is built with the tag mpi and opens an MPI library when it runs.

// mpiProgram is the name of the program that speaks MPI.
const mpiProgram = "train-mpi"

// sharedByRanks are the commands that all ranks share, or that say what the program is.
var sharedByRanks = []string{"train", "train run", "train resume", "train version", "train help", "train completion"}

// refuseRanks refuses a command that each of several started ranks would carry out for itself.
func refuseRanks(c *cobra.Command) error {
	size, by, ok := mpi.Launched()
	if !ok {
		return nil
	}
	top := c // train completion, of train completion bash
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	if slices.Contains(sharedByRanks, top.CommandPath()) {
		return nil
	}
	return shell.Usagef("found %d ranks of %s, each of which would carry out `%s`, expected `train run` or `train resume`, which share their work", size, by, c.CommandPath())
}

// patienceVariable is the environment variable with the least time that rank 0 waits for another.
const patienceVariable = "DPSGD_PATIENCE"

// together carries out one run on all ranks that a launcher has started. lead is called on rank 0,
// with the group in its options, or in a process that is alone. The other ranks do what rank 0 says
// with the data that o finds, and print nothing unless they fail.
func together(a *shell.App, o train.Options, lead func(train.Options) error) error {
	g, err := joinGroup()
	if err != nil {
		return err
	}
	if g == nil {
		return lead(o)
	}
	o.Group = g
	runtime.GOMAXPROCS(mpi.Threads())
	a.IsRank(g.Rank())
	if g.Rank() > 0 {
		err = train.Follow(o)
	} else if o.Patience, err = patience(); err == nil {
		err = lead(o)
	}
	if err == nil || errors.As(err, new(shell.Interrupted)) {
		return errors.Join(err, g.Close())
	}
	g.Abort(a.Fail(err)) // says what went wrong before all ranks end
	return err
}

// patience returns the time in patienceVariable, such as 5m; 0 if it is not set.
func patience() (time.Duration, error) {
	text := os.Getenv(patienceVariable)
	d, err := time.ParseDuration(cmp.Or(text, "0"))
	if err != nil || d < 0 || d == 0 && text != "" {
		return 0, shell.Usagef("%s is %q, expected a time such as 5m", patienceVariable, text)
	}
	return d, nil
}

// rankNumbers returns which process is which rank, of the first 8: launchers name processes.
func rankNumbers(processes []int64) string {
	const most = 8
	named := make([]string, min(len(processes), most))
	for rank := range named {
		named[rank] = fmt.Sprintf("rank %d = %d", rank, processes[rank])
	}
	if len(processes) > most {
		named = append(named, "…")
	}
	return fmt.Sprintf("%d processes: %s", len(processes), strings.Join(named, ", "))
}
