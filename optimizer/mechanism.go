package optimizer

import (
	"dpsgd/accountant"
	"dpsgd/clip"
)

// Mechanism releases a clipped sum under differential privacy.
type Mechanism interface {
	// Privatize takes the values out of sum, which is empty afterwards, and returns them with noise. It is called
	// once per logical batch, also for an empty one. The caller has the event on stable storage before the call.
	// The error wraps [clip.ErrReleased] for a sum that was used before.
	Privatize(sum *clip.Sum) (Noisy, error)

	// Event describes one call of Privatize to an accountant, before sampling is taken into account.
	Event() accountant.Event
}

// Noisy is a sum of clipped gradients with its noise: a vector that may be published. It is made by a [Mechanism] and
// read by an [Update]. There is no way to build one from numbers and none to change one. The zero value has length 0.
type Noisy struct {
	values []float64
}

// Len returns the number of values.
func (n Noisy) Len() int { return len(n.values) }
