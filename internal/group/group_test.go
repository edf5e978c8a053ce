package group_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsgd/internal/group"
	"dpsgd/internal/group/grouptest"
)

// everyRank does something as each rank of a local group and returns the errors.
func everyRank(size int, do func(group.Group) error) []error {
	errs := make([]error, size)
	var all sync.WaitGroup
	for r, g := range group.Local(size) {
		all.Go(func() { errs[r] = do(g) })
	}
	all.Wait()
	return errs
}

func TestLocalTalks(t *testing.T) {
	for _, size := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			if err := errors.Join(everyRank(size, func(g group.Group) error { return errors.Join(grouptest.Talk(g), g.Close()) })...); err != nil {
				t.Error(err)
			}
		})
	}
}

// thenAbort ends the group once rank 0 has found what it looked for, so that nobody waits on.
func thenAbort(find func(group.Group) error) func(group.Group) error {
	return func(g group.Group) error {
		err := find(g)
		if g.Rank() == 0 {
			g.Abort(1)
		}
		return err
	}
}

func TestLocalNamesWhoIsLate(t *testing.T) {
	err := errors.Join(everyRank(4, thenAbort(func(g group.Group) error { return grouptest.Late(g, 50*time.Millisecond) }))...)
	if err != nil {
		t.Error(err)
	}
}

// Of several that are late all are named, and none that has come.
func TestLocalNamesAllWhoAreLate(t *testing.T) {
	var found error
	everyRank(5, thenAbort(func(g group.Group) error {
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
}

func TestLocalUnequal(t *testing.T) {
	if err := errors.Join(everyRank(3, thenAbort(grouptest.Unequal))...); err != nil {
		t.Error(err)
	}
}

// After Abort no call of any rank waits: all wait for rank 0 to speak, which waits for rank 2.
func TestLocalAbort(t *testing.T) {
	for r, err := range everyRank(3, func(g group.Group) error {
		switch g.Rank() {
		case 0:
			return g.Reduce(make([]int64, 1), time.Hour)
		case 1:
			return g.Broadcast(make([]byte, 1))
		}
		g.Abort(1)
		return g.Broadcast(make([]byte, 1))
	}) {
		if !errors.Is(err, group.ErrLost) {
			t.Errorf("rank %d: found %v, expected %v", r, err, group.ErrLost)
		}
	}
}
