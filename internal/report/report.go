package report

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/internal/chart"
	"dpsgd/internal/folder"
)

// ErrName: the file of a report that is not private does not say so.
var ErrName = errors.New("train: the name of the report")

// Report is the content of a page about runs and sweeps.
type Report struct {
	Title   string
	Runs    []*Run
	Sweeps  []*Sweep
	Private bool   // whether it holds private diagnostics, and so is NOT private
	Version string // of the program
}

// Read reads the folders of runs and sweeps. Version is that of the program.
func Read(ctx context.Context, dirs []string, q Request, version string) (*Report, error) {
	r := &Report{Private: q.Private, Version: version}
	for _, dir := range dirs {
		if err := folder.Check(dir, "the folder of a run or of a sweep, such as runs/digits-1"); err != nil {
			return nil, err
		}
		if folder.HoldsAny(dir, folder.Sweep) {
			s, err := ReadSweep(dir, q)
			if err != nil {
				return nil, err
			}
			r.Sweeps = append(r.Sweeps, s)
			continue
		}
		run, err := ReadRun(ctx, dir, q)
		if err != nil {
			return nil, err
		}
		r.Runs = append(r.Runs, run)
	}
	r.Title = r.title()
	return r, nil
}

// title names what the report is about.
func (r *Report) title() string {
	switch {
	case len(r.Runs) == 1 && len(r.Sweeps) == 0:
		return "Run " + r.Runs[0].Name
	case len(r.Runs) == 0 && len(r.Sweeps) == 1:
		return "Sweep " + r.Sweeps[0].Name
	case len(r.Sweeps) == 0:
		return strconv.Itoa(len(r.Runs)) + " runs side by side"
	case len(r.Runs) == 0:
		return strconv.Itoa(len(r.Sweeps)) + " sweeps"
	}
	return fmt.Sprintf("%d runs and %d sweeps", len(r.Runs), len(r.Sweeps))
}

// CheckName refuses a file name that hides what is in the report. Whatever a run writes is public
// unless its name says otherwise.
func (r *Report) CheckName(path string) error {
	if r.Private && !strings.Contains(strings.ToLower(filepath.Base(path)), "private") {
		return fmt.Errorf("%w: found %s for a report with private diagnostics, expected a name with \"private\" in it, such as report.private.html", ErrName, path)
	}
	return nil
}

// Write writes the report as one HTML file, whole or absent.
func (r *Report) Write(path string) error {
	if err := r.CheckName(path); err != nil {
		return err
	}
	page, err := r.HTML()
	if err != nil {
		return err
	}
	if err := checkpoints.WriteFileAtomic(path, page, 0o644); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// Plot is a figure of a report with the name of its file, without an ending.
type Plot struct {
	Name   string
	Figure Figure
}

// Plots are all figures of the report.
func (r *Report) Plots() []Plot {
	var plots []Plot
	for _, part := range r.Parts() {
		for _, f := range slices.Concat(part.Progress(), part.Tests(), part.Diagnostics()) {
			name := part.Name(f.ID)
			if f.Private {
				name += ".private"
			}
			plots = append(plots, Plot{name, f})
		}
	}
	return plots
}

// WritePlots draws every figure of the report into a folder that is there, in every format.
func (r *Report) WritePlots(dir string) (files []string, err error) {
	for _, p := range r.Plots() {
		for _, ending := range chart.Formats() {
			path := filepath.Join(dir, p.Name+ending)
			if err := p.Figure.Drawing.Write(path); err != nil {
				return files, fmt.Errorf("train: %w", err)
			}
			files = append(files, path)
		}
	}
	return files, nil
}
