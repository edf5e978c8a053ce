package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// app holds what all commands share.
type app struct {
	out, err io.Writer
	json     bool
	stopper
}

// execute runs one command line and returns its exit code.
func execute(args []string, out, err io.Writer) int {
	a := &app{out: out, err: err, stopper: stopper{err: err, exit: os.Exit}}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	return a.execute(ctx, args)
}

func (a *app) execute(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	return a.fail(root.ExecuteContext(ctx))
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

` + exitHelp,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%w", err) })
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result as one JSON object on the last line of standard output")
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	root.AddCommand(a.commands()...)
	return root
}

// noArgs and args check positional arguments with an error of ours.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("found %q, expected one of the commands that `%s help` lists", args[0], c.Root().Name())
	}
	return nil
}

func args(min, max int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, found []string) error {
		if len(found) < min || len(found) > max {
			return usagef("`%s` found %d arguments, expected %s", c.CommandPath(), len(found), what)
		}
		return nil
	}
}
