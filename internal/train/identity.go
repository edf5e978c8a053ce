package train

import (
	"fmt"
	"strings"

	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
)

// Hash identifies the plan, the shape of its data and the file of the initial weights by its SHA-256,
// "" if there is none. It is made of public values only: a hash of the training data would let anyone
// who guesses the data check the guess.
func (p *RunPlan) Hash(c *configs.Config, o setup.Outline, initial string) string {
	return run.HashOf(p.identity(c, o, initial))
}

// identity returns the text that Hash hashes.
func (p *RunPlan) identity(c *configs.Config, o setup.Outline, initial string) string {
	var h strings.Builder
	if c.Features.Any() {
		fmt.Fprintln(&h, c.Features.Recipe)
	}
	fmt.Fprintf(&h, "%s\nsteps %d\nnoise_multiplier %v\nexamples %d %v %q\n", c.Identity(), p.Steps, p.NoiseMultiplier(),
		o.Examples, o.Shape, o.Names)
	if o.People > 0 {
		fmt.Fprintf(&h, "people %d\n", o.People)
	}
	if initial != "" {
		fmt.Fprintf(&h, "initial weights %s\n", initial)
	}
	return h.String()
}

// ofExtensions returns the text that extensions add to the identity of a plan: a checkpoint that
// was saved after one belongs to no run that was not extended.
func ofExtensions(list []folder.Extension) string {
	var h strings.Builder
	for i, e := range list {
		fmt.Fprintf(&h, "extension_%d after step %d, %d releases %s, from %d steps and epsilon %v to %d and %v, plan %s\n",
			i+1, e.Step, e.Entries, e.Head, e.From.Steps, e.From.Epsilon, e.To.Steps, e.To.Epsilon, e.Plan)
	}
	return h.String()
}
