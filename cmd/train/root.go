package main

import (
	"fmt"
	"strings"

	"dpsgd/cmd/train/internal/shell"

	"github.com/spf13/cobra"
)

// root returns the command of the whole program.
func root(a *shell.App) *cobra.Command {
	root := &cobra.Command{
		Use:           "train",
		Short:         "Train neural networks with differential privacy",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          shell.NoArgs,
		Version:       version(),
		Long: `Train neural networks with differential privacy (DP-SGD).

A run follows a YAML configuration, stops before its privacy budget (ε, δ) would be passed, and leaves
a model, a privacy statement and a ledger of what was released in its folder.

` + shell.ExitHelp,
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), shell.Help(c)) })
	root.SetFlagErrorFunc(shell.FlagError)
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print the result as one JSON object on the last line of standard output")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		a.Hint(c, waits[strings.TrimPrefix(c.CommandPath(), root.Name()+" ")])
		return refuseRanks(c)
	}
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	for _, g := range sections(a) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID("The program")
	root.SetCompletionCommandGroupID("The program")
	shell.Complete(root)
	return root
}

// helpCommand prints the help of a command, and refuses a name that is no command's.
func helpCommand() *cobra.Command {
	help := &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return shell.NoArgs(about, rest)
			}
			return about.Help()
		},
	}
	shell.Complete(help)
	return help
}
