package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/internal/curves"
	"dpsgd/internal/folder"
	"dpsgd/internal/tensorboard"
)

// metricsColumns are those of [folder.MetricsTable].
var metricsColumns = []string{"step", "epsilon", "epsilon_rdp", "delta", "test_accuracy", "test_loss", "learning_rate", "clip_norm"}

// openCopies writes the copies of metrics and diagnostics for other programs up to the current step.
func (r *Run) openCopies() {
	settings := []tensorboard.Value{tensorboard.Settings(settingsOf(Identity(r.config)))}
	r.metrics = r.copies(curves.Files{
		Lines: r.path(folder.Metrics), Events: r.path(folder.MetricsEvents), Table: r.path(folder.MetricsTable),
		Columns: metricsColumns, Settings: settings, Without: []string{"delta"},
	})
	if r.diagnoses != nil {
		r.diagnoses.copies = r.copies(curves.Files{Lines: r.path(folder.Diagnostics), Events: r.path(folder.DiagnosticEvents)})
	}
}

// copies opens one of them; nil where that fails. The lines are what counts: the next start writes
// the copies anew.
func (r *Run) copies(f curves.Files) *curves.Copies {
	err := endLine(f.Lines)
	if err == nil {
		var c *curves.Copies
		if c, err = curves.Open(f, r.step); err == nil {
			return c
		}
	}
	r.watcher.Warned(fmt.Sprintf("train: %s is not kept up to date: %v", f.Events, err))
	return nil
}

// writeLine adds a line to a file of the run, and to its copies.
func (r *Run) writeLine(file string, v any, copies *curves.Copies) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("train: %s: %w", r.path(file), err)
	}
	err = r.persist(saving{"a line of " + file, file, 1024, func(dir string) error { return appendLine(filepath.Join(dir, file), line) }, false})
	if err != nil {
		return err
	}
	if err := copies.Add(line); err != nil {
		r.watcher.Warned(fmt.Sprintf("train: what TensorBoard shows of %s lacks step %d until the run is started again: %v", r.path(file), r.step, err))
	}
	return nil
}

// appendLine adds one line to a file.
func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	before, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		if _, err = f.Write(append(line, '\n')); err != nil {
			err = errors.Join(err, f.Truncate(before)) // no part of a line stays where a disk is full
		}
	}
	return errors.Join(err, f.Close())
}

// endLine ends a line that a crash has torn, so that the next one stands alone.
func endLine(path string) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (len(content) == 0 || content[len(content)-1] == '\n') {
		return nil
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return appendLine(path, nil)
}

// settingsOf are the keys of a configuration that training hangs on, as hyper-parameters: numbers, and
// words for all else.
func settingsOf(config []byte) map[string]any {
	settings := map[string]any{}
	for _, p := range pairs(string(config)) {
		section, key, _ := strings.Cut(p.key, ".")
		if section == "run" || section == "performance" || p.value == "" || slices.Contains([]string{"physical_batch_size", "evaluate_every"}, key) {
			continue
		}
		settings[p.key] = p.value
		if number, err := strconv.ParseFloat(p.value, 64); err == nil {
			settings[p.key] = number
		}
	}
	return settings
}
