package run

import (
	"math"
	"slices"

	"dpsgd/internal/account"
	"dpsgd/internal/tensorboard"
)

// Metrics is one line of metrics.jsonl. Everything in it is public, or computed from what was
// released and public test examples. Times are not: a step takes as long as its batch is large.
// Lines of steps that ran again after a crash appear again.
type Metrics struct {
	Step int `json:"step"`
	account.Answer
	TestAccuracy float64 `json:"test_accuracy"`
	TestLoss     float64 `json:"test_loss"`
	LearningRate float64 `json:"learning_rate"`
	ClipNorm     float64 `json:"clip_norm,omitempty"` // of the step to come, where it moves
}

// Finite keeps a number writable as JSON: a diverged model has no mean loss, which shows as the largest
// float64.
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
	MeanNorm          float64             `json:"mean_norm"`                // of per-example gradients, before clipping
	NormQuantiles     []float64           `json:"norm_quantiles,omitempty"` // the [NormQuantiles] of these norms; none of an empty batch
	ClippedFraction   float64             `json:"clipped_fraction"`         // of the batch
	NotFinite         int                 `json:"not_finite"`               // examples that added zero
	Norms             tensorboard.Buckets `json:"norms"`                    // those that MeanNorm is the mean of
}

// NormQuantiles are the shares of a batch below the quantiles of Diagnostics.
var NormQuantiles = []float64{0.1, 0.25, 0.5, 0.75, 0.9}

// Quantiles are the [NormQuantiles] of values that may be put in order: for each the least value that
// so large a share does not pass.
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
