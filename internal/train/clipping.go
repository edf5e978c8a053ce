package train

import (
	"fmt"

	"dpsgd/clip"
	"dpsgd/optimizer"
)

// clipNormSlot is where checkpoints keep a clip norm that follows the norms of gradients, beside
// the slots of the update rule.
const clipNormSlot = "privacy.clip_norm"

// Deviation returns the standard deviation of the noise on each value of a step's mean gradient, in
// the unit of gradients. Where the clip norm is learnt it is that of the next step.
func (p *RunPlan) Deviation(step int) float64 {
	unit := p.unit()
	if stepping, ok := p.Policy.(clip.Stepping); ok {
		unit = stepping.At(step) / p.Policy.Bound()
	}
	return unit * p.Mechanism.Deviation(step, p.Policy.Bound()) / p.ExpectedBatchSize
}

// begin sets the clip norm of this step where a schedule gives it.
func (p *RunPlan) begin(step int) {
	if stepping, ok := p.Policy.(clip.Stepping); ok {
		stepping.Begin(step)
	}
}

// divisor returns what the noisy sum of the next step is divided by to be the mean gradient: the
// expected batch size, over the unit of the sum.
func (p *RunPlan) divisor() float64 { return p.ExpectedBatchSize / p.unit() }

// unit returns the factor that makes noisy sums of the next step sums of clipped gradients.
func (p *RunPlan) unit() float64 {
	if moving, ok := p.Policy.(clip.Moving); ok {
		return moving.Unit()
	}
	return 1
}

// movingClipNorm returns the clip norm of the step with this number, 0 where all steps have the
// same.
func (p *RunPlan) movingClipNorm(next int) float64 {
	switch policy := p.Policy.(type) {
	case clip.Stepping:
		return policy.At(next)
	case clip.Moving:
		return policy.ClipNorm()
	}
	return 0
}

// counting returns the run's policy if that learns the clip norm from releases, and nil otherwise.
func (r *Run) counting() clip.Counting {
	counting, _ := r.plan.Policy.(clip.Counting)
	return counting
}

// followNorms lets the policy learn from the release of the step.
func (r *Run) followNorms() {
	if counting := r.counting(); counting != nil {
		counting.Learn(r.count, r.plan.ExpectedBatchSize)
	}
}

// keepClipNorm puts the learnt clip norm, which is public, into a checkpoint.
func (r *Run) keepClipNorm(slots map[string][]float32) {
	if counting := r.counting(); counting != nil {
		slots[clipNormSlot] = []float32{float32(counting.ClipNorm())}
	}
}

// restoreClipNorm takes the learnt clip norm out of a checkpoint. Whatever a checkpoint says, the
// bound of a release is that of the configuration.
func (r *Run) restoreClipNorm(slots map[string][]float32) error {
	counting := r.counting()
	if counting == nil {
		return nil
	}
	kept := slots[clipNormSlot]
	if len(kept) != 1 {
		return fmt.Errorf("train: found %d values of %q, expected 1: %w", len(kept), clipNormSlot, optimizer.ErrState)
	}
	delete(slots, clipNormSlot)
	return counting.Restore(float64(kept[0]))
}
