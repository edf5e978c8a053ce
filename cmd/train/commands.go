package main

import (
	"slices"

	"dpsgd/cmd/train/internal/shell"

	"github.com/spf13/cobra"
)

// section is a part of the help.
type section struct {
	title    string
	commands []*cobra.Command
}

// waits says, of commands that can take a while before their first line, what they do meanwhile.
var waits = map[string]string{
	"run": "reads the data and plans the noise", "resume": "reads the run and its data", "extend": "reads the run and plans the noise",
	"sweep": "plans the trials", "pate": "reads the data and plans the votes", "federated": "reads the data and plans the noise",
	"describe": "computes ε over the steps", "epsilon": "computes ε", "delta": "computes δ", "calibrate": "searches for the noise",
	"steps": "searches for the number of steps", "compare": "asks all accountants", "tradeoff": "computes the curve",
	"stats": "reads the data and plans the noise", "runs": "reads the runs", "report": "reads the runs", "eval": "measures the model",
	"ledger show": "adds up the ledgers", "ledger verify": "checks the ledgers",
}

// most are the ten commands that most people need; help shows them first.
var most = []string{"init", "describe", "run", "resume", "runs", "report", "predict", "export", "ledger", "calibrate"}

// sections returns all commands by the parts of the help: the most used first, then the others.
func sections(a *shell.App) []section {
	first, rest := section{title: "Most used"}, others(a)
	for i, s := range rest {
		rest[i].commands = nil
		for _, c := range s.commands {
			to := &rest[i]
			if slices.Contains(most, c.Name()) {
				to = &first
			}
			to.commands = append(to.commands, c)
		}
	}
	return append([]section{first}, rest...)
}

// group puts commands below c, which alone prints its help and takes no arguments.
func group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args, c.RunE = shell.NoArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(below...)
	return c
}

// others returns all commands by what they are for.
func others(a *shell.App) []section {
	return []section{
		{"Train", []*cobra.Command{runCommand(a), resumeCommand(a), extendCommand(a), sweepCommand(a), pateCommand(a), federatedCommand(a), describeCommand(a), planCommand(a)}},
		{"Learn without a network", []*cobra.Command{statsCommand(a)}},
		{"What privacy costs", append(askCommands(a), ledgerCommand(a), attackCommand(a, dataFlags(a)))},
		{"Look at runs", []*cobra.Command{runsCommand(a), evalCommand(a), reportCommand(a)}},
		{"Use models", []*cobra.Command{predictCommand(a), serveCommand(a), exportCommand(a), cardCommand(a), importCommand(a)}},
		{"Configurations and data", []*cobra.Command{initCommand(a), presetsCommand(a), schemaCommand(a), dataCommand(a), featuresCommand(a)}},
		{"The program", []*cobra.Command{benchCommand(a), examplesCommand(a), manCommand(a), versionCommand(a)}},
	}
}
