package train

import "dpsgd/clip"

// Deviation returns the standard deviation of the noise on each value of a step's mean gradient, in
// the unit of gradients. Where the clip norm is learnt it is that of the next step.
func (p *RunPlan) Deviation(step int) float64 {
	unit := p.unit()
	if stepping, ok := p.Policy.(clip.Stepping); ok {
		unit = stepping.At(step) / p.Policy.Bound()
	}
	return unit * p.Mechanism.Deviation(step, p.Policy.Bound()) / p.ExpectedBatchSize
}

// begin sets the clip norm of the step that begins, if a schedule of clip norms gives it.
func (p *RunPlan) begin(step int) {
	if stepping, ok := p.Policy.(clip.Stepping); ok {
		stepping.Begin(step)
	}
}

// unit returns what a noisy sum of the next step is multiplied by to be a sum of clipped gradients:
// not 1 under a policy that scales gradients of a moving clip norm to one bound.
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

// counting returns the policy of a run that learns its clip norm from releases, and nil for any
// other run.
func (r *Run) counting() clip.Counting {
	counting, _ := r.plan.Policy.(clip.Counting)
	return counting
}
