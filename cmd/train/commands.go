package main

import "github.com/spf13/cobra"

// commands lists everything that train can do, in the order of the help.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.runCommand(), a.resumeCommand(), a.evalCommand(), a.sweepCommand(), a.ledgerCommand(),
		a.describeCommand(), a.epsilonCommand(), a.deltaCommand(), a.calibrateCommand(), a.stepsCommand(), a.compareCommand(),
		a.benchCommand(), a.presetsCommand(), a.schemaCommand(), a.dataCommand(), a.featuresCommand(), a.versionCommand(),
	}
}
