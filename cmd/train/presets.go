package main

import (
	"fmt"

	"dpsgd/configs"

	"github.com/spf13/cobra"
)

// presetList is what `train presets --json` prints.
type presetList struct {
	Presets []presetItem `json:"presets"`
	Sweeps  []presetItem `json:"sweeps"`
}

type presetItem struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

func (a *app) presetsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "presets [NAME]",
		Short: "List the configurations that come with the program, or print one",
		Example: `  train presets
  train presets own-pictures > my.yaml`,
		Args: args(0, 1, "at most one: the name of a preset to print"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.printPreset(args[0])
			}
			list := presetList{items(configs.Presets()), items(configs.Sweeps())}
			if a.json {
				return a.printJSON(list)
			}
			table := [][]string{{"preset", "what"}}
			for _, p := range list.Presets {
				table = append(table, []string{p.Name, p.Description})
			}
			printTable(a.out, table)
			fmt.Fprintln(a.out)
			table = [][]string{{"sweep", "what"}}
			for _, p := range list.Sweeps {
				table = append(table, []string{p.Name, p.Description})
			}
			printTable(a.out, table)
			return nil
		},
	}
}

func items(presets []configs.Preset) []presetItem {
	list := make([]presetItem, len(presets))
	for i, p := range presets {
		list[i] = presetItem{p.Name, p.Description}
	}
	return list
}

// printPreset prints the file of a preset or sweep, to start one's own from.
func (a *app) printPreset(name string) error {
	for _, p := range append(configs.Presets(), configs.Sweeps()...) {
		if p.Name != name {
			continue
		}
		if a.json {
			return a.printJSON(map[string]string{"name": p.Name, "description": p.Description, "source": string(p.Source)})
		}
		_, err := a.out.Write(p.Source)
		return err
	}
	return usagef("found no preset %q, expected one that `train presets` lists", name)
}
