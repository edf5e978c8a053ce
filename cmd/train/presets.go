package main

import (
	"fmt"
	"io"
	"slices"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/cmd/train/internal/terminal"
	"dpsgd/configs"
	"dpsgd/internal/spelling"

	"github.com/spf13/cobra"
)

// presetItem is a preset or sweep in what `train presets --json` prints.
type presetItem struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source,omitempty"` // of one that was asked for
}

func presetsCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{
		Use:   "presets [NAME]",
		Short: "List the configurations that come with the program, or print one",
		Example: `  train presets
  train presets own-pictures > my.yaml`,
		Args: shell.Args(0, 1, "at most one: the name of a preset to print"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return printPreset(a, args[0])
			}
			presets, sweeps := items(configs.Presets()), items(configs.Sweeps())
			return a.Print(map[string][]presetItem{"presets": presets, "sweeps": sweeps}, func(w io.Writer) {
				printItems(w, "preset", presets)
				fmt.Fprintln(w)
				printItems(w, "sweep", sweeps)
			})
		},
	}
}

func items(presets []configs.Preset) []presetItem {
	list := make([]presetItem, len(presets))
	for i, p := range presets {
		list[i] = presetItem{Name: p.Name, Description: p.Description}
	}
	return list
}

func printItems(w io.Writer, kind string, list []presetItem) {
	table := [][]string{{kind, "what"}}
	for _, p := range list {
		table = append(table, []string{p.Name, p.Description})
	}
	terminal.PrintTable(w, table)
}

// printPreset prints the file of a preset or sweep, to start one's own from.
func printPreset(a *shell.App, name string) error {
	presets := append(configs.Presets(), configs.Sweeps()...)
	i := slices.IndexFunc(presets, func(p configs.Preset) bool { return p.Name == name })
	if i < 0 {
		meant, least := "", 3
		for _, p := range presets {
			if d := spelling.Distance(name, p.Name); d < least {
				meant, least = " (did you mean "+p.Name+"?)", d
			}
		}
		return shell.Usagef("found no preset %q, expected one that `train presets` lists%s", name, meant)
	}
	p := presets[i]
	return a.Print(presetItem{p.Name, p.Description, string(p.Source)}, func(w io.Writer) { w.Write(p.Source) })
}
