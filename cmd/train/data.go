package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/spelling"

	"github.com/spf13/cobra"
)

func dataCommand(a *shell.App) *cobra.Command {
	return group(&cobra.Command{Use: "data", Short: "List, download and check data sets"}, dataFetchCommand(a), dataListCommand(a), dataCheckCommand(a))
}

func dataListCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the data sets that have a name",
		Long:  "List the data sets that have a name:\n\n" + datasetDocs(),
		Args:  shell.None,
		RunE: func(c *cobra.Command, _ []string) error {
			sets := setup.Outlines()
			return a.Print(map[string]any{"data": sets}, nil, func(w io.Writer) {
				shell.PrintRows(w, []string{"name", "training", "test", "examples", "classes"}, sets, func(s setup.Outline) []string {
					return []string{s.Name, shell.Count(s.Examples), shell.Count(s.Tests), s.Shape.String(), shell.Count(s.Classes)}
				})
			})
		},
	}
}

func dataCheckCommand(a *shell.App) *cobra.Command {
	var o setup.Request
	var set []string
	c := &cobra.Command{
		Use:   "check CONFIG|PRESET|RUN",
		Short: "Read all examples, and name the first that cannot be read",
		Long: `Read all examples of a configuration or a run, and name the first that cannot be read.

A run that meets such an example in a step does not say which one it is: that would tell who was drawn.
This reads all of them, whoever was drawn. What it prints is for who holds the data.`,
		Example: "  train data check digits\n  train data check runs/digits-1",
		Args:    shell.Args(1, 1, "one: a configuration file, the name of a preset, or the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			config, err := configOf(args[0], set)
			if err != nil {
				return err
			}
			read, err := o.Read(config)
			if err == nil {
				err = read.Check(computed(a))
			}
			if err != nil {
				return err
			}
			return a.Print(map[string]any{"name": read.Name, "examples": read.Train.Len(), "test_examples": read.Test.Len(), "status": "readable"}, nil, func(w io.Writer) {
				fmt.Fprintf(w, "all %s training and %s test examples of %s can be read\n", shell.Count(read.Train.Len()), shell.Count(read.Test.Len()), read.Name)
			})
		},
	}
	dataDirFlag(c, &o.DataDir)
	dataFolderFlag(c, &o.DataFolder)
	setFlag(c, &set)
	return c
}

// configOf returns the configuration in a run's folder, or that of a file or preset changed by set.
func configOf(name string, set []string) (*configs.Config, error) {
	if folder.HoldsAny(name, folder.Config) {
		if len(set) > 0 {
			return nil, shell.Usagef("found --set %s with the folder of a run, expected it with a configuration", set[0])
		}
		return folder.ReadConfig(name)
	}
	c, err := configs.Load(name, set)
	return c, shell.AsUsage(err)
}

// datasetDocs returns a line for each data set that says what it holds.
func datasetDocs() string {
	var lines strings.Builder
	for _, d := range data.Datasets() {
		fmt.Fprintf(&lines, "  %-14s %s\n", d.Name, d.Doc)
	}
	return lines.String()
}

func dataFetchCommand(a *shell.App) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:     "fetch NAME",
		Short:   "Download a data set from its public mirrors and verify it",
		Example: "  train data fetch mnist --data-dir datasets",
		Args:    shell.Args(1, 1, "one: the name of a data set, such as mnist"),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(data.Fetchable(), args[0]) {
				return shell.Usagef("found the data set %q, expected one of %s%s", args[0], strings.Join(data.Fetchable(), ", "), spelling.Hint(args[0], data.Fetchable()))
			}
			dir = cmp.Or(dir, data.DefaultDir())
			shown := fetchProgress{a.Display()}
			if err := data.Fetch(c.Context(), args[0], dir, shown.progress); err != nil {
				shown.EndBar()
				if c.Context().Err() != nil {
					fmt.Fprintln(a.Err, "train: stopped; the same command goes on where it was")
					return shell.Stopped(c.Context())
				}
				return err
			}
			return a.Print(map[string]string{"name": args[0], "data_dir": dir, "status": "verified"}, nil, func(w io.Writer) {
				fmt.Fprintf(w, "%s is in %s and verified\n", args[0], dir)
			})
		},
	}
	dataDirFlag(c, &dir)
	a.ProgressFlag(c)
	return c
}

// fetchProgress shows how a download goes.
type fetchProgress struct{ shell.Display }

func (f *fetchProgress) progress(file string, done, total int64) {
	f.Step(int(done), int(total), false, fmt.Sprintf("%s  %s of %s", shell.Cut(file, 30), run.Size(done), run.Size(total)))
}
