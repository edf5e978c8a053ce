package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/report"

	"github.com/spf13/cobra"
)

func reportCommand(a *shell.App) *cobra.Command {
	var out, plots string
	request := report.Request{Predict: true, Accountants: true}
	c := &cobra.Command{
		Use:   "report RUN|SWEEP…",
		Short: "Make one HTML file of curves, tables and privacy statement",
		Long: `Make one HTML file of runs and sweeps: privacy statement, ε by the accountants, accuracy over steps and over ε, which
classes are confused, test pictures, and for sweeps heat maps and accuracy against ε. Several runs stand side by side.

The file needs no network and runs no script. It holds what is public and nothing else.`,
		Example: `  train report runs/digits-1
  train report runs/digits-1 runs/digits-2 -o comparison.html
  train report runs/clip-noise --plots figures
  train report runs/digits-1 --audit audit.json`,
		Args: shell.Args(1, math.MaxInt, "at least one: the folder of a run or of a sweep, such as runs/digits-1"),
		RunE: func(c *cobra.Command, args []string) error {
			path := cmp.Or(out, "report.html")
			if out == "" && request.Private {
				path = "report.private.html"
			}
			if ending := strings.ToLower(filepath.Ext(path)); ending != ".html" && ending != ".htm" {
				return shell.Usagef("found -o %s, expected a file that ends in .html", path)
			}
			if request.Private {
				if err := report.CheckName("-o", path, "report.private.html"); err != nil {
					return shell.AsUsage(err)
				}
			}
			r, err := report.Read(c.Context(), args, request, version())
			if err := shell.Ended(c.Context(), err); err != nil {
				return err
			}
			return writeReport(a, r, path, plots)
		},
	}
	dataDirFlag(c, &request.DataDir)
	dataFolderFlag(c, &request.DataFolder)
	c.Flags().StringVarP(&out, "output", "o", "", "the file to write (default report.html)")
	c.Flags().StringVar(&plots, "plots", "", "also draw every figure into this folder, as SVG and PNG")
	c.Flags().StringArrayVar(&request.Audits, "audit", nil, "also show what train audit --json printed, from this file (repeatable)")
	c.Flags().BoolVar(&request.Times, "times", false, "also measure the parts of a step, on random numbers")
	c.Flags().BoolVar(&request.Private, "private-diagnostics", false, "also show private diagnostics: the report is then NOT private")
	return c
}

func writeReport(a *shell.App, r *report.Report, path, plots string) error {
	if err := r.Write(path); err != nil {
		return err
	}
	var result struct {
		Report string   `json:"report"`
		Plots  []string `json:"plots,omitempty"`
	}
	if result.Report = path; plots != "" {
		if err := os.MkdirAll(plots, 0o755); err != nil {
			return fmt.Errorf("cannot make the folder of plots: %w", err)
		}
		var err error
		if result.Plots, err = r.WritePlots(plots); err != nil {
			return err
		}
	}
	for _, run := range r.Runs {
		if run.Unexamined != "" {
			a.Warn(run.Name + ": no predictions in the report: " + run.Unexamined)
		}
	}
	return a.Print(result, nil, func(w io.Writer) {
		fmt.Fprintf(w, "in %s: %s\n", path, r.Title)
		if plots != "" {
			fmt.Fprintf(w, "in %s: %s files\n", plots, shell.Count(len(result.Plots)))
		}
	})
}
