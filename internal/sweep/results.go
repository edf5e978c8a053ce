package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/train"
)

// rowOf returns the row of a trial that has ended.
func rowOf(t configs.Trial, p planned, r train.Result) books.Row {
	row := books.Row{
		Trial: t.Name, Settings: t.Settings, TestAccuracy: &r.TestAccuracy, Answer: r.Answer, Steps: r.Steps, Seconds: r.Seconds,
		Status: string(r.Status), LedgerEntries: r.LedgerEntries, LedgerHead: r.LedgerHead,
	}
	if p.target != nil {
		row.TargetEpsilon = &p.target.Epsilon
	}
	if math.IsNaN(r.TestAccuracy) {
		row.TestAccuracy = nil
	}
	return row
}

// holdsFor reports whether a row holds for all that a trial's ledger has: a trial that was resumed by
// itself after its row was written is measured again.
func holdsFor(r books.Row, ledger *checkpoints.Member) bool {
	return ledger == nil || r.LedgerEntries == 0 || r.LedgerEntries >= ledger.Entries
}

// finishedRows lists the rows in the order of the trials.
func (s *sweep) finishedRows() []books.Row {
	rows := []books.Row{}
	for _, t := range s.trials {
		if row, ok := s.rows[t.Name]; ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// readRows reads the results of finished trials.
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

// writeRows writes results.jsonl and results.csv, each whole or not at all.
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
	table, err := csvOf(s.finishedRows())
	if err != nil {
		return fmt.Errorf("train: %s: %w", folder.Table, err)
	}
	return checkpoints.WriteFileAtomic(filepath.Join(s.dir, folder.Table), table, folder.FilePerm)
}

// csvOf writes the rows as a table with the full names of the swept keys. There is a column for RDP
// if a trial has another accountant.
func csvOf(rows []books.Row) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	beside := besideRDP(rows)
	simulated := slices.ContainsFunc(rows, func(r books.Row) bool { return r.TargetEpsilon != nil })
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for i, r := range rows {
		header, line := []string{"trial"}, []string{r.Trial}
		for _, s := range r.Settings {
			header, line = append(header, s.Key), append(line, s.Value)
		}
		header, line = append(header, "test_accuracy", "epsilon"), append(line, number(r.TestAccuracy), number(&r.Epsilon))
		if beside {
			header, line = append(header, "epsilon_rdp"), append(line, number(r.EpsilonRDP))
		}
		if simulated {
			header, line = append(header, "target_epsilon"), append(line, number(r.TargetEpsilon))
		}
		if i == 0 {
			w.Write(append(header, "delta", "steps", "status"))
		}
		w.Write(append(line, number(&r.Delta), strconv.Itoa(r.Steps), string(r.Status)))
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// besideRDP reports whether a row has an ε by RDP beside that of another accountant.
func besideRDP(rows []books.Row) bool {
	return slices.ContainsFunc(rows, func(r books.Row) bool { return r.EpsilonRDP != nil })
}
