package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/tensorboard"
)

// Metrics is one line of metrics.jsonl. All of it may be published: it is computed from releases,
// public settings and public test examples. It has no times, which would tell how large a batch
// was. A step that ran again after a crash has a line for each time.
type Metrics struct {
	Step int `json:"step"`
	account.Answer
	score.Test
	TestLoss     float64 `json:"test_loss"`
	LearningRate float64 `json:"learning_rate"`
	ClipNorm     float64 `json:"clip_norm,omitempty"` // for the next step; 0 if it is the same for all
}

// Finite returns v, or the largest float64 if v is not finite, as the loss of a diverged model:
// JSON has no infinities.
func Finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return math.MaxFloat64
	}
	return v
}

// Diagnostics is one step's line of diagnostics.private.jsonl. It is NOT private.
type Diagnostics struct {
	Step              int                 `json:"step"`
	Seconds           float64             `json:"seconds"` // that the step took
	ExamplesPerSecond float64             `json:"examples_per_second"`
	BatchSize         int                 `json:"batch_size"`
	TrainingLoss      float64             `json:"training_loss"`            // mean over the batch
	MeanNorm          float64             `json:"mean_norm"`                // before clipping
	NormQuantiles     []float64           `json:"norm_quantiles,omitempty"` // by [NormQuantiles]
	ClippedFraction   float64             `json:"clipped_fraction"`         // of the batch
	NotFinite         int                 `json:"not_finite"`               // examples that added zero
	Norms             tensorboard.Buckets `json:"norms"`                    // of which MeanNorm is the mean
}

// NormQuantiles are the shares of a batch whose quantiles [Diagnostics] has.
var NormQuantiles = []float64{0.1, 0.25, 0.5, 0.75, 0.9}

// Quantiles returns the [NormQuantiles] of values, and sorts values. Each quantile is the least
// value that at least so large a share of values does not exceed; +Inf becomes MaxFloat64.
func Quantiles(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	found := make([]float64, len(NormQuantiles))
	for i, q := range NormQuantiles {
		found[i] = min(math.MaxFloat64, values[max(0, int(math.Ceil(q*float64(len(values))))-1)])
	}
	return found
}

// ReadMetrics returns the metrics of a run so far, one line a step; none before the run's first
// evaluation.
func ReadMetrics(dir string) ([]Metrics, error) {
	return readSteps(filepath.Join(dir, folder.Metrics), func(m Metrics) int { return m.Step })
}

// ReadDiagnostics returns the diagnostics of a run, one line a step; none if they were off. They
// are NOT private.
func ReadDiagnostics(dir string) ([]Diagnostics, error) {
	return readSteps(filepath.Join(dir, folder.Diagnostics), func(d Diagnostics) int { return d.Step })
}

// readSteps reads a file of JSON lines, one for each step. If a step ran again after a crash, its
// last line counts. A last line without a line feed is ignored: it is being written, or a crash
// tore it.
func readSteps[Line any](path string, step func(Line) int) ([]Line, error) {
	content, err := folder.Content(path)
	if err != nil || content == nil {
		return nil, err
	}
	var lines []Line
	whole := content[:bytes.LastIndexByte(content, '\n')+1]
	n := 0
	for text := range bytes.Lines(whole) {
		n++
		var line Line
		err := json.Unmarshal(text, &line)
		if err != nil && torn(text) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("train: %s:%d: found no JSON object of a step (%w), expected what a run wrote: %w", path, n, err, checkpoints.ErrCorrupt)
		}
		// After a line of an earlier step the run went on from there: what stood of that step and
		// of later ones was lost.
		for len(lines) > 0 && step(lines[len(lines)-1]) >= step(line) {
			lines = lines[:len(lines)-1]
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// torn reports whether a line is only the beginning of an object, or holds zeros: a crash tore it,
// or a power loss left zeros where lines were not on the disk yet, and [EndLine] ended it.
func torn(line []byte) bool {
	if bytes.IndexByte(line, 0) >= 0 {
		return true // JSON has no such byte
	}
	var object struct{}
	return line[0] == '{' && errors.Is(json.NewDecoder(bytes.NewReader(bytes.TrimSpace(line))).Decode(&object), io.ErrUnexpectedEOF)
}

// AppendLine appends a line and a line feed to a file, and makes the file if there is none.
func AppendLine(path string, line []byte) error {
	return appendTo(path, os.O_CREATE, append(line, '\n'))
}

// appendTo appends to a file, which it makes where flag says so.
func appendTo(path string, flag int, content []byte) error {
	f, err := disk.System.OpenFile(path, os.O_WRONLY|flag, folder.FilePerm)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		if _, err = f.WriteAt(content, info.Size()); err != nil {
			err = errors.Join(err, f.Truncate(info.Size())) // no part of a line stays where a disk is full
		}
	}
	return errors.Join(err, f.Close())
}

// EndLine appends a line feed if the last line of a file lacks one, as after a crash.
func EndLine(path string) error {
	content, err := disk.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (len(content) == 0 || content[len(content)-1] == '\n') {
		return nil
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return AppendLine(path, nil)
}
