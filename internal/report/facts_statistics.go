package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
)

// Statistic is one that a run of statistics has released. Numbers and lists of them are as in the
// run's file; "null" is a statistic that was lost.
type Statistic struct {
	Statistic string          `json:"statistic"`
	Column    string          `json:"column"`
	Value     json.RawMessage `json:"value"`
	Low       json.RawMessage `json:"low"`
	High      json.RawMessage `json:"high"`
	Mechanism string          `json:"mechanism"`
	Epsilon   float64         `json:"epsilon"`
	Delta     float64         `json:"delta"`
}

// readStatistics reads what a run of statistics asks for and has released. Any other run has
// neither.
func (r *Run) readStatistics() error {
	asked, err := os.ReadFile(filepath.Join(r.Dir, folder.Statistics))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	r.Asks, r.YAML = true, string(asked)
	path := filepath.Join(r.Dir, folder.Answers)
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("train: %w", err)
	}
	for line := range bytes.Lines(content) {
		var s Statistic
		if err := json.Unmarshal(line, &s); err != nil {
			return fmt.Errorf("train: %s:%d: found no result of a statistic, expected a line that the run wrote: %w", path, len(r.Statistics)+1, checkpoints.ErrCorrupt)
		}
		r.Statistics = append(r.Statistics, s)
	}
	return nil
}
