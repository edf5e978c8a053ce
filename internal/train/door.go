package train

import (
	"dpsgd/configs"
	"dpsgd/data/clients"
	"dpsgd/internal/kernel"
	"dpsgd/release"
)

// mechanism makes noise with the first of these multipliers in the first step: on sums, or in shares by
// clients.
func mechanism(c *configs.Config, s release.NoiseSchedule, first float64, steps int, pool *kernel.Pool) (release.Mechanism, error) {
	if f := c.Federated; f.Any() && f.Noise == clients.ByClients {
		return release.NewDistributed(s, first, steps, release.Shares{Clients: f.Clients, Least: f.Noisy(), ModulusBits: f.ModulusBits}, pool)
	}
	return release.NewScheduled(s, first, steps, pool)
}

// openDoor makes the door of the plan, with the run's journal behind its checkpoints.
func (r *Run) openDoor() error {
	var err error
	r.door, err = release.NewDoor(r.plan.Plan, r.records.Coordinates(), r.order, r.plan.Allows, r.pool)
	if err == nil && r.leader != nil {
		r.door.Among(r.leader)
	}
	return err
}
