package run

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

// ReadMetrics reads what a run has measured so far, one line a step. It has none before its first
// evaluation.
func ReadMetrics(dir string) ([]Metrics, error) {
	return readSteps(filepath.Join(dir, folder.Metrics), func(m Metrics) int { return m.Step })
}

// ReadDiagnostics reads the private diagnostics of a run, one line a step; none where they were off.
// What it returns is NOT private.
func ReadDiagnostics(dir string) ([]Diagnostics, error) {
	return readSteps(filepath.Join(dir, folder.Diagnostics), func(d Diagnostics) int { return d.Step })
}

// readSteps reads a file of JSON lines that are about steps. Of a step that ran again after a
// crash the last line counts, see behind. A last line without an end is being written, or was when the process was killed.
func readSteps[Line any](path string, step func(Line) int) ([]Line, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	var lines []Line
	whole := content[:bytes.LastIndexByte(content, '\n')+1]
	n := 0
	for text := range bytes.Lines(whole) {
		n++
		var line Line
		if err := json.Unmarshal(text, &line); err != nil {
			return nil, fmt.Errorf("train: %s:%d: found no JSON object of a step (%w), expected what a run wrote: %w", path, n, err, checkpoints.ErrCorrupt)
		}
		lines = behind(lines, line, step)
	}
	return lines, nil
}

// behind adds a line to those of earlier steps. After a line of an earlier step the run went on from
// there: what stood of that step and of later ones was lost.
func behind[Line any](lines []Line, line Line, step func(Line) int) []Line {
	for len(lines) > 0 && step(lines[len(lines)-1]) >= step(line) {
		lines = lines[:len(lines)-1]
	}
	return append(lines, line)
}
