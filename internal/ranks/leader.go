package ranks

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"dpsgd/internal/group"
	"dpsgd/release"
)

// Leader is rank 0 among the ranks of a group, from the moment at which all of them are ready: what the
// door of a run adds up its sums with.
type Leader struct {
	group.Group
	Processes  []int64        // number of the process of each rank, which launchers name
	parameters []float32      // of the run; every step begins with them
	clipNorm   func() float64 // of the step ahead, where it is learnt; nil elsewhere
	shared     time.Time      // when the sample of the step was told
	patience   time.Duration  // at least, with a rank that does not answer
	body       []byte         // of a message; secret
}

var _ release.Ranks = (*Leader)(nil)

// Patience is how long rank 0 waits at least for the part of a sum of another rank.
const Patience = 2 * time.Minute

// Gathering is how long it waits for the others to be ready: they read their data first.
const Gathering = 30 * time.Minute

// slower is by how much longer than rank 0 another rank may take for its part.
const slower = 20

// Lead tells the other ranks of a group what the run is, and waits until they are ready. Ranks that find
// another program or other data than rank 0 end the group. The parameters are the run's own. patience 0
// is [Patience].
func Lead(g group.Group, o Orders, parameters []float32, clipNorm func() float64, patience time.Duration) (*Leader, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("ranks: %w", err)
	}
	if err := g.Broadcast(bytesOf([]int64{int64(len(text))})); err != nil {
		return nil, err
	}
	if err := g.Broadcast(text); err != nil {
		return nil, err
	}
	processes := ready(g)
	if err := g.Reduce(processes, Gathering); err != nil {
		return nil, err
	}
	if patience == 0 {
		patience = Patience
	}
	return &Leader{Group: g, parameters: parameters, clipNorm: clipNorm, patience: patience, Processes: processes}, nil
}

// ready is what a rank says when it has its data: the number of its process, in its place.
func ready(g group.Group) []int64 {
	processes := make([]int64, g.Size())
	processes[g.Rank()] = int64(os.Getpid())
	return processes
}

// Share implements [release.Ranks]: with the sample go all public values that its sum depends on.
func (l *Leader) Share(step int, sample []int) error {
	m := message{kind: ofStep, step: int64(step), length: int64(len(sample))}
	if l.clipNorm != nil {
		m.clipNorm = math.Float64bits(l.clipNorm())
	}
	if err := l.say(m); err != nil {
		return err
	}
	l.shared = time.Now()
	// One message, because each takes a while however short it is.
	l.body = append(append(l.body[:0], bytesOf(l.parameters)...), bytesOf(sample)...)
	return l.Broadcast(l.body)
}

// Reduce implements [release.Ranks]. An error says how long it waited, and so that is a whole multiple of
// the least patience: how long rank 0 worked at its part would tell how large the sample is.
func (l *Leader) Reduce(values []int64) error {
	times := 1 + slower*time.Since(l.shared)/l.patience
	return l.Group.Reduce(values, times*l.patience)
}

// Centre lets the others subtract the released mean from all features.
func (l *Leader) Centre(mean []float32) error {
	if err := l.say(message{kind: ofMean, length: int64(len(mean))}); err != nil {
		return err
	}
	return l.Broadcast(bytesOf(mean))
}

// Dismiss lets the others go: there is no further step.
func (l *Leader) Dismiss() error { return l.say(message{kind: ofEnd}) }

func (l *Leader) say(m message) error {
	return l.Broadcast(bytesOf([]message{m}))
}
