package train

import (
	"cmp"
	"time"

	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/internal/mpi"
	"dpsgd/internal/ranks"
	"dpsgd/internal/setup"
)

// Follow takes part in a run of which another process is rank 0 until that has enough. It leaves
// nothing on disk but features that it had to compute.
func Follow(o Options) error {
	return ranks.Follow(o.Group, o.Located(), func(c *configs.Config) int { return cmp.Or(o.Threads, setup.Threads(c)) })
}

// size returns the number of processes that add up this run's sums.
func (o Options) size() int {
	if o.Group == nil {
		return 1
	}
	return o.Group.Size()
}

// processes holds what a run knows of its ranks, the processes that add up one sum.
type processes struct {
	leader   *ranks.Leader // nil where this process is alone
	bounds   []int         // of the examples of each rank, where each has its own
	ranks    int           // that the run has had at most
	patience time.Duration
}

// lead makes this process rank 0 of the run's group, and waits for the others.
func (r *Run) lead(g mpi.Group) error {
	r.together.ranks = 1
	if g == nil || g.Size() == 1 {
		return nil
	}
	o := ranks.Orders{Steps: r.plan.Steps, Physical: r.physical, Coordinates: r.records.Coordinates(), Room: r.plan.Room(), Initial: r.Initial}
	if r.records.Gradients != nil {
		o.Engines = r.records.Gradients.Choice(r.Config.Performance.Engine)
	}
	shared := ranks.Run{Source: r.Source, Train: r.Examples.Train, Own: r.together.bounds, Parameters: r.Model.Values, Pool: r.Pool, Patience: r.together.patience}
	if counting := r.counting(); counting != nil {
		shared.ClipNorm = counting.ClipNorm
	}
	var err error
	r.together.leader, err = ranks.Lead(g, o, shared)
	return err
}

// trust saves a checkpoint with the number of ranks, if it grew, before other ranks learn which
// records are sampled. So the statement names these ranks as trusted even if the run is killed and
// goes on alone.
func (r *Run) trust() error {
	t := &r.together
	if t.leader == nil || t.ranks >= t.leader.Size() || r.Step >= r.plan.Steps {
		return nil
	}
	t.ranks = t.leader.Size()
	return r.Save()
}

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
