package main

import (
	"context"
	"dpsgd/internal/spelling"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	checked := &checkedWriter{w: a.out}
	a.out = checked
	root := a.root()
	root.SetArgs(args)
	failure := root.ExecuteContext(ctx)
	if failure == nil {
		failure = checked.err
	}
	return a.fail(failure)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "train",
		Short:         "Train neural networks with differential privacy",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		Version:       version(),
		Long: `Train neural networks with differential privacy (DP-SGD).

A run follows a YAML configuration, stops before its privacy budget (ε, δ) would be passed, and leaves
a model, a privacy statement and a ledger of what was released in its folder.

` + exitHelp,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result as one JSON object on the last line of standard output")
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	root.AddCommand(a.commands()...)
	root.SetHelpCommand(helpCommand())
	return root
}

// helpCommand prints the help of a command, and refuses what is none.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noArgs(about, rest)
			}
			return about.Help()
		},
	}
}

// flagError says which flag was probably meant by one that is not known.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usagef("%w", err)
	}
	meant, least := "", 3
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := spelling.Distance(unknown.GetSpecifiedName(), f.Name); d < least || strings.HasPrefix(f.Name, unknown.GetSpecifiedName()) {
			meant, least = " (did you mean --"+f.Name+"?)", min(d, least)
		}
	})
	return usagef("%w%s", err, meant)
}

// noArgs and args check positional arguments with an error of ours.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	meant := ""
	if names := c.SuggestionsFor(args[0]); len(names) > 0 {
		meant = " (did you mean " + names[0] + "?)"
	}
	return usagef("found %q, expected one of the commands that `%s help` lists%s", args[0], c.Root().Name(), meant)
}

func args(min, max int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, found []string) error {
		if slices.Contains(found, "") {
			return usagef("`%s` found an empty argument, expected %s", c.CommandPath(), what)
		}
		if len(found) < min || len(found) > max {
			return usagef("`%s` found %d arguments, expected %s", c.CommandPath(), len(found), what)
		}
		return nil
	}
}
