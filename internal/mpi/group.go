package mpi

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Group is the ranks of a run, seen from one of them. All ranks make the same calls in the same order,
// each from one goroutine at a time.
type Group interface {
	// Rank is the number of this process, from 0.
	Rank() int
	// Size is how many ranks there are.
	Size() int
	// Broadcast copies b of rank 0 into b of every other rank. All have the same length.
	Broadcast(b []byte) error
	// Reduce makes values of rank 0 the sum of those of all ranks, which have the same length; those of
	// the others are anything afterwards. Rank 0 waits for the others as long as patience, which is
	// ignored elsewhere; its error then is a [Missing].
	Reduce(values []int64, patience time.Duration) error
	// Abort ends the processes of all ranks with this exit status. It may return before they have ended.
	Abort(status int)
	// Close leaves the group, once nobody has anything to say any more.
	Close() error
}

// ErrLost is wrapped by errors about ranks that do not answer any more.
var ErrLost = errors.New("a rank is lost")

// Missing is the error of a rank 0 that has waited for others longer than it had patience.
type Missing struct {
	Ranks    []int // those that did not come
	Size     int
	Patience time.Duration
}

func (m *Missing) Error() string {
	names := make([]string, len(m.Ranks))
	for i, r := range m.Ranks {
		names[i] = fmt.Sprint(r)
	}
	noun := "rank "
	if len(names) > 1 {
		noun = "ranks "
	}
	return fmt.Sprintf("group: found nothing from %s%s of %d for %v, expected its part of a sum: %v", noun, strings.Join(names, ", "), m.Size, m.Patience, ErrLost)
}

// Unwrap returns [ErrLost].
func (m *Missing) Unwrap() error { return ErrLost }
