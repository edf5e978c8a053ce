package optimizer

import (
	"errors"

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

// ErrUsed is wrapped by the error of an [Update] that is given a [Noisy] which an update has used already.
var ErrUsed = errors.New("noisy sum already used")

// Noisy is a sum of clipped gradients with its noise: a vector that may be published. It is made by a [Mechanism] and
// used by an [Update], once. There is no way to build one from numbers, to change one, or to read one but by
// applying it. The zero value has length 0.
//
// The noise is drawn where the update adds it to the sum, so that no pass over memory is spent on it. That is why a
// Noisy is used up: a second use would need the first one's noise again, and two draws of noise for one sum average
// to less noise. Copies of a Noisy are the same release, and one use of any of them uses up all.
type Noisy struct {
	length  int
	release *release
	turn    uint64 // the use of release that this is
}

// Len returns the number of values.
func (n Noisy) Len() int { return n.length }
