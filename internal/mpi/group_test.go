package mpi_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dpsgd/internal/mpi"
	"dpsgd/internal/mpi/mpitest"
)

// everyRank does something as each rank of a local group and returns the errors. The first one ends
// the group: nobody waits for a rank that has given up.
func everyRank(size int, do func(mpi.Group) error) []error {
	errs := make([]error, size)
	var all sync.WaitGroup
	for r, g := range mpitest.Local(size) {
		all.Go(func() {
			if errs[r] = do(g); errs[r] != nil {
				g.Abort(1)
			}
		})
	}
	all.Wait()
	return errs
}

func talk(g mpi.Group) error { return errors.Join(mpitest.Talk(g), g.Close()) }

func TestLocalTalks(t *testing.T) {
	for _, size := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			if err := errors.Join(everyRank(size, talk)...); err != nil {
				t.Error(err)
			}
		})
	}
}

// wrong is a rank that mishears what rank 0 says, or brings another part of a sum than it should.
type wrong struct {
	mpi.Group
	hears, brings bool
}

func (w wrong) Broadcast(b []byte) error {
	err := w.Group.Broadcast(b)
	if w.hears && len(b) > 0 {
		b[0]++
	}
	return err
}

func (w wrong) Reduce(values []int64, patience time.Duration) error {
	if w.brings && len(values) > 0 {
		values[0]++
	}
	return w.Group.Reduce(values, patience)
}

// One rank that is wrong is found out, and nobody waits for it.
func TestWrongRanksAreFound(t *testing.T) {
	for rank := range 4 {
		for _, twin := range []wrong{{hears: true}, {brings: true}} {
			if rank == 0 && twin.hears {
				continue // rank 0 says what is heard
			}
			err := errors.Join(everyRank(4, func(g mpi.Group) error {
				if g.Rank() == rank {
					twin := twin
					twin.Group = g
					g = twin
				}
				return talk(g)
			})...)
			if err == nil || !strings.Contains(err.Error(), "found ") {
				t.Errorf("rank %d, %+v: found %v, expected what is wrong", rank, twin, err)
			}
		}
	}
}

// thenAbort ends the group once rank 0 has found what it looked for, so that nobody waits on.
func thenAbort(find func(mpi.Group) error) func(mpi.Group) error {
	return func(g mpi.Group) error {
		err := find(g)
		if g.Rank() == 0 {
			g.Abort(1)
		}
		return err
	}
}

// The clock of a bubble moves when all ranks wait, and so nobody is late because the machine is
// busy.
func TestLocalNamesWhoIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := errors.Join(everyRank(4, thenAbort(func(g mpi.Group) error { return mpitest.Late(g, 50*time.Millisecond) }))...)
		if err != nil {
			t.Error(err)
		}
	})
}

// Of several that are late all are named, and none that has come.
func TestLocalNamesAllWhoAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var found error
		everyRank(5, thenAbort(func(g mpi.Group) error {
			if g.Rank()%2 == 1 {
				return nil
			}
			err := g.Reduce([]int64{1}, 50*time.Millisecond)
			if g.Rank() == 0 {
				found = err
			}
			return err
		}))
		if want := "found nothing from ranks 1, 3 of 5 for 50ms"; found == nil || !strings.Contains(found.Error(), want) {
			t.Errorf("found %v, expected %q", found, want)
		}
	})
}

func TestLocalUnequal(t *testing.T) {
	if err := errors.Join(everyRank(3, thenAbort(mpitest.Unequal))...); err != nil {
		t.Error(err)
	}
}

// After Abort no call of any rank waits: all wait for rank 0 to speak, which waits for rank 2.
func TestLocalAbort(t *testing.T) {
	for r, err := range everyRank(3, func(g mpi.Group) error {
		switch g.Rank() {
		case 0:
			return g.Reduce(make([]int64, 1), time.Hour)
		case 1:
			return g.Broadcast(make([]byte, 1))
		}
		g.Abort(1)
		return g.Broadcast(make([]byte, 1))
	}) {
		if !errors.Is(err, mpi.ErrLost) {
			t.Errorf("rank %d: found %v, expected %v", r, err, mpi.ErrLost)
		}
	}
}
