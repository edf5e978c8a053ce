package kernel

import (
	"errors"
	"sync/atomic"
	"testing"
)

func TestParallelDoesEachOnce(t *testing.T) {
	counts := make([]atomic.Int32, 1000)
	if err := Each(len(counts), func(i int) error { counts[i].Add(1); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range counts {
		if n := counts[i].Load(); n != 1 {
			t.Errorf("index %d was done %d times", i, n)
		}
	}
	if err := Each(0, func(int) error { return errors.New("called") }); err != nil {
		t.Error(err)
	}
}

func TestParallelReturnsTheFirstError(t *testing.T) {
	late, early := errors.New("late"), errors.New("early")
	for range 100 {
		err := Each(64, func(i int) error {
			switch i {
			case 20:
				return early
			case 21, 40:
				return late
			}
			return nil
		})
		if err != early {
			t.Fatalf("got %v", err)
		}
	}
}
