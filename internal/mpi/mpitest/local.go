package mpitest

import (
	"fmt"
	"sync"
	"time"

	"dpsgd/internal/mpi"
)

// Local returns a group whose ranks are goroutines of this process, the rank numbers being the indices.
// After Abort every call of every rank fails.
func Local(size int) []mpi.Group {
	shared := &exchange{arrivals: make([]chan arrival, size), orders: make([]chan []byte, size), taken: make(chan struct{}, size), ended: make(chan struct{})}
	ranks := make([]mpi.Group, size)
	for r := range ranks {
		shared.arrivals[r], shared.orders[r] = make(chan arrival), make(chan []byte)
		ranks[r] = &local{shared, r}
	}
	return ranks
}

// exchange is what the ranks of a local group share.
type exchange struct {
	orders   []chan []byte  // from rank 0 to each rank
	arrivals []chan arrival // from each rank to rank 0
	taken    chan struct{}  // a rank has copied an order
	ended    chan struct{}  // is closed by the first Abort
	once     sync.Once
}

// arrival is the part of a sum that a rank brings. It may be reused once read is closed.
type arrival struct {
	values []int64
	read   chan struct{}
}

type local struct {
	*exchange
	rank int
}

func (l *local) Rank() int    { return l.rank }
func (l *local) Size() int    { return len(l.orders) }
func (l *local) Close() error { return nil }
func (l *local) Abort(int)    { l.once.Do(func() { close(l.ended) }) }

func (l *local) lost() error {
	return fmt.Errorf("group: rank %d: the group has ended: %w", l.rank, mpi.ErrLost)
}

func (l *local) Broadcast(b []byte) error {
	if l.rank > 0 {
		select {
		case order := <-l.orders[l.rank]:
			if len(order) != len(b) {
				return fmt.Errorf("group: rank %d: rank 0 says %d bytes, expected %d", l.rank, len(order), len(b))
			}
			copy(b, order)
			l.taken <- struct{}{}
			return nil
		case <-l.ended:
			return l.lost()
		}
	}
	for r := 1; r < l.Size(); r++ {
		select {
		case l.orders[r] <- b:
		case <-l.ended:
			return l.lost()
		}
	}
	for range l.Size() - 1 {
		select {
		case <-l.taken:
		case <-l.ended:
			return l.lost()
		}
	}
	return nil
}

func (l *local) Reduce(values []int64, patience time.Duration) error {
	if l.rank > 0 {
		a := arrival{values, make(chan struct{})}
		select {
		case l.arrivals[l.rank] <- a:
			<-a.read
			return nil
		case <-l.ended:
			return l.lost()
		}
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for r := 1; r < l.Size(); r++ {
		select {
		case a := <-l.arrivals[r]:
			if err := a.addTo(values, r); err != nil {
				return err
			}
		case <-l.ended:
			return l.lost()
		case <-late.C:
			return &mpi.Missing{Ranks: l.missing(r), Size: l.Size(), Patience: patience}
		}
	}
	return nil
}

// addTo adds what rank r brings.
func (a arrival) addTo(values []int64, r int) error {
	defer close(a.read)
	if len(a.values) != len(values) {
		return fmt.Errorf("group: rank %d brings %d values, expected %d", r, len(a.values), len(values))
	}
	for i, v := range a.values {
		values[i] += v
	}
	return nil
}

// missing returns the ranks, of this one and those after it, that have not come.
func (l *local) missing(from int) (ranks []int) {
	for r := from; r < l.Size(); r++ {
		select {
		case a := <-l.arrivals[r]:
			close(a.read)
		default:
			ranks = append(ranks, r)
		}
	}
	return ranks
}
