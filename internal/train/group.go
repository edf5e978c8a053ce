package train

import (
	"cmp"
	"time"

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
