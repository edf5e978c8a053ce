package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/kernel"
	"dpsgd/internal/selftest"

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
		_, err := kernel.Selected()
		return cmp.Or(shell.AsUsage(err), refuseRanks(c))
	}
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	root.AddGroup(&cobra.Group{ID: mostUsed, Title: mostUsed + ":"})
	for _, s := range sections(a) {
		root.AddGroup(&cobra.Group{ID: s.title, Title: s.title + ":"})
		for _, c := range s.commands {
			if c.GroupID = s.title; slices.Contains(most, c.Name()) {
				c.GroupID = mostUsed
			}
			root.AddCommand(c)
		}
	}
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID("The program")
	root.SetCompletionCommandGroupID("The program")
	shell.Complete(root)
	return root
}

// helpCommand returns `train help`. It prints the help of a command, and refuses a name of none.
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

// section is one part of the list of commands in the help: its title and its commands.
type section struct {
	title    string
	commands []*cobra.Command
}

// waits says what a command does that can take a while before its first line, by its name.
var waits = map[string]string{
	"run": "reads the data, plans the noise and measures kernels", "resume": "reads the run and its data", "extend": "reads the run and plans the noise",
	"sweep": "plans the trials", "pate": "reads the data and plans the votes", "federated": "reads the data, plans the noise and measures kernels",
	"describe": "computes ε over the steps", "epsilon": "computes ε", "delta": "computes δ", "calibrate": "searches for the noise",
	"steps": "searches for the number of steps", "compare": "asks all accountants", "tradeoff": "computes the curve",
	"stats": "reads the data and plans the noise", "runs": "reads the runs", "report": "reads the runs", "eval": "measures the model",
	"audit": "makes releases (fewer with --observations)", "ledger show": "adds up the ledgers", "ledger verify": "checks the ledgers",
}

// mostUsed is the title of the part of the help that comes first. It has the ten commands in most.
const mostUsed = "Most used"

var most = []string{"init", "describe", "run", "resume", "runs", "report", "predict", "export", "ledger", "calibrate"}

// Arguments that commands expect, as errors say it.
const (
	oneRun    = "one: the folder of a run, such as runs/digits-1"
	oneConfig = "at most one: a configuration file or the name of a preset"
)

// group adds commands below c and returns c, which alone prints its help and takes no arguments.
func group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args, c.RunE = shell.NoArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(below...)
	return c
}

// sections returns all commands, grouped by what they are for, in the order of the help.
func sections(a *shell.App) []section {
	return []section{
		{"Train", []*cobra.Command{runCommand(a), resumeCommand(a), extendCommand(a), sweepCommand(a), pateCommand(a), federatedCommand(a), describeCommand(a), planCommand(a)}},
		{"Learn without a network", []*cobra.Command{statsCommand(a)}},
		{"What privacy costs", append(askCommands(a), ledgerCommand(a), selftestCommand(a, selftest.Run), auditCommand(a), attackCommand(a))},
		{"Look at runs", []*cobra.Command{runsCommand(a), evalCommand(a), reportCommand(a)}},
		{"Use models", []*cobra.Command{predictCommand(a), serveCommand(a), exportCommand(a), cardCommand(a), importCommand(a)}},
		{"Configurations and data", []*cobra.Command{initCommand(a), presetsCommand(a), schemaCommand(a), dataCommand(a), featuresCommand(a)}},
		{"The program", []*cobra.Command{benchCommand(a), examplesCommand(a), manCommand(a), versionCommand(a)}},
	}
}
