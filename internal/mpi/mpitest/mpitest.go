// Package mpitest tests the contract of [mpi.Group]. Every rank of a group calls its functions: as
// goroutines of a group that is here too ([Local]), or as processes under a launcher.
package mpitest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"dpsgd/internal/mpi"
)

// patience is longer than any test machine is busy with something else.
const patience = time.Minute

// Talk broadcasts and sums, round after round, what a run would, and what it would not: nothing,
// odd lengths, more than fits a message, the extremes of integers.
func Talk(g mpi.Group) error {
	if g.Rank() < 0 || g.Rank() >= g.Size() {
		return fmt.Errorf("found rank %d of %d", g.Rank(), g.Size())
	}
	for round, n := range []int{1, 0, 3, 1<<20 + 1, 7, 1<<21 - 1, 2, 0, 0, 5} {
		if err := errors.Join(broadcast(g, n, round), sum(g, n, round)); err != nil {
			return fmt.Errorf("rank %d of %d, round %d, %d values: %w", g.Rank(), g.Size(), round, n, err)
		}
	}
	for round := range 1000 { // sums alone, so that ranks may be ahead of each other
		if err := sum(g, 3, round); err != nil {
			return fmt.Errorf("rank %d of %d, sum %d in a row: %w", g.Rank(), g.Size(), round, err)
		}
	}
	for round := range 1000 {
		if err := broadcast(g, 3, round); err != nil {
			return fmt.Errorf("rank %d of %d, broadcast %d in a row: %w", g.Rank(), g.Size(), round, err)
		}
	}
	return extremes(g)
}

// broadcast checks that all hear what rank 0 says, and not what they said themselves.
func broadcast(g mpi.Group, n, round int) error {
	b, want := make([]byte, 3*n), make([]byte, 3*n)
	for i := range b {
		want[i] = byte(i*31 + i>>8 + round)
		b[i] = want[i] + byte(g.Rank())
	}
	if err := g.Broadcast(b); err != nil {
		return err
	}
	if !bytes.Equal(b, want) {
		return errors.New("found other bytes than those of rank 0")
	}
	return nil
}

// sum checks the sums at rank 0 of values that differ by rank, place and round.
func sum(g mpi.Group, n, round int) error {
	values := make([]int64, n)
	for i := range values {
		values[i] = part(g.Rank(), i, round)
	}
	if err := g.Reduce(values, patience); err != nil || g.Rank() > 0 {
		return err
	}
	for i, found := range values {
		var want int64
		for rank := range g.Size() {
			want += part(rank, i, round)
		}
		if found != want {
			return fmt.Errorf("found the sum %d at %d, expected %d", found, i, want)
		}
	}
	return nil
}

// part returns a rank's summand for a place and round: large, and of either sign.
func part(rank, i, round int) int64 {
	v := int64(rank+1) * (1<<40 + int64(i)*1_000_003 + int64(round))
	if (rank+i)%2 == 1 {
		return -v
	}
	return v
}

// extremes checks sums that reach the ends of int64 without passing them.
func extremes(g mpi.Group) error {
	values := []int64{0, 0, -1, int64(g.Rank())}
	if g.Rank() == g.Size()-1 {
		values = []int64{math.MaxInt64, math.MinInt64, -1, int64(g.Rank())}
	}
	if err := g.Reduce(values, patience); err != nil || g.Rank() > 0 {
		return err
	}
	n := int64(g.Size())
	if want := []int64{math.MaxInt64, math.MinInt64, -n, n * (n - 1) / 2}; !slices.Equal(values, want) {
		return fmt.Errorf("found the sums %v, expected %v", values, want)
	}
	return nil
}

// Late has all ranks but 0 and the last bring their parts of a sum. Rank 0 has to name the last
// one. Nobody can use the group afterwards.
func Late(g mpi.Group, patience time.Duration) error {
	if last := g.Size() - 1; g.Rank() > 0 && g.Rank() < last {
		_ = g.Reduce([]int64{1}, patience) // may fail when rank 0 ends the group
	}
	if g.Rank() > 0 {
		return nil
	}
	return NamesLast(g, g.Reduce([]int64{1}, patience))
}

// NamesLast checks that an error says that the last rank of a group is missing, and no other.
func NamesLast(g mpi.Group, err error) error {
	var missing *mpi.Missing
	if !errors.As(err, &missing) || !errors.Is(err, mpi.ErrLost) {
		return fmt.Errorf("found the error %w, expected one about a rank that is missing", err)
	}
	if want := []int{g.Size() - 1}; !slices.Equal(missing.Ranks, want) || missing.Size != g.Size() {
		return fmt.Errorf("found that ranks %v of %d are missing, expected %v", missing.Ranks, missing.Size, want)
	}
	return nil
}

// Unequal has the last rank bring another number of values. The error of rank 0 has to say so.
func Unequal(g mpi.Group) error {
	values := make([]int64, 4)
	if g.Rank() == g.Size()-1 {
		values = values[:3]
	}
	err := g.Reduce(values, patience)
	if g.Rank() > 0 {
		return nil
	}
	if want := fmt.Sprintf("rank %d brings 3 values, expected 4", g.Size()-1); err == nil || !bytes.HasSuffix([]byte(err.Error()), []byte(want)) {
		return fmt.Errorf("found the error %w, expected one that ends in %q", err, want)
	}
	return nil
}
