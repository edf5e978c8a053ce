package report

import (
	"fmt"

	"dpsgd/internal/account"
	"dpsgd/internal/attack"
	"dpsgd/internal/folder"
)

// part is a piece of the page with a heading of its own: one run, one sweep, or runs side by side.
// Where it is all there is, its heading is that of the page.
type part struct {
	ID    string // before the identifiers in it; "" where it is all there is
	Title string
	Level int // of its heading

	Run        *Run
	Sweep      *Sweep
	Audit      *attack.Outcome
	SideBySide []*Run
}

// Omitted counts the runs side by side that have no part of their own.
func (p part) Omitted() int { return max(0, len(p.SideBySide)-mostDetailed) }

// ManyClasses lists the accuracy of each class if there are too many for a figure, and else
// nothing.
func (p part) ManyClasses() Table {
	if p.Run == nil || p.Run.Examination == nil || len(p.Run.Examination.Classes) <= mostRows {
		return Table{}
	}
	return classTable(p.Run.Examination)
}

// mostDetailed bounds the runs that get a part of their own, so that the page stays small.
const mostDetailed = 8

// Parts returns the pieces of the page in their order.
func (r *Report) Parts() []part {
	var parts []part
	if len(r.Runs) > 1 {
		parts = append(parts, part{ID: "together", Title: "Side by side", Level: 2, SideBySide: r.Runs})
	}
	for i, run := range r.Runs[:min(len(r.Runs), mostDetailed)] {
		parts = append(parts, part{ID: fmt.Sprintf("run-%d", i+1), Title: "Run " + run.Name, Level: 2, Run: run})
	}
	for i, s := range r.Sweeps {
		parts = append(parts, part{ID: fmt.Sprintf("sweep-%d", i+1), Title: "Sweep " + s.Name, Level: 2, Sweep: s})
	}
	for i, o := range r.Audits {
		parts = append(parts, part{ID: fmt.Sprintf("audit-%d", i+1), Title: "Audit of " + o.Name, Level: 2, Audit: o})
	}
	if len(parts) == 1 {
		parts[0].ID, parts[0].Title, parts[0].Level = "", r.Title, 1
	}
	return parts
}

// Below returns the level of headings within the part.
func (p part) Below() int { return p.Level + 1 }

// Name makes the id of an element of the part, unique in the page.
func (p part) Name(word string) string {
	if p.ID == "" {
		return word
	}
	return p.ID + "-" + word
}

// Progress returns the figures of how runs or a sweep went.
func (p part) Progress() []Figure {
	switch {
	case p.Run != nil:
		return FiguresOfRun(p.Run)
	case p.Sweep != nil:
		return FiguresOfSweep(p.Sweep)
	case p.Audit != nil:
		return FiguresOfAudit(p.Audit)
	}
	return FiguresOfRuns(p.SideBySide)
}

// Tests returns the figures about test examples.
func (p part) Tests() []Figure { return FiguresOfExamination(p.Run) }

// Diagnostics returns the figures of private diagnostics.
func (p part) Diagnostics() []Figure { return FiguresOfDiagnostics(p.Run) }

// SideBySideTable compares runs: a column for each, a row for each line of their summaries.
func (p part) SideBySideTable() Table {
	t := Table{Heading: []string{"of the run"}}
	var columns [][]pair
	for _, r := range p.SideBySide {
		t.Heading = append(t.Heading, r.Name)
		columns = append(columns, summaryOf(r))
	}
	for i, row := range columns[0] {
		line := []string{row.Name}
		for _, c := range columns {
			line = append(line, c[i].Value)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// Differences lists the settings whose values differ between the runs.
func (p part) Differences() Table {
	t := Table{Heading: []string{"setting"}}
	var all []map[string]string
	var keys []string
	for _, r := range p.SideBySide {
		t.Heading = append(t.Heading, r.Name)
		settings := map[string]string{}
		for _, p := range folder.Keys(r.YAML) {
			settings[p.Key] = p.Value
			keys = append(keys, p.Key)
		}
		all = append(all, settings)
	}
	keys = different(keys)
	for _, key := range keys {
		line, differ := []string{key}, false
		for _, settings := range all {
			value, there := settings[key]
			differ = differ || value != all[0][key]
			if !there {
				value = "–"
			}
			line = append(line, value)
		}
		if differ && key != "run.name" {
			t.Rows = append(t.Rows, line)
		}
	}
	return t
}

// accountants says in words by which accountant an ε is, and what RDP says beside it.
func accountants(a account.Answer) string {
	by := "by " + a.Accountant
	if a.EpsilonRDP != nil {
		by += "; by rdp ε = " + epsilon(*a.EpsilonRDP)
	}
	return by
}
