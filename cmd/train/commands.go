package main

import (
	"dpsgd/cmd/train/internal/ask"
	"dpsgd/cmd/train/internal/attacks"
	"dpsgd/cmd/train/internal/models"
	"dpsgd/cmd/train/internal/shell"

	"github.com/spf13/cobra"
)

// group is a part of the help.
type group struct {
	title    string
	commands []*cobra.Command
}

// groups lists everything that train can do.
func groups(a *shell.App) []group {
	return []group{
		{"Train", []*cobra.Command{runCommand(a), resumeCommand(a), extendCommand(a), sweepCommand(a), pateCommand(a), federatedCommand(a), describeCommand(a)}},
		{"Learn without a network", []*cobra.Command{statsCommand(a)}},
		{"What privacy costs", append(ask.Commands(a), ledgerCommand(a), attacks.Command(a, dataFlags(a)))},
		{"Look at runs", []*cobra.Command{runsCommand(a), evalCommand(a), reportCommand(a)}},
		{"Use models", models.Commands(a)},
		{"Configurations and data", []*cobra.Command{initCommand(a), presetsCommand(a), schemaCommand(a), dataCommand(a), featuresCommand(a)}},
		{"The program", []*cobra.Command{benchCommand(a), examplesCommand(a), manCommand(a), versionCommand(a)}},
	}
}
