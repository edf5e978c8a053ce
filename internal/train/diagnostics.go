package train

import (
	"math"
	"slices"
	"time"

	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/run"
	"dpsgd/internal/tensorboard"
)

// diagnostics collects figures of the examples of one step, such as their gradient norms, for a
// file that is NOT private. A nil diagnostics collects nothing.
type diagnostics struct {
	plan    *RunPlan
	factors []float32
	norms   []float64 // of the step so far
	line    run.Diagnostics
	copies  *run.Copies
}

// openDiagnostics switches diagnostics on when the configuration asks for them.
func (r *Run) openDiagnostics() {
	if r.Config.Run.PrivateDiagnostics {
		r.diagnoses = &diagnostics{plan: r.plan}
		r.diagnoses.copies = r.Copies(run.Files{Lines: r.Path(folder.Diagnostics), Events: r.Path(folder.DiagnosticEvents)})
		r.records.Gradients.Observe(r.diagnoses.add)
	}
}

// add adds the figures of one physical batch to those of the step.
func (d *diagnostics) add(b gradients.Diagnosis) {
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
		d.norms = append(d.norms, norm)
		if unit*float64(factor)*math.Sqrt(b.AfterLayers[i]) < norm*(1-roundedFactor) {
			d.line.ClippedFraction++
		}
		d.line.TrainingLoss += float64(b.Losses[i])
	}
}

// roundedFactor is more than float32 factors and sums of squares lose.
const roundedFactor = 0x1p-20

// diagnose writes the line of private diagnostics of the step that just ended.
func (r *Run) diagnose(took time.Duration) error {
	d := r.diagnoses
	if d == nil {
		return nil
	}
	line := d.line
	d.line = run.Diagnostics{}
	line.NormQuantiles = run.Quantiles(d.norms)
	line.Step, line.Seconds = r.Step, took.Seconds()
	if n := float64(line.BatchSize - line.NotFinite); n > 0 {
		line.TrainingLoss = run.Finite(line.TrainingLoss / n)
		line.MeanNorm = run.Finite(line.MeanNorm / n)
		line.ClippedFraction /= n
	}
	if took > 0 {
		line.ExamplesPerSecond = float64(line.BatchSize) / took.Seconds()
	}
	line.Norms = tensorboard.Count(d.norms)
	d.norms = d.norms[:0]
	return r.WriteLine(folder.Diagnostics, line, d.copies)
}
