package mpi

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Group is the ranks of a run, seen from one of them. All ranks make the same calls in the same
// order, each from one goroutine at a time.
type Group interface {
	// Rank is the number of this process, from 0.
	Rank() int
	// Size is how many ranks there are.
	Size() int
	// Broadcast copies b of rank 0 into b of every other rank. All slices have the same length.
	Broadcast(b []byte) error
	// Reduce replaces values of rank 0 by the sum of the values of all ranks, and leaves anything
	// in the others. All slices have the same length. Rank 0 waits for the others no longer than
	// patience, which other ranks ignore; then its error is a [Missing].
	Reduce(values []int64, patience time.Duration) error
	// Abort ends the processes of all ranks with this exit status. It may return before they end.
	Abort(status int)
	// Close waits until all ranks call Close, and leaves the group.
	Close() error
}

// ErrLost is wrapped by errors about ranks that do not answer any more.
var ErrLost = errors.New("a rank is lost")

// Missing is the error of rank 0 if others do not come as long as it has patience.
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
