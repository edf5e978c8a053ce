package train

import (
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
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
	r.door, err = release.NewDoor(r.plan.Plan, r.records.Coordinates(), r.Order, r.plan.Allows, r.Pool)
	if err == nil {
		r.door.Lost(r.made() - r.Step)
	}
	if err == nil && r.together.leader != nil {
		r.door.Among(r.together.leader)
	}
	return err
}

// made counts the releases of steps in the ledger, of those that were lost too.
func (r *Run) made() int {
	made := r.Books.Ledger()
	return made.Count() - account.Choices(made) - r.means()
}
