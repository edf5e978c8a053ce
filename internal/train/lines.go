package train

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/tensorboard"
)

// metricsColumns are those of [folder.MetricsTable].
var metricsColumns = []string{"step", "epsilon", "epsilon_rdp", "delta", "test_accuracy", "test_loss", "learning_rate", "clip_norm"}

// openCopies writes the copies of metrics and diagnostics for other programs up to the current step.
func (r *Run) openCopies() {
	settings := []tensorboard.Value{tensorboard.Settings(settingsOf(folder.Keys(string(r.config.Identity()))))}
	r.metrics = r.copies(run.Files{
		Lines: r.path(folder.Metrics), Events: r.path(folder.MetricsEvents), Table: r.path(folder.MetricsTable),
		Columns: metricsColumns, Settings: settings, Without: []string{"delta"}, Bounds: []string{"epsilon", "epsilon_rdp"},
	})
	if r.diagnoses != nil {
		r.diagnoses.copies = r.copies(run.Files{Lines: r.path(folder.Diagnostics), Events: r.path(folder.DiagnosticEvents)})
	}
}

// copies opens one of them; nil where that fails. The lines are what counts: the next start writes
// the copies anew.
func (r *Run) copies(f run.Files) *run.Copies {
	err := run.EndLine(f.Lines)
	if err == nil {
		var c *run.Copies
		if c, err = run.OpenCopies(f, r.step); err == nil {
			return c
		}
	}
	r.watcher.Warned(fmt.Sprintf("train: %s is not kept up to date: %v", f.Events, err))
	return nil
}

// writeLine adds a line to a file of the run, and to its copies.
func (r *Run) writeLine(file string, v any, copies *run.Copies) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("train: %s: %w", r.path(file), err)
	}
	err = r.persist(saving{"a line of " + file, file, 1024, func(dir string) error { return run.AppendLine(filepath.Join(dir, file), line) }, false})
	if err != nil {
		return err
	}
	if err := copies.Add(line); err != nil {
		r.watcher.Warned(fmt.Sprintf("train: what TensorBoard shows of %s lacks step %d until the run is started again: %v", r.path(file), r.step, err))
	}
	return nil
}

// settingsOf are the keys of a configuration that training hangs on, as hyper-parameters: numbers, and
// words for all else.
func settingsOf(config []folder.Pair) map[string]any {
	settings := map[string]any{}
	for _, p := range config {
		section, key, _ := strings.Cut(p.Key, ".")
		if section == "run" || section == "performance" || p.Value == "" || slices.Contains([]string{"physical_batch_size", "evaluate_every"}, key) {
			continue
		}
		settings[p.Key] = p.Value
		if number, err := strconv.ParseFloat(p.Value, 64); err == nil {
			settings[p.Key] = number
		}
	}
	return settings
}
