// Package report reads the folders of runs and sweeps for people: as a list with a line for each
// run ([Lines]), as figures ([Report.WritePlots]), and as one HTML file ([Read]) that needs nothing
// but itself, runs no script, and asks nobody for anything.
//
// It reads what is public, or computed from what was released and from test examples, so a report
// can be shown to whoever may see the model. With [Request.Private] it adds private diagnostics and
// marks them: such a report is NOT private, and its file has to be named so ([CheckName]).
//
// Names, classes and configurations come from people and files. All of them are text to the page,
// whatever they hold: html/template escapes them, and the page forbids scripts by its own policy.
// Beside every drawing stands the table of its values, for those who would rather read numbers, or
// cannot see it.
package report

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/internal/attack"
	"dpsgd/internal/chart"
	"dpsgd/internal/folder"
)

// ErrName: a file is NOT private, and its name does not say so.
var ErrName = errors.New("train: the name of what is written")

// Report is the content of a page about runs and sweeps.
type Report struct {
	Title   string
	Runs    []*Run
	Sweeps  []*Sweep
	Audits  []*attack.Outcome
	Private bool   // whether it holds private diagnostics or an audit of examples: such a report is NOT private
	Version string // of the program
}

// Read reads the folders of runs and sweeps. version is the version of the program.
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
	for _, path := range q.Audits {
		o, err := ReadAudit(path)
		if err != nil {
			return nil, err
		}
		r.Audits, r.Private = append(r.Audits, o), r.Private || !o.Private
	}
	r.Title = r.title()
	return r, nil
}

func (r *Report) title() string {
	switch {
	case len(r.Runs)+len(r.Sweeps) == 0 && len(r.Audits) > 0:
		return "Audit of " + r.Audits[0].Name
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

// CheckName refuses a name, unless it is "", without "private" for what is NOT private: people take
// whatever a run writes for public unless its name says otherwise.
func CheckName(flag, name, example string) error {
	if name != "" && !strings.Contains(strings.ToLower(filepath.Base(name)), "private") {
		return fmt.Errorf("%w: found %s %s for what is NOT private, expected a name with \"private\" in it, such as %s", ErrName, flag, name, example)
	}
	return nil
}

// Write writes the report as one HTML file, whole or absent.
func (r *Report) Write(path string) error {
	if r.Private {
		if err := CheckName("-o", path, "report.private.html"); err != nil {
			return err
		}
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

// WritePlots draws every figure of the report into an existing folder, in every format, and returns
// the paths of the files.
func (r *Report) WritePlots(dir string) (files []string, err error) {
	for _, part := range r.Parts() {
		for _, f := range slices.Concat(part.Progress(), part.Tests(), part.Diagnostics()) {
			for _, ending := range chart.Formats() {
				if f.Private {
					ending = ".private" + ending
				}
				path := filepath.Join(dir, part.Name(f.ID)+ending)
				if err := f.Drawing.Write(path); err != nil {
					return files, fmt.Errorf("train: %w", err)
				}
				files = append(files, path)
			}
		}
	}
	return files, nil
}

//go:embed page.html.tmpl
var pageText string

//go:embed style.css
var style string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"heading": heading, "markdown": MarkdownHTML, "drawing": drawing, "lead": lead, "audited": auditTable, "summary": summaryOf, "results": results, "statistics": statistics,
	"up": epsilon, "count": count, "accountants": accountants, "argument": folder.Argument, "dict": dict,
	"style": func() template.CSS { return template.CSS(style) },
	"add":   func(a, b int) int { return a + b },
	"ms":    func(v float64) string { return fmt.Sprintf("%.2f", v) },
}).Parse(pageText))

// shown is the value that the template of the page gets.
type shown struct {
	*Report
	Content template.HTML
	Script  string // URL of the script that keeps a page up to date; "" for none
}

// HTML returns the report as one HTML file.
func (r *Report) HTML() ([]byte, error) {
	content, err := r.Content()
	if err != nil {
		return nil, err
	}
	return r.Page(content, "")
}

// Content returns the HTML of the main part of the page.
func (r *Report) Content() ([]byte, error) { return execute("content", shown{Report: r}) }

// Page returns the whole page around its main part. script is the URL of a script that keeps it up
// to date; with "" the page runs nothing.
func (r *Report) Page(content []byte, script string) ([]byte, error) {
	return execute("page", shown{r, template.HTML(content), script})
}

func execute(name string, s shown) ([]byte, error) {
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, name, s); err != nil {
		return nil, fmt.Errorf("train: report: %w", err)
	}
	return b.Bytes(), nil
}

// SamplesEach returns how many pictures each group of a run may have, so that the report stays
// small.
func (s shown) SamplesEach() int {
	return min(samplesOfGroup, samplesOfReport/2/max(1, min(mostDetailed, len(s.Runs))))
}

func (s shown) Platform() string {
	return runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version()
}

func heading(level int, id, text string) template.HTML {
	return template.HTML(fmt.Sprintf(`<h%d id="%s">%s</h%d>`, level, template.HTMLEscapeString(id), template.HTMLEscapeString(text), level))
}

func drawing(f Figure) (template.HTML, error) {
	svg, err := f.Drawing.Inline(f.Label())
	return template.HTML(svg), err
}

// dict makes a map of alternating names and values: a template takes one argument.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		m[pair[0].(string)] = pair[1]
	}
	return m
}
