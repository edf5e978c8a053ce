package ranks

import (
	"cmp"
	"math"
	"os"
	"time"

	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/mpi"
	"dpsgd/internal/setup"
	"dpsgd/release"
)

// Leader is rank 0 of a group whose ranks are all ready. The door of a run calls it to get the sums
// of all ranks.
type Leader struct {
	mpi.Group
	Run
	Processes []int64   // number of the process of each rank, which launchers name
	shared    time.Time // when the sample of the step was told
	body      []byte    // of a message; secret
}

// Run holds what rank 0 has of the run that all ranks carry out.
type Run struct {
	Source     *setup.Source
	Train      data.Set // as the network sees it
	Own        []int    // bounds of the examples of each rank, as [Find] says; nil where all have all
	Parameters []float32
	ClipNorm   func() float64 // of the step ahead, where it is learnt; nil elsewhere
	Pool       *kernel.Pool
	Patience   time.Duration // the least time to wait for a part of a sum; 0 is [Patience]
}

var _ release.Ranks = (*Leader)(nil)

// Patience is how long rank 0 waits at least for another rank's part of a sum.
const Patience = 2 * time.Minute

// Gathering is how long rank 0 waits for the others to be ready: they read their data first.
const Gathering = 30 * time.Minute

// slower bounds how many times longer than rank 0 another rank may take for its part of a sum.
const slower = 20

// Lead tells the other ranks of a group what the run is, and waits until they are ready. It fails
// if a rank finds other data than rank 0, or, where each has its own, if two ranks have the same
// example.
func Lead(g mpi.Group, o Orders, r Run) (*Leader, error) {
	if err := o.sign(r.Source, r.Train, r.Own, r.Pool); err != nil {
		return nil, err
	}
	if err := tell(g, o); err != nil {
		return nil, err
	}
	if r.Own != nil {
		if err := apart(g, r.Own, r.Train, o.Salt, r.Pool); err != nil {
			return nil, err
		}
	}
	processes := ready(g)
	if err := g.Reduce(processes, Gathering); err != nil {
		return nil, err
	}
	r.Patience = cmp.Or(r.Patience, Patience)
	return &Leader{Group: g, Run: r, Processes: processes}, nil
}

// Bounds implements [release.Ranks].
func (l *Leader) Bounds() []int { return l.Own }

// ready returns what a rank says once it has its data: the number of its process, at the index of
// its rank.
func ready(g mpi.Group) []int64 {
	processes := make([]int64, g.Size())
	processes[g.Rank()] = int64(os.Getpid())
	return processes
}

// Share implements [release.Ranks]: it sends step, clip norm (if learnt), parameters and sample.
func (l *Leader) Share(step int, sample []int) error {
	m := message{kind: ofStep, step: int64(step), length: int64(len(sample))}
	if l.ClipNorm != nil {
		m.clipNorm = math.Float64bits(l.ClipNorm())
	}
	if err := l.say(m); err != nil {
		return err
	}
	l.shared = time.Now()
	// One message, because each takes a while however short it is.
	l.body = append(append(l.body[:0], bytesOf(l.Parameters)...), bytesOf(sample)...)
	return l.Broadcast(l.body)
}

// Reduce implements [release.Ranks]: it adds the others' values to values. Errors say how long it
// waited. That is a whole multiple of the least patience, because how long rank 0 worked at its own
// part would tell how large the sample is.
func (l *Leader) Reduce(values []int64) error {
	times := 1 + slower*time.Since(l.shared)/l.Patience
	return l.Group.Reduce(values, times*l.Patience)
}

// Centre sends the released mean to the other ranks, which subtract it from their features.
func (l *Leader) Centre(mean []float32) error {
	if err := l.say(message{kind: ofMean, length: int64(len(mean))}); err != nil {
		return err
	}
	return l.Broadcast(bytesOf(mean))
}

// Dismiss lets the others go: there is no further step.
func (l *Leader) Dismiss() error { return l.say(message{kind: ofEnd}) }

// say broadcasts m, the beginning of a message.
func (l *Leader) say(m message) error { return l.Broadcast(bytesOf([]message{m})) }
