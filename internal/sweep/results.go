package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/train"
)

func rowOf(t configs.Trial, p planned, r train.Result) books.Row {
	row := books.Row{
		Trial: t.Name, Settings: t.Settings, Test: r.Test, Answer: r.Answer, Steps: r.Steps, Seconds: r.Seconds,
		Status: string(r.Status), LedgerEntries: r.LedgerEntries, LedgerHead: r.LedgerHead, TargetEpsilon: p.target,
	}
	return row
}

// holdsFor reports whether a row covers all releases in its trial's ledger. A trial that was
// resumed by itself after its row was written is measured again.
func holdsFor(r books.Row, ledger *checkpoints.Member) bool {
	return ledger == nil || r.LedgerEntries == 0 || r.LedgerEntries >= ledger.Entries
}

func (s *sweep) finishedRows() []books.Row {
	rows := []books.Row{}
	for _, t := range s.trials {
		if row, ok := s.rows[t.Name]; ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// readRows returns the rows of results.jsonl by trial, those of a task's own trials in a task.
func (s *sweep) readRows() (map[string]books.Row, error) {
	found, err := books.ReadRows(s.dir)
	rows := map[string]books.Row{}
	for line, row := range found {
		i := slices.IndexFunc(s.trials, func(t configs.Trial) bool { return t.Name == row.Trial })
		if i < 0 {
			return nil, books.NoRow(filepath.Join(s.dir, folder.Rows), line+1)
		}
		if row.Settings = s.trials[i].Settings; s.ours(i) {
			rows[row.Trial] = row
		}
	}
	return rows, err
}

func (s *sweep) writeRows() error {
	var lines bytes.Buffer
	for _, row := range s.finishedRows() {
		line, err := json.Marshal(row)
		if err != nil {
			return fmt.Errorf("train: result of trial %s: %w", row.Trial, err)
		}
		lines.Write(append(line, '\n'))
	}
	if lines.Len() == 0 {
		return nil
	}
	if err := checkpoints.WriteFileAtomic(filepath.Join(s.dir, folder.Rows), lines.Bytes(), folder.FilePerm); err != nil {
		return err
	}
	var table bytes.Buffer
	if err := csv.NewWriter(&table).WriteAll(csvTable(s.finishedRows())); err != nil {
		return fmt.Errorf("train: %s: %w", folder.Table, err)
	}
	return checkpoints.WriteFileAtomic(filepath.Join(s.dir, folder.Table), table.Bytes(), folder.FilePerm)
}

// csvTable returns the rows as lines of cells, under the full names of the swept keys. It has a
// column for RDP if a trial has another accountant.
func csvTable(rows []books.Row) [][]string {
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	columns := []column[books.Row]{{true, "trial", func(r books.Row) string { return r.Trial }}}
	for _, s := range rows[0].Settings {
		columns = append(columns, column[books.Row]{true, s.Key, func(r books.Row) string { return r.Value(s.Key) }})
	}
	simulated := slices.ContainsFunc(rows, func(r books.Row) bool { return r.TargetEpsilon != nil })
	return tableOf(append(columns, []column[books.Row]{
		{true, "test_accuracy", func(r books.Row) string { return number(valueOf(r.TestAccuracy)) }},
		{ofNumbers(rows), "test_error", func(r books.Row) string { return number(valueOf(r.TestError)) }},
		{true, "epsilon", func(r books.Row) string { return number(&r.Epsilon) }},
		{besideRDP(rows), "epsilon_rdp", func(r books.Row) string { return number(r.EpsilonRDP) }},
		{simulated, "target_epsilon", func(r books.Row) string { return number(r.TargetEpsilon) }},
		{true, "delta", func(r books.Row) string { return number(&r.Delta) }},
		{true, "steps", func(r books.Row) string { return strconv.Itoa(r.Steps) }},
		{true, "status", func(r books.Row) string { return r.Status }},
	}...), rows)
}

// valueOf returns a pointer to a number, nil for none.
func valueOf(v score.Value) *float64 {
	if number := float64(v); !v.None() {
		return &number
	}
	return nil
}

func ofNumbers(rows []books.Row) bool {
	return slices.ContainsFunc(rows, func(r books.Row) bool { return r.Numbers() })
}

// besideRDP reports whether a row of another accountant has an ε by RDP as well.
func besideRDP(rows []books.Row) bool {
	return slices.ContainsFunc(rows, func(r books.Row) bool { return r.EpsilonRDP != nil })
}
