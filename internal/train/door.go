package train

import (
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/release"
)

// noiseOf returns the configured noise: added to sums, or added in shares by clients.
func noiseOf(c *configs.Config) release.Noise {
	if f := c.Federated; f.Any() && f.Noise == data.ByClients {
		return release.SharedNoise{Shares: release.Shares{Clients: f.Clients, Least: f.Noisy(), ModulusBits: f.ModulusBits}}
	}
	return c.Privacy.Mechanism
}

// openDoor makes the door through which the plan releases its steps. The door writes a step's event
// only after the checkpoint of the step before is on disk.
func (r *Run) openDoor() error {
	var err error
	if r.door, err = release.NewDoor(r.plan.Plan, r.records.Coordinates(), r.Order, r.plan.Allows, r.Pool); err != nil {
		return err
	}
	r.door.Lost(r.plan.stepsIn(r.Books.Ledger()) - r.Step)
	if r.together.leader != nil {
		r.door.Among(r.together.leader)
	}
	return nil
}
