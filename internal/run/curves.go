package run

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/strictjson"
	"dpsgd/internal/tensorboard"
)

// Files names the file with the lines of a run, its copies, and what the copies take from it.
type Files struct {
	Lines    string              // JSON objects with a "step", one a line
	Events   string              // TensorBoard's; its folder is made
	Table    string              // comma-separated values; "" for none
	Columns  []string            // of the table: keys of the lines
	Settings []tensorboard.Value // of the run, ahead of its steps
	Without  []string            // keys that are no curves
	Bounds   []string            // keys of upper bounds, which must not be rounded down
}

// Copies are files for other programs, made from the lines of a run: a table of comma-separated
// values, and TensorBoard's event file. They hold no more than the lines and the configuration's
// settings. [OpenCopies] makes copies that differ from the lines anew, so a run that was killed and
// goes on repeats no point and loses none.
type Copies struct {
	files Files
	last  int // step of the last point
}

// A point is one line: its step, and all of its fields.
type point struct {
	step   int
	fields strictjson.Object
}

// OpenCopies writes the copies of all lines up to step upTo. Copies that are right stay untouched.
func OpenCopies(f Files, upTo int) (*Copies, error) {
	points, err := readSteps(f.Lines, func(p point) int { return p.step })
	if err != nil {
		return nil, err
	}
	points = slices.DeleteFunc(points, func(p point) bool { return p.step > upTo })
	c := &Copies{files: f, last: -1}
	events := tensorboard.Record(nil, tensorboard.Event{Version: tensorboard.Version}.Encode())
	if len(f.Settings) > 0 {
		events = tensorboard.Record(events, tensorboard.Event{Values: f.Settings}.Encode())
	}
	table := []byte(strings.Join(f.Columns, ",") + "\n")
	for _, p := range points {
		events, table = append(events, c.event(p)...), append(table, c.row(p)...)
		c.last = p.step
	}
	if err := checkpoints.MakeDir(filepath.Dir(f.Events)); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	err = folder.Replace(f.Events, events)
	if f.Table != "" && err == nil {
		err = folder.Replace(f.Table, table)
	}
	return c, err
}

// Add appends one line to the copies. It does nothing if c is nil, or if the line's step is not
// later than the last one copied.
func (c *Copies) Add(line []byte) error {
	if c == nil {
		return nil
	}
	var p point
	if err := json.Unmarshal(line, &p); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if p.step <= c.last {
		return nil
	}
	c.last = p.step
	err := appendTo(c.files.Events, 0, c.event(p))
	if c.files.Table != "" && err == nil {
		err = appendTo(c.files.Table, 0, c.row(p))
	}
	return err
}

// event returns the TensorBoard record of a point: a number or a histogram for each key.
func (c *Copies) event(p point) []byte {
	e := tensorboard.Event{Step: p.step}
	for _, f := range p.fields {
		var number float64
		var histogram tensorboard.Buckets
		switch {
		case f.Key == "step" || slices.Contains(c.files.Without, f.Key):
		case json.Unmarshal(f.Value, &number) == nil && slices.Contains(c.files.Bounds, f.Key):
			e.Values = append(e.Values, tensorboard.Bound(f.Key, number))
		case json.Unmarshal(f.Value, &number) == nil:
			e.Values = append(e.Values, tensorboard.Scalar(f.Key, number))
		case json.Unmarshal(f.Value, &histogram) == nil && len(histogram.Counts) > 0:
			e.Values = append(e.Values, tensorboard.Histogram(f.Key, histogram))
		}
	}
	return tensorboard.Record(nil, e.Encode())
}

// row returns the line of a point in the table. The cell of a key that the point lacks is empty.
func (c *Copies) row(p point) []byte {
	cells := make([]string, len(c.files.Columns))
	for i, key := range c.files.Columns {
		cells[i] = string(p.fields.Get(key))
	}
	return []byte(strings.Join(cells, ",") + "\n")
}

// UnmarshalJSON reads a line, and refuses one without a step of at least 0.
func (p *point) UnmarshalJSON(line []byte) (err error) {
	if p.fields, err = strictjson.Read(line); err != nil {
		return err
	}
	if p.step, err = strconv.Atoi(string(p.fields.Get("step"))); err != nil || p.step < 0 {
		return fmt.Errorf("found %.60q, expected a line with a step", line)
	}
	return nil
}

// metricsColumns are the columns of [folder.MetricsTable].
var metricsColumns = []string{"step", "epsilon", "epsilon_rdp", "delta", "test_accuracy", "test_loss", "learning_rate", "clip_norm"}

func columns(task data.Task) []string {
	columns := slices.Clone(metricsColumns)
	if task == data.Number {
		columns[slices.Index(columns, "test_accuracy")] = "test_error"
	}
	return columns
}

// OpenMetrics writes the copies of the metrics for other programs up to the current step.
func (r *Run) OpenMetrics() {
	settings := []tensorboard.Value{tensorboard.Settings(settingsOf(folder.Keys(string(r.Config.Identity()))))}
	r.copies = r.Copies(Files{
		Lines: r.Path(folder.Metrics), Events: r.Path(folder.MetricsEvents), Table: r.Path(folder.MetricsTable),
		Columns: columns(r.Config.Data.Task()), Settings: settings, Without: []string{"delta"}, Bounds: []string{"epsilon", "epsilon_rdp"},
	})
}

// WriteMetrics appends m, without its accountant and with a finite loss, to the metrics and copies.
func (r *Run) WriteMetrics(m Metrics) error {
	m.Accountant = "" // a line holds numbers alone
	m.TestLoss = Finite(m.TestLoss)
	return r.WriteLine(folder.Metrics, m, r.copies)
}

// Copies writes the copies of a file with lines of this run and returns them. If that fails, it
// warns and returns nil: the run goes on without copies, and its next start writes them anew.
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

// WriteLine appends v, as JSON, to a file of the run and to its copies; if these fail, it warns.
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

// settingsOf returns the keys of a configuration that training depends on, as hyper-parameters: a
// float64 where the value is a number, else a string.
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
