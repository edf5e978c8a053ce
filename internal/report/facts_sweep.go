package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/attack"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
)

// Sweep holds what the folder of a sweep says, as far as the sweep has come.
type Sweep struct {
	Dir    string
	Name   string
	Trials int         // with a result or without
	Keys   []string    // the settings in which rows differ, in the order of the rows
	Rows   []books.Row // trials with a result

	// Composed is the cost of all that the trials planned; if it is nil, Uncomposed says why.
	Composed   *account.Answer
	Releases   int
	Uncomposed string
	Note       string // results.md as the sweep wrote it, or that it is outgrown; "" before its end
}

// ReadSweep reads the folder of a sweep. The sweep may be going on meanwhile.
func ReadSweep(dir string, q Request) (*Sweep, error) {
	s := &Sweep{Dir: dir, Name: folder.Name(dir)}
	record, err := books.ReadSweep(dir)
	if err != nil {
		return nil, err
	}
	s.Trials = len(record.Trials)
	if s.Rows, err = books.ReadRows(dir); err != nil {
		return nil, err
	}
	ledgers, err := books.Trials(dir)
	if err != nil {
		return nil, err
	}
	for _, row := range s.Rows {
		if err := books.RefuteRow(filepath.Join(dir, folder.Rows), ledgers, row); err != nil {
			return nil, err
		}
	}
	for _, setting := range books.Swept(s.Rows) {
		s.Keys = append(s.Keys, setting.Key)
	}
	s.Uncomposed = "nobody has asked yet; the sweep says so at its end"
	if q.Accountants {
		s.compose(ledgers)
	}
	s.readNote()
	return s, nil
}

// readNote reads results.md. If the trials have released more since it was written, or the file was
// edited, the note says that instead: its total would be too small.
func (s *Sweep) readNote() {
	note, err := os.ReadFile(filepath.Join(s.Dir, folder.Report))
	if err != nil {
		return
	}
	s.Note = string(note)
	summary, err := readSummary(s.Dir)
	if err == nil && summary.Composed.Releases < s.Releases {
		s.Note = fmt.Sprintf("%s counts %d releases, by now there are %d: collect the sweep, or go on with it, for a new one.\n",
			folder.Report, summary.Composed.Releases, s.Releases)
	} else if summary.Report != "" && summary.Report != fmt.Sprintf("%x", sha256.Sum256(note)) {
		s.Note = fmt.Sprintf("%s is not what the sweep wrote, by its sum in %s: go on with the sweep for a new one.\n", folder.Report, folder.Summary)
	}
}

// readSummary returns what the results.json of a sweep says.
func readSummary(dir string) (s struct {
	Composed struct {
		account.Answer
		Releases int
	}
	Report string `json:"report_sha256"`
}, err error) {
	content, err := os.ReadFile(filepath.Join(dir, folder.Summary))
	err = cmp.Or(err, json.Unmarshal(content, &s))
	return s, err
}

// together returns what all that the trials of the sweep in dir planned costs together, and how many
// releases they made. Trials that have not begun count as far as the sweep has written what they cost.
func together(dir string, members []checkpoints.Member) (_ *account.Answer, releases int, err error) {
	claimed := slices.Clone(members)
	for i, m := range members {
		if claimed[i].Ledger, err = account.ClaimedBy(m.Accountant, m.Ledger, m.Planned, m.Delta); err != nil {
			return nil, 0, err
		}
		releases += m.Ledger.Count()
	}
	spent, _, err := books.Compose(claimed)
	if err != nil {
		return nil, 0, err
	}
	answer := spent.Answer()
	if written, _ := readSummary(dir); written.Composed.Epsilon > answer.Epsilon && written.Composed.Delta == answer.Delta {
		answer = written.Composed.Answer
	}
	return &answer, releases, nil
}

// compose computes the cost of all trials together, at the smallest of their δ. Trials whose folder
// is gone count too: the ledger of the data knows them.
func (s *Sweep) compose(trials []books.Listed) {
	var err error
	members := books.Members(trials)
	for _, t := range trials {
		if t.Problem != nil && !t.Gone() {
			err = errors.Join(err, t.Problem)
		}
	}
	s.Uncomposed = "no trial has released anything yet"
	if err == nil && len(members) > 0 {
		s.Composed, s.Releases, err = together(s.Dir, members)
	}
	if err != nil {
		s.Uncomposed = err.Error()
	}
}

// ReadAudit reads what `train audit --json` printed, from a file.
func ReadAudit(path string) (*attack.Outcome, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the audit: %w", err)
	}
	var o attack.Outcome
	if err := json.Unmarshal(content, &o); err != nil || o.Audit == "" || len(o.Tests) == 0 {
		return nil, fmt.Errorf("%s: found no audit, expected what `train audit --json` prints: %w", path, checkpoints.ErrCorrupt)
	}
	return &o, nil
}

// auditTable lists the claims of an audit, with the lower bound beside each.
func auditTable(o *attack.Outcome) Table {
	t := Table{Heading: []string{"claim", "of", "claimed, at most", fmt.Sprintf("observed, at least (%g %%)", 100*o.Confidence), "verdict", "by"}}
	for _, test := range o.Tests {
		verdict := "not falsified"
		if test.Falsified {
			verdict = "FALSIFIED"
		}
		t.Rows = append(t.Rows, []string{test.Claim, test.Quantity, epsilon(test.Claimed), strconv.FormatFloat(test.AtLeast, 'f', 4, 64), verdict, test.By})
	}
	return t
}

// FiguresOfAudit draws what attacks noticed at each rate of false alarms, and what the claim allows.
func FiguresOfAudit(o *attack.Outcome) []Figure {
	drawing := o.Chart()
	f := Figure{ID: "roc", Title: drawing.Title, Private: !o.Private, Drawing: drawing, Table: Table{Heading: []string{"line", "false alarms, %", "noticed, %"}},
		Note: "Both axes are logarithmic: an attack that is right about a few people without false alarms does harm. Points lie above the line of what the claim allows only by chance."}
	for _, line := range drawing.Lines {
		for _, p := range line.Points {
			if p.X > 0 && p.Y > 0 {
				f.Table.Rows = append(f.Table.Rows, []string{line.Name, fmt.Sprintf("%.3g", 100*p.X), fmt.Sprintf("%.3g", 100*p.Y)})
			}
		}
	}
	return []Figure{f}
}
