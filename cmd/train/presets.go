package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/spelling"

	"github.com/spf13/cobra"
)

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
			presets, grids, asked := configs.Presets(), configs.Sweeps(), configs.Statistics()
			return a.Print(map[string][]configs.Preset{"presets": presets, "sweeps": grids, "statistics": asked}, nil, func(w io.Writer) {
				printItems(w, "preset", presets)
				fmt.Fprintln(w)
				printItems(w, "sweep", grids)
				fmt.Fprintln(w)
				printItems(w, "statistics", asked)
			})
		},
	}
}

func printItems(w io.Writer, kind string, list []configs.Preset) {
	shell.PrintRows(w, []string{kind, "what"}, list, func(p configs.Preset) []string {
		return []string{p.Name, p.Description}
	})
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
	text := withoutSchema(presets[i].Source)
	result := struct {
		configs.Preset
		Source string `json:"source"`
	}{presets[i], string(text)}
	return a.Print(result, nil, func(w io.Writer) { w.Write(text) })
}

// withoutSchema returns a preset without its first line, which tells editors where its schema lies:
// beside a copy of the preset there is none.
func withoutSchema(source []byte) []byte {
	if first, rest, _ := bytes.Cut(source, []byte("\n")); bytes.HasPrefix(first, []byte("# yaml-language-server:")) {
		return rest
	}
	return source
}

func schemaCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of configuration files, for editors",
		Long: `Print the JSON schema of configuration files. Editors that know YAML complete and check a configuration that begins with

  # yaml-language-server: $schema=schema.json

and lies beside the file schema.json.`,
		Example: "  train schema > schema.json",
		Args:    shell.None,
		RunE: func(c *cobra.Command, args []string) error {
			return a.Print(json.RawMessage(configs.Schema()), nil, func(w io.Writer) {
				fmt.Fprintf(w, "%s\n", bytes.TrimRight(configs.Schema(), "\n"))
			})
		},
	}
}
