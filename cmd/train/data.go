package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"dpsgd/data"
	"dpsgd/internal/setup"

	"github.com/spf13/cobra"
)

func (a *app) dataCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "data",
		Short: "List and download the data sets that have a name",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.dataFetchCommand(), a.dataListCommand())
	return c
}

func (a *app) dataListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the data sets that have a name",
		Long:  "List the data sets that have a name:\n\n" + datasetDocs(),
		Args:  args(0, 0, "none"),
		RunE: func(c *cobra.Command, _ []string) error {
			sets := setup.Outlines()
			table := [][]string{{"name", "training", "test", "pictures", "classes"}}
			for _, s := range sets {
				table = append(table, []string{s.Name, count(s.Examples), count(s.Tests), s.Shape.String(), count(s.Classes)})
			}
			return a.print(map[string]any{"data": sets}, func(w io.Writer) { printTable(w, table) })
		},
	}
}

// datasetDocs says what each data set holds.
func datasetDocs() string {
	var lines strings.Builder
	for _, d := range data.Datasets() {
		fmt.Fprintf(&lines, "  %-14s %s\n", d.Name, d.Doc)
	}
	return lines.String()
}

func (a *app) dataFetchCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:     "fetch NAME",
		Short:   "Download a data set from its public mirrors and verify it",
		Example: "  train data fetch mnist --data-dir datasets",
		Args:    args(1, 1, "one: the name of a data set, such as mnist"),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(data.Names(), args[0]) {
				return usagef("found the data set %q, expected one of %s", args[0], strings.Join(data.Names(), ", "))
			}
			if dir == "" {
				dir = data.DefaultDir()
			}
			shown := fetchProgress{display: a.display()}
			if err := data.Fetch(c.Context(), args[0], dir, data.FetchOptions{Progress: shown.progress}); err != nil {
				shown.endBar()
				if c.Context().Err() != nil {
					fmt.Fprintln(a.err, "train: stopped; the same command goes on where it was")
					return stopped(c.Context())
				}
				return err
			}
			return a.print(map[string]string{"name": args[0], "data_dir": dir, "status": "verified"}, func(w io.Writer) {
				fmt.Fprintf(w, "%s is in %s and verified\n", args[0], dir)
			})
		},
	}
	dataDirFlag(c, &dir)
	return c
}

// datasetFolders describes the folder of the data sets that are read from files.
func datasetFolders() string {
	names := data.Fetchable()
	last := len(names) - 1
	return fmt.Sprintf("folder with %s/ and %s/ (default: $%s)", strings.Join(names[:last], "/, "), names[last], data.DirVariable)
}

// fetchProgress shows how a download goes: with a bar for each file, or with a line for each and one
// now and then.
type fetchProgress struct {
	display
	file string
}

func (f *fetchProgress) progress(file string, done, total int64) {
	text := fmt.Sprintf("%s  %s of %s", cut(file, 30), megabytes(int(done)), megabytes(int(total)))
	if !f.bars {
		if f.due() || done == total {
			fmt.Fprintln(f.w, text)
		}
		return
	}
	if f.file != file {
		f.file, f.bar = file, newBar(f.w, total, barWidth)
	}
	f.showText(done, text)
	if done == total {
		fmt.Fprintln(f.w)
	}
}
