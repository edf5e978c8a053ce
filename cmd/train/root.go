package main

import (
	"context"
	"dpsgd/internal/spelling"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app holds what all commands share.
type app struct {
	out, err io.Writer
	json     bool
}

// execute runs one command line and returns its exit code.
func execute(args []string, out, err io.Writer) int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	return executeContext(ctx, args, out, err)
}

func executeContext(ctx context.Context, args []string, out, err io.Writer) int {
	checked := &checkedWriter{w: out}
	a := &app{out: checked, err: err}
	root := a.root()
	root.SetArgs(args)
	failure := root.ExecuteContext(ctx)
	if failure == nil {
		failure = checked.err
	}
	return a.fail(failure)
}

// untilSignal returns a context that the first SIGINT or SIGTERM ends, for work to be saved. The
// second one kills.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(interrupted{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// stopped is the error of a command whose work was ended by its context, after saving.
func stopped(ctx context.Context) error {
	if i, ok := context.Cause(ctx).(interrupted); ok {
		return i
	}
	return interrupted{os.Interrupt}
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
