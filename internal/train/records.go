package train

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/checkpoints/safetensors"
	"dpsgd/internal/account"
	"dpsgd/internal/compute"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
)

// metrics is one line of metrics.jsonl. Everything in it is public, or computed from what was
// released and public test examples. Times are not: a step takes as long as its batch is large.
// Lines of steps that ran again after a crash appear again.
type metrics struct {
	Step int `json:"step"`
	account.Answer
	TestAccuracy float64 `json:"test_accuracy"`
	TestLoss     float64 `json:"test_loss"`
	LearningRate float64 `json:"learning_rate"`
	ClipNorm     float64 `json:"clip_norm,omitempty"` // of the step to come, where it moves
}

func (r *Run) writeMetrics(p Progress) error {
	line := metrics{
		Step: p.Step, Answer: p.Spent.Answer(),
		TestAccuracy: p.Evaluation.Accuracy, TestLoss: finite(p.Evaluation.Loss), LearningRate: p.LearningRate, ClipNorm: p.ClipNorm,
	}
	line.Accountant = "" // a line holds numbers alone
	return r.persist(saving{"a line of " + folder.Metrics, folder.Metrics, 1024, func(dir string) error { return appendLine(filepath.Join(dir, folder.Metrics), line) }, false})
}

// finite keeps a number writable as JSON: a diverged model has no mean loss, which shows as the
// largest float64.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return math.MaxFloat64
	}
	return v
}

// appendLine adds one JSON line to a file.
func appendLine(path string, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
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

// diagnostics collects what one step says about its examples, for a file that is NOT private. nil
// collects nothing.
type diagnostics struct {
	plan    *RunPlan
	factors []float32
	line    diagnosticsLine
}

// diagnosticsLine is one step's line of diagnostics.private.jsonl.
type diagnosticsLine struct {
	Step            int     `json:"step"`
	Seconds         float64 `json:"seconds"` // that the step took
	BatchSize       int     `json:"batch_size"`
	TrainingLoss    float64 `json:"training_loss"`    // mean over the batch
	MeanNorm        float64 `json:"mean_norm"`        // of per-example gradients, before clipping
	ClippedFraction float64 `json:"clipped_fraction"` // of the batch
	NotFinite       int     `json:"not_finite"`       // examples that added zero
}

// openDiagnostics switches diagnostics on when the configuration asks for them.
func (r *Run) openDiagnostics() {
	if r.config.Run.PrivateDiagnostics {
		r.diagnoses = &diagnostics{plan: r.plan}
		r.gradients.Observe(r.diagnoses.add)
	}
}

// add takes one physical batch into the step's line.
func (d *diagnostics) add(b compute.Diagnosis) {
	d.factors = slices.Grow(d.factors[:0], len(b.Losses))[:len(b.Losses)]
	d.plan.Policy.Factors(d.factors, b.AfterLayers)
	unit := d.plan.unit()
	for i, factor := range d.factors {
		d.line.BatchSize++
		if factor == 0 {
			d.line.NotFinite++
			continue
		}
		norm := math.Sqrt(b.SquaredNorms[i])
		d.line.MeanNorm += norm
		if unit*float64(factor)*math.Sqrt(b.AfterLayers[i]) < norm*(1-roundedFactor) {
			d.line.ClippedFraction++
		}
		d.line.TrainingLoss += float64(b.Losses[i])
	}
}

// roundedFactor is more than float32 factors and sums of squares lose.
const roundedFactor = 0x1p-20

// diagnose writes the line of the step that just ended.
func (r *Run) diagnose(took time.Duration) error {
	d := r.diagnoses
	if d == nil {
		return nil
	}
	line := d.line
	d.line = diagnosticsLine{}
	line.Step, line.Seconds = r.step, took.Seconds()
	if n := float64(line.BatchSize - line.NotFinite); n > 0 {
		line.TrainingLoss = finite(line.TrainingLoss / n)
		line.MeanNorm = finite(line.MeanNorm / n)
		line.ClippedFraction /= n
	}
	return r.persist(saving{"a line of " + folder.Diagnostics, folder.Diagnostics, 1024, func(dir string) error { return appendLine(filepath.Join(dir, folder.Diagnostics), line) }, false})
}

// writeModel writes the parameters under PyTorch's names and in its layouts.
func (r *Run) writeModel() error {
	var tensors []safetensors.Tensor
	for _, t := range r.model.Export() {
		tensors = append(tensors, safetensors.Tensor(t))
	}
	about := map[string]string{"format": "pt"}
	if r.config.Features.Any() {
		about["features"] = r.config.Features.Recipe.String()
	}
	if r.featureMean != nil {
		tensors = append(tensors, safetensors.Tensor{Name: meanSlot, Shape: []int{len(r.featureMean)}, Data: r.featureMean})
	}
	return r.persist(saving{"the model", folder.Model, 4*(len(r.model.Values)+r.model.FrozenValues()) + 1<<16, func(dir string) error {
		return safetensors.Write(filepath.Join(dir, folder.Model), tensors, about)
	}, true})
}

// modelSum is the SHA-256 of the file with the model of a run. The statement keeps it: the format of
// the file has no checksum, and a weight with a flipped bit is a number like any other.
func modelSum(dir string) (string, error) {
	f, _, err := checkpoints.OpenRegular(filepath.Join(dir, folder.Model))
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// checkModel holds the model of a run against the sum in its statement. Earlier versions wrote none.
func checkModel(dir string) error {
	s, err := statement.Read(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && s.ModelSHA256 == "" {
		return nil
	}
	if err != nil {
		return err
	}
	found, err := modelSum(dir)
	if err == nil && found != s.ModelSHA256 {
		err = fmt.Errorf("train: %s: found SHA-256 %s, expected %s as %s says: the file is damaged or of another run; `train resume %s` writes it again: %w",
			filepath.Join(dir, folder.Model), found, s.ModelSHA256, folder.StatementData, folder.Argument(dir), checkpoints.ErrCorrupt)
	}
	return err
}
