package main

import (
	"errors"
	"fmt"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/sweep"

	"github.com/spf13/cobra"
)

// runTask trains the trials of a share of a sweep, which the command line names so, and prints what came
// of it. Why says where the share is from.
func runTask(a *shell.App, c *cobra.Command, shown *shell.Display, name, why string, file *configs.Sweep, share sweep.Share, o sweep.Options) error {
	if why != "" {
		fmt.Fprintln(shown.W, "task      "+why)
	}
	result, err := sweep.RunTask(c.Context(), file, share, o)
	if errors.Is(err, sweep.ErrNoTrial) {
		return shell.AsUsage(err)
	}
	if err != nil {
		return err
	}
	shown.EndBar()
	said := fmt.Sprintf("%d of the %d trials of this task have a result", len(result.Rows), len(result.Numbers))
	if result.Status == run.Interrupted {
		fmt.Fprintf(a.Err, "train: stopped and saved, %s; go on with the same command\n", said)
	} else {
		fmt.Fprintf(shown.W, "done      %s\ncollect   `train sweep %s --collect%s`\n", said, folder.Argument(name), shell.FoldersGiven(c))
	}
	if err := a.PrintJSON(result); err != nil || result.Status != run.Interrupted {
		return err
	}
	return shell.Stopped(c.Context())
}

// shareOf says which trials a sweep or a task is about.
func shareOf(o sweep.Overview) string {
	if o.Numbers == nil {
		return fmt.Sprint(o.Trials)
	}
	if len(o.Numbers) == 0 {
		return fmt.Sprintf("none of %d", o.Trials) // of more tasks than trials
	}
	return fmt.Sprintf("%s of %d", sweep.Numbers(o.Numbers), o.Trials)
}
