package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/internal/tensorboard"
)

// Files are the lines and their copies.
type Files struct {
	Lines    string              // JSON objects with a "step", one a line
	Events   string              // TensorBoard's; its folder is made
	Table    string              // comma-separated values; "" for none
	Columns  []string            // of the table: keys of the lines
	Settings []tensorboard.Value // of the run, ahead of its steps
	Without  []string            // keys that are no curves
	Bounds   []string            // keys of upper bounds, which TensorBoard's few bits must not make smaller
}

// Copies are files for other programs with what the lines of a run hold and no more, so they are as
// public, or as private, as these: a table of comma-separated values, and TensorBoard's event file. They
// are a function of the lines, from which [OpenCopies] writes them anew: a run that was killed and goes
// on repeats no point and loses none.
type Copies struct {
	files Files
	last  int // step of the last point
}

// point is one line.
type point struct {
	step int
	keys []string // in the order of the line
	of   map[string]json.RawMessage
}

// permissions of copies: their owner's alone.
const permissions = 0o600

// OpenCopies writes the copies of the lines up to a step, where they are not there already.
func OpenCopies(f Files, upTo int) (*Copies, error) {
	points, err := read(f.Lines, upTo)
	if err != nil {
		return nil, err
	}
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
	if err := os.MkdirAll(filepath.Dir(f.Events), 0o700); err != nil {
		return nil, fmt.Errorf("curves: %w", err)
	}
	err = replace(f.Events, events)
	if f.Table != "" && err == nil {
		err = replace(f.Table, table)
	}
	return c, err
}

// replace leaves a file that is as it should be alone: TensorBoard may be reading it.
func replace(path string, content []byte) error {
	if found, err := os.ReadFile(path); err == nil && bytes.Equal(found, content) {
		return nil
	}
	return checkpoints.WriteFileAtomic(path, content, permissions)
}

// Add copies one more line. A line of a step that the copies have adds nothing. No copies take it,
// too.
func (c *Copies) Add(line []byte) error {
	if c == nil {
		return nil
	}
	p, ok := parse(line)
	if !ok {
		return fmt.Errorf("curves: found %.60q, expected a line with a step", line)
	}
	if p.step <= c.last {
		return nil
	}
	c.last = p.step
	err := appendTo(c.files.Events, c.event(p))
	if c.files.Table != "" && err == nil {
		err = appendTo(c.files.Table, c.row(p))
	}
	return err
}

func appendTo(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, permissions)
	if err != nil {
		return fmt.Errorf("curves: %w", err)
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// event is the record of a point: a number or a histogram for each key.
func (c *Copies) event(p point) []byte {
	e := tensorboard.Event{Step: p.step}
	for _, key := range p.keys {
		if key == "step" || slices.Contains(c.files.Without, key) {
			continue
		}
		var number float64
		var histogram tensorboard.Buckets
		if json.Unmarshal(p.of[key], &number) == nil {
			e.Values = append(e.Values, c.scalar(key, number))
		} else if json.Unmarshal(p.of[key], &histogram) == nil && len(histogram.Counts) > 0 {
			e.Values = append(e.Values, tensorboard.Histogram(key, histogram))
		}
	}
	return tensorboard.Record(nil, e.Encode())
}

// scalar is a number of a point.
func (c *Copies) scalar(key string, v float64) tensorboard.Value {
	if slices.Contains(c.files.Bounds, key) {
		return tensorboard.Bound(key, v)
	}
	return tensorboard.Scalar(key, v)
}

// row is the line of a point in the table. What the point does not have is empty.
func (c *Copies) row(p point) []byte {
	cells := make([]string, len(c.files.Columns))
	for i, key := range c.files.Columns {
		cells[i] = string(p.of[key])
	}
	return []byte(strings.Join(cells, ",") + "\n")
}

// read returns the points up to a step, in the order of their steps.
func read(path string, upTo int) ([]point, error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("curves: %w", err)
	}
	var points []point
	for line := range bytes.Lines(content) {
		p, ok := parse(line)
		if !ok {
			continue // torn by a crash
		}
		points = behind(points, p, func(p point) int { return p.step })
	}
	for len(points) > 0 && points[len(points)-1].step > upTo {
		points = points[:len(points)-1]
	}
	return points, nil
}

// parse reads a line; ok is false for what is none.
func parse(line []byte) (p point, ok bool) {
	if json.Unmarshal(line, &p.of) != nil {
		return p, false
	}
	step, err := strconv.Atoi(string(p.of["step"]))
	if err != nil || step < 0 {
		return p, false
	}
	p.step = step
	d := json.NewDecoder(bytes.NewReader(line))
	for depth := 0; ; { // keys of the object itself, as the line has them
		token, err := d.Token()
		if err != nil {
			return p, true
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if depth == 1 {
				p.keys = append(p.keys, t)
				var skipped json.RawMessage
				if d.Decode(&skipped) != nil {
					return p, true
				}
			}
		}
	}
}
