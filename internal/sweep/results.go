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
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/train"
)

// Row is the result of one finished trial. Its ε covers that trial alone.
type Row struct {
	Trial        string            `json:"trial"`
	Settings     []configs.Setting `json:"-"`             // the swept keys
	TestAccuracy *float64          `json:"test_accuracy"` // nil of a trial that diverged
	account.Answer
	Steps   int        `json:"steps"`
	Seconds float64    `json:"-"`
	Status  run.Status `json:"status"`

	// Of the trial's ledger at its end: rows of the first version have neither.
	LedgerEntries int    `json:"ledger_entries,omitempty"`
	LedgerHead    string `json:"ledger_head,omitempty"`

	// TargetEpsilon is the cost, at the same δ, of the configuration that a smaller trial stands
	// for; nil where a trial stands for itself.
	TargetEpsilon *float64 `json:"target_epsilon,omitempty"`
}

func rowOf(t configs.Trial, p planned, r train.Result) Row {
	row := Row{
		Trial: t.Name, Settings: t.Settings, TestAccuracy: &r.TestAccuracy, Answer: r.Answer, Steps: r.Steps, Seconds: r.Seconds,
		Status: r.Status, LedgerEntries: r.LedgerEntries, LedgerHead: r.LedgerHead,
	}
	if p.target != nil {
		row.TargetEpsilon = &p.target.Epsilon
	}
	if math.IsNaN(r.TestAccuracy) {
		row.TestAccuracy = nil
	}
	return row
}

// isOf reports whether a row holds for all that a trial's ledger has: a trial that was resumed by itself
// after its row was written is measured again.
func (r Row) isOf(ledger *checkpoints.Member) bool {
	return ledger == nil || r.LedgerEntries == 0 || r.LedgerEntries >= ledger.Entries
}

// MarshalJSON writes a flat object: trial, the swept keys under their full names, the numbers.
func (r Row) MarshalJSON() ([]byte, error) {
	type flat Row
	all, err := json.Marshal(flat(r))
	if err != nil {
		return nil, err
	}
	name, _ := json.Marshal(r.Trial) // a string is always writable
	head := len(`{"trial":`) + len(name)
	b := slices.Clone(all[:head])
	for _, s := range r.Settings {
		key, _ := json.Marshal(s.Key)
		b = fmt.Appendf(b, `,%s:%s`, key, jsonOf(s.Value))
	}
	return append(b, all[head:]...), nil
}

// jsonOf returns a YAML value as JSON: numbers and words as they are, anything else as its text.
func jsonOf(value string) []byte {
	if json.Valid([]byte(value)) {
		return []byte(value)
	}
	if f, err := strconv.ParseFloat(value, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		value, _ := json.Marshal(f)
		return value
	}
	text, _ := json.Marshal(value)
	return text
}

// finishedRows lists the rows in the order of the trials.
func (s *sweep) finishedRows() []Row {
	rows := []Row{}
	for _, t := range s.trials {
		if row, ok := s.rows[t.Name]; ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// readRows reads the results of finished trials.
func (s *sweep) readRows() (map[string]Row, error) {
	rows := map[string]Row{}
	err := folder.ReadRows(s.dir, func(line []byte) bool {
		row, i, ok := s.parseRow(line)
		if ok && s.ours(i) {
			rows[row.Trial] = row
		}
		return ok
	})
	return rows, err
}

// parseRow reads a row and finds its trial, i; ok is false if the sweep has no such trial.
func (s *sweep) parseRow(line []byte) (row Row, i int, ok bool) {
	err := json.Unmarshal(line, &row)
	i = slices.IndexFunc(s.trials, func(t configs.Trial) bool { return t.Name == row.Trial })
	if err != nil || i < 0 {
		return row, i, false
	}
	row.Settings = s.trials[i].Settings
	return row, i, true
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
func csvOf(rows []Row) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	beside := besideRDP(rows)
	simulated := slices.ContainsFunc(rows, func(r Row) bool { return r.TargetEpsilon != nil })
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
func besideRDP(rows []Row) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.EpsilonRDP != nil })
}
