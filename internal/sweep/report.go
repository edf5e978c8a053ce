package sweep

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
)

// Table is the result of a sweep as lines of cells, the heading first. Keys that have the same
// value in every row are left out: they are in the files.
func (r Result) Table() [][]string {
	swept := r.sweptKeys()
	heading := []string{}
	for _, i := range swept {
		heading = append(heading, r.Rows[0].Settings[i].Label)
	}
	heading = append(heading, "test %", "ε")
	beside := besideRDP(r.Rows)
	if beside {
		heading = append(heading, "ε (rdp)")
	}
	table := [][]string{append(heading, "steps", "status")}
	for _, row := range r.Rows {
		var line []string
		for _, i := range swept {
			line = append(line, row.Settings[i].Value)
		}
		accuracy := "–"
		if row.TestAccuracy != nil {
			accuracy = strconv.FormatFloat(100**row.TestAccuracy, 'f', 2, 64)
		}
		line = append(line, accuracy, accountant.RoundUp(row.Epsilon, 3))
		if beside {
			line = append(line, orDash(row.EpsilonRDP))
		}
		table = append(table, append(line, strconv.Itoa(row.Steps), string(row.Status)))
	}
	return table
}

// orDash is an ε rounded up, or a dash where there is none.
func orDash(epsilon *float64) string {
	if epsilon == nil {
		return "–"
	}
	return accountant.RoundUp(*epsilon, 3)
}

// sweptKeys are the indices of the settings that differ between rows.
func (r Result) sweptKeys() []int {
	if len(r.Rows) == 0 {
		return nil
	}
	var keys []int
	for i, first := range r.Rows[0].Settings {
		for _, row := range r.Rows {
			if row.Settings[i].Value != first.Value {
				keys = append(keys, i)
				break
			}
		}
	}
	return keys
}

// Note says what the epsilons of the table mean, as sentences.
func (r Result) Note() []string {
	if r.Composed == nil {
		return nil
	}
	note := []string{
		"Each row's ε covers that trial alone, for somebody who sees nothing of the rest.",
		"Choosing among trials on the same private data costs more. All of them together",
		fmt.Sprintf("are (ε = %s, δ = %g)-private (%s over %d releases): quote that for",
			accountant.RoundUp(r.Composed.Epsilon, 3), r.Composed.Delta, r.Composed.Accountant, r.Composed.Releases),
		"a model that was picked by this table.",
	}
	if r.Composed.EpsilonRDP != nil {
		note[len(note)-1] += fmt.Sprintf(" By rdp it is ε = %s.", orDash(r.Composed.EpsilonRDP))
	}
	return note
}

// writeReport writes results.md.
func (s *sweep) writeReport(r Result) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Sweep %s\n\n%d of %d trials have a result.\n\n", filepath.Base(r.Sweep), r.Finished, r.Trials)
	for i, line := range r.Table() {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat(" --- |", len(line)))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", strings.Join(r.Note(), "\n"))
	return checkpoints.WriteFileAtomic(filepath.Join(s.dir, folder.Report), b.Bytes(), folder.FilePerm)
}
