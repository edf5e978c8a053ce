package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"dpsgd/configs"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitDone        = 0   // finished, also when the budget stopped the run
	exitFailed      = 1   // something went wrong while working
	exitUsage       = 2   // the command line or the configuration is wrong; nothing was started
	exitInterrupted = 130 // stopped by SIGINT or SIGTERM, saved, can be resumed
)

// errUsage marks errors of the command line itself.
var errUsage = errors.New("usage")

// errInterrupted ends a command that saved its work after a signal.
var errInterrupted = errors.New("interrupted")

// app holds what all commands share.
type app struct {
	out, err io.Writer
	json     bool
}

// execute runs one command line and returns its exit code.
func execute(args []string, out, err io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{out: out, err: err}
	root := a.root()
	root.SetArgs(args)
	return a.exitCode(root.ExecuteContext(ctx))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "train",
		Short:         "Train neural networks with differential privacy",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		Long: `Train neural networks with differential privacy (DP-SGD).

A run follows a YAML configuration, stops before its privacy budget (ε, δ) would be passed, and leaves
a model, a privacy statement and a ledger of what was released in its folder.

Exit codes: 0 done or budget exhausted, 1 failed, 2 wrong command line or configuration, 130 interrupted and saved.`,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result as one JSON object on the last line of standard output")
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	root.AddCommand(a.commands()...)
	return root
}

// exitCode prints an error, one line for each problem, and chooses the code.
func (a *app) exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintln(a.err, "train:", strings.TrimPrefix(line, "train: "))
	}
	if errors.Is(err, errUsage) || errors.Is(err, configs.ErrInvalid) || errors.Is(err, train.ErrPlan) {
		return exitUsage
	}
	return exitFailed
}

// noArgs and maxOneArg check positional arguments with an error of ours.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: found %q, expected one of the commands that `%s help` lists", errUsage, args[0], c.CommandPath())
	}
	return nil
}

func args(min, max int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, found []string) error {
		if len(found) < min || len(found) > max {
			return fmt.Errorf("%w: `%s` found %d arguments, expected %s", errUsage, c.CommandPath(), len(found), what)
		}
		return nil
	}
}
