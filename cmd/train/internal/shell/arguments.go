package shell

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/spelling"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError returns the error of a wrong flag, with what was probably meant or what value it takes.
func FlagError(c *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		return wrongValue(wrong)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return Usagef("%w", err)
	}
	var names []string
	meant := ""
	c.Flags().VisitAll(func(f *pflag.Flag) {
		names = append(names, "--"+f.Name)
		if found := unknown.GetSpecifiedName(); len(found) > 1 && strings.HasPrefix(f.Name, found) {
			meant = " (did you mean --" + f.Name + "?)"
		}
	})
	return Usagef("%w%s", err, cmp.Or(spelling.Hint("--"+unknown.GetSpecifiedName(), names), meant, keyMeant(c, unknown.GetSpecifiedName()), commandMeant(c, unknown.GetSpecifiedName())))
}

// wrongValue returns an error that says what values the type of a flag allows.
func wrongValue(err *pflag.InvalidValueError) error {
	f := err.GetFlag()
	expected := map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false", "duration": "a time such as 5m"}[f.Value.Type()]
	if expected == "" {
		return Usagef("found --%s %s, %w", f.Name, folder.Argument(err.GetValue()), err.Unwrap())
	}
	return Usagef("found --%s %s, expected %s", f.Name, folder.Argument(err.GetValue()), expected)
}

// commandMeant returns a hint about a flag that c lacks: a command below c that has it or, for
// --dry-run, the one that does the same; "" for none.
func commandMeant(c *cobra.Command, flag string) string {
	if flag == "dry-run" { // of other programs
		return " (`" + c.Root().Name() + " describe` says what a run would do)"
	}
	if c.HasParent() {
		return ""
	}
	for _, sub := range c.Commands() {
		if sub.Flags().Lookup(flag) != nil {
			return fmt.Sprintf(" (it belongs to a command, as in `%s --%s …`)", sub.CommandPath(), flag)
		}
	}
	return ""
}

// keyMeant returns a hint: the keys of a configuration named like an unknown flag; "" for none.
func keyMeant(c *cobra.Command, flag string) string {
	if c.Flags().Lookup("set") == nil {
		return ""
	}
	var found []string
	for _, key := range configs.Named(strings.ReplaceAll(flag, "-", "_")) {
		found = append(found, "--set "+key+"=…")
	}
	if len(found) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(found, " or ") + "?)"
}

// NoArgs refuses all arguments of a command with others below it: none of these has their name.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	listed := strings.TrimPrefix(c.CommandPath(), c.Root().Name()) // as in `train help data`
	return Usagef("found %q, expected one of the commands that `%s help%s` lists%s", args[0], c.Root().Name(), listed, spelling.Hint(args[0], names))
}

// None refuses all arguments.
var None = Args(0, 0, "none")

// Args returns a check for min to max arguments, none empty. what says in errors what they are.
func Args(min, max int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, found []string) error {
		if slices.Contains(found, "") {
			return Usagef("`%s` found an empty argument, expected %s", c.CommandPath(), what)
		}
		if len(found) < min || len(found) > max {
			given := fmt.Sprintf("%d arguments", len(found))
			if len(found) == 1 {
				given = "1 argument"
			}
			return Usagef("`%s` found %s, expected %s", c.CommandPath(), given, what)
		}
		return nil
	}
}

// GivenFlag returns, as --name, a flag of the command line for whose name oneOf is true, or "".
func GivenFlag(c *cobra.Command, oneOf func(name string) bool) (found string) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if oneOf(f.Name) {
			found = "--" + f.Name
		}
	})
	return found
}

// OutputFlag adds -o to c, for the file that it writes. A file that runs keep is refused.
func OutputFlag(c *cobra.Command, path *string, usage string) {
	c.Flags().VarP(checked{path, func(path string) error {
		if folder.Kept(path) {
			return errors.New("expected a name that no run uses")
		}
		return nil
	}}, "output", "o", usage)
}

// FolderFlag adds to c a flag called name for a folder, with the default otherwise. An empty value,
// which a script makes of a variable that is not set, is refused.
func FolderFlag(c *cobra.Command, dir *string, name, otherwise, usage string) {
	*dir = otherwise
	c.Flags().Var(checked{dir, func(given string) error {
		if given == "" {
			return errors.New("expected the name of a folder")
		}
		return nil
	}}, name, usage)
}

// checked is a flag whose text is checked before it is taken.
type checked struct {
	value *string
	check func(given string) error
}

func (f checked) String() string {
	if f.value == nil {
		return ""
	}
	return *f.value
}

// Type returns what the help calls the value.
func (checked) Type() string { return "string" }

// Set takes a text that passes the check, or returns the error of the check.
func (f checked) Set(text string) error {
	if err := f.check(text); err != nil {
		return err
	}
	*f.value = text
	return nil
}

// DataGiven returns the flags of the command line that say where the data is, to repeat in advice.
func DataGiven(c *cobra.Command) string { return given(c, "data-dir", "data-folder") }

// FoldersGiven returns the flags of [DataGiven], and the one that says where the runs are.
func FoldersGiven(c *cobra.Command) string { return given(c, "data-dir", "data-folder", "runs-dir") }

func given(c *cobra.Command, names ...string) (flags string) {
	for _, name := range names {
		if f := c.Flags().Lookup(name); f != nil && f.Changed {
			flags += " --" + name + " " + folder.Argument(f.Value.String())
		}
	}
	return flags
}

// First returns the first argument, or otherwise where there is none.
func First(args []string, otherwise string) string {
	if len(args) == 0 {
		return otherwise
	}
	return args[0]
}
