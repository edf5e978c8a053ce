package books

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/strictjson"
)

// Row is the result of one finished trial of a sweep: a line of [folder.Rows]. Its ε covers that
// trial alone.
type Row struct {
	Trial      string            `json:"trial"`
	Settings   []configs.Setting `json:"-"` // the swept keys with their values
	score.Test                   // nothing of a trial that diverged
	account.Answer
	Steps   int     `json:"steps"`
	Seconds float64 `json:"-"`
	Status  string  `json:"status"` // a run.Status

	// LedgerEntries and LedgerHead are of the trial's ledger at its end; rows of the first version
	// have neither.
	LedgerEntries int    `json:"ledger_entries,omitempty"`
	LedgerHead    string `json:"ledger_head,omitempty"`

	// TargetEpsilon is the ε, at the same δ, of the larger configuration that the trial tries on a
	// smaller scale; nil if the trial ran its configuration as it is.
	TargetEpsilon *float64 `json:"target_epsilon,omitempty"`
}

// Value returns the value of a swept key; "" where the trial has none.
func (r Row) Value(key string) string {
	for _, s := range r.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// Swept returns the settings whose values differ between rows, as the first row has them.
func Swept(rows []Row) []configs.Setting {
	if len(rows) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(rows[0].Settings), func(s configs.Setting) bool {
		return !slices.ContainsFunc(rows, func(r Row) bool { return r.Value(s.Key) != s.Value })
	})
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

// UnmarshalJSON reads what MarshalJSON wrote. Swept keys have a point in them and keep their order;
// nothing else has a point.
func (r *Row) UnmarshalJSON(line []byte) error {
	type flat Row
	fields, err := strictjson.Read(line)
	if err == nil {
		err = json.Unmarshal(line, (*flat)(r))
	}
	if err == nil && r.Trial == "" {
		err = errors.New("found no trial")
	}
	for _, f := range fields {
		if strings.Contains(f.Key, ".") {
			r.Settings = append(r.Settings, configs.Setting{Key: f.Key, Value: textOf(f.Value)})
		}
	}
	return err
}

// jsonOf returns a YAML value as JSON: a number or true, false or null as that, else as a string.
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

// textOf returns the text of a JSON string, and anything else as it is written.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// ReadRows reads the table of the sweep in that folder. It returns no rows if there is no table.
func ReadRows(sweep string) (rows []Row, err error) {
	path := filepath.Join(sweep, folder.Rows)
	content, err := folder.Content(path)
	if err != nil || content == nil {
		return nil, err
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(content, []byte("\n")), []byte("\n")) {
		var row Row
		if json.Unmarshal(line, &row) != nil {
			return nil, NoRow(path, i+1)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// NoRow returns the error for a line, counted from 1, of the table at path that is no trial's
// result.
func NoRow(path string, line int) error {
	return fmt.Errorf("train: %s:%d: found no result of a trial, expected a line that a sweep wrote; without the file, finished trials are measured again but not trained again: %w", path, line, checkpoints.ErrCorrupt)
}

// ReadRow reads the row that a task left in the folder of a trial; nil if there is none.
func ReadRow(trial string) (*Row, error) {
	path := filepath.Join(trial, folder.Row)
	line, err := folder.Content(path)
	if err != nil || line == nil {
		return nil, err
	}
	row := new(Row)
	if json.Unmarshal(line, row) != nil {
		return nil, fmt.Errorf("train: %s: found no result of a trial, expected what a task wrote; without the file the trial is measured again but not trained again: %w", path, checkpoints.ErrCorrupt)
	}
	return row, nil
}
