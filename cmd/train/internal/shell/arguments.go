package shell

import (
	"dpsgd/internal/folder"
	"dpsgd/internal/spelling"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError says which flag was probably meant by one that is not known.
func FlagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return Usagef("%w", err)
	}
	meant, least := "", 3
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := spelling.Distance(unknown.GetSpecifiedName(), f.Name); d < least || strings.HasPrefix(f.Name, unknown.GetSpecifiedName()) {
			meant, least = " (did you mean --"+f.Name+"?)", min(d, least)
		}
	})
	return Usagef("%w%s", err, meant)
}

// NoArgs and args check positional arguments with an error of ours.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	meant := ""
	if names := c.SuggestionsFor(args[0]); len(names) > 0 {
		meant = " (did you mean " + names[0] + "?)"
	}
	return Usagef("found %q, expected one of the commands that `%s help` lists%s", args[0], c.Root().Name(), meant)
}

func Args(min, max int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, found []string) error {
		if slices.Contains(found, "") {
			return Usagef("`%s` found an empty argument, expected %s", c.CommandPath(), what)
		}
		if len(found) < min || len(found) > max {
			return Usagef("`%s` found %d arguments, expected %s", c.CommandPath(), len(found), what)
		}
		return nil
	}
}

// GivenFlag is a flag of the command line that is one of these, or "".
func GivenFlag(c *cobra.Command, oneOf func(name string) bool) (found string) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if oneOf(f.Name) {
			found = "--" + f.Name
		}
	})
	return found
}

// DataDirGiven repeats --data-dir in advice, if it was given.
func DataDirGiven(c *cobra.Command) string {
	if f := c.Flags().Lookup("data-dir"); f != nil && f.Changed {
		return " --data-dir " + folder.Argument(f.Value.String())
	}
	return ""
}

// First is the first argument, or "".
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
