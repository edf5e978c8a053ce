package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/spelling"

	"github.com/spf13/cobra"
)

// presetItem is what `train presets --json` prints of a preset, a sweep or statistics.
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
			presets, grids, asked := items(configs.Presets()), items(configs.Sweeps()), items(configs.Statistics())
			return a.Print(map[string][]presetItem{"presets": presets, "sweeps": grids, "statistics": asked}, func(w io.Writer) {
				printItems(w, "preset", presets)
				fmt.Fprintln(w)
				printItems(w, "sweep", grids)
				fmt.Fprintln(w)
				printItems(w, "statistics", asked)
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
	shell.PrintTable(w, table)
}

// printPreset prints the file of a preset, a sweep or statistics, to start one's own from.
func printPreset(a *shell.App, name string) error {
	presets := slices.Concat(configs.Presets(), configs.Sweeps(), configs.Statistics())
	i := slices.IndexFunc(presets, func(p configs.Preset) bool { return p.Name == name })
	if i < 0 {
		var names []string
		for _, p := range presets {
			names = append(names, p.Name)
		}
		return shell.Usagef("found no preset %q, expected one that `train presets` lists%s", name, spelling.Hint(name, names))
	}
	p := presets[i]
	text := withoutSchema(p.Source)
	return a.Print(presetItem{p.Name, p.Description, string(text)}, func(w io.Writer) { w.Write(text) })
}

// withoutSchema returns a preset without its first line, which tells editors where its schema lies:
// beside a copy of the preset there is none.
func withoutSchema(source []byte) []byte {
	if first, rest, _ := bytes.Cut(source, []byte("\n")); bytes.HasPrefix(first, []byte("# yaml-language-server:")) {
		return rest
	}
	return source
}
