package run

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/internal/folder"
	"dpsgd/internal/tensorboard"
)

// metricsColumns are those of [folder.MetricsTable].
var metricsColumns = []string{"step", "epsilon", "epsilon_rdp", "delta", "test_accuracy", "test_loss", "learning_rate", "clip_norm"}

// OpenMetrics writes the copies of the metrics for other programs up to the current step.
func (r *Run) OpenMetrics() {
	settings := []tensorboard.Value{tensorboard.Settings(settingsOf(folder.Keys(string(r.Config.Identity()))))}
	r.copies = r.Copies(Files{
		Lines: r.Path(folder.Metrics), Events: r.Path(folder.MetricsEvents), Table: r.Path(folder.MetricsTable),
		Columns: metricsColumns, Settings: settings, Without: []string{"delta"}, Bounds: []string{"epsilon", "epsilon_rdp"},
	})
}

// WriteMetrics adds a line to the metrics.
func (r *Run) WriteMetrics(m Metrics) error {
	m.Accountant = "" // a line holds numbers alone
	m.TestLoss = Finite(m.TestLoss)
	return r.WriteLine(folder.Metrics, m, r.copies)
}

// Copies opens the copies of lines of this run; nil where that fails. The lines are what counts: the
// next start writes the copies anew.
func (r *Run) Copies(f Files) *Copies {
	err := EndLine(f.Lines)
	if err == nil {
		var c *Copies
		if c, err = OpenCopies(f, r.Step); err == nil {
			return c
		}
	}
	r.Warn(fmt.Sprintf("train: %s is not kept up to date: %v", f.Events, err))
	return nil
}

// WriteLine adds a line to a file of the run, and to its copies.
func (r *Run) WriteLine(file string, v any, copies *Copies) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("train: %s: %w", r.Path(file), err)
	}
	err = r.Keep(Saving{"a line of " + file, file, 1024, func(dir string) error { return AppendLine(filepath.Join(dir, file), line) }, false})
	if err != nil {
		return err
	}
	if err := copies.Add(line); err != nil {
		r.Warn(fmt.Sprintf("train: what TensorBoard shows of %s lacks step %d until the run is started again: %v", r.Path(file), r.Step, err))
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
