package release

import (
	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/internal/random"
)

// Mechanism makes the sums of a plan's releases private. It may remember: noise that is correlated
// between releases is a state, a schedule is a function of the step. What it remembers is never
// stored, because two runs that go on from one stored state would add the same noise to different
// sums.
type Mechanism interface {
	// Event describes release number step, counted from 0, to an accountant, before sampling is
	// taken into account: the whole schedule is the events of all steps. Its noise multiplier is
	// noise over the policy's bound.
	Event(step int) accountant.Event
	// Privatize takes the integers out of sum, adds the noise of release number step, made of
	// secret words of src or of sources split off it, and calls consume once for every coordinate,
	// in blocks that follow each other within a worker and come from several goroutines. It returns
	// when all calls have returned. After an error, which wraps [clip.ErrReleased] for a sum that
	// was used before, consume was not called.
	Privatize(step int, sum *clip.Sum, src *random.Source, consume func(Noisy)) error
	// Deviation returns the standard deviation of the noise that release number step adds to every
	// coordinate of a sum with that bound. It is public.
	Deviation(step int, bound float64) float64
	// Coarse reports whether sums must lie on the lattice of the noise, because the noise is added
	// to the contributions. Otherwise the lattice of a sum may be finer.
	Coarse() bool
	// Name returns a word or two, String a sentence about the noise, with its numbers, for the
	// privacy statement.
	Name() string
	String() string
}

// Noisy is a block of consecutive values of a noisy sum. They may be published. Only a [Mechanism]
// of this package makes one that is not empty.
type Noisy struct {
	values       []float64
	from, worker int
	deviation    float64
}

// Values returns the noisy values. They lie in the mechanism's memory and last until the consumer
// returns.
func (n Noisy) Values() []float64 { return n.values }

// Before returns the part of the block that lies before coordinate end of the sum.
func (n Noisy) Before(end int) Noisy {
	n.values = n.values[:max(0, min(end-n.from, len(n.values)))]
	return n
}

// From returns the coordinate of the first value.
func (n Noisy) From() int { return n.from }

// Worker returns the number of the thread that made the block, as [kernel.Pool.Run] counts them:
// two blocks with one number are never consumed at the same time.
func (n Noisy) Worker() int { return n.worker }

// Deviation returns the standard deviation of the noise on each value.
func (n Noisy) Deviation() float64 { return n.deviation }
