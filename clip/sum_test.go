package clip

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestSumAddsAndLeavesOnce(t *testing.T) {
	s := NewSum(0.5, 3)
	for _, partial := range [][]float32{{1, 2, 3}, {0.25, -2, 0x1p-100}} {
		if err := s.Add(partial); err != nil {
			t.Fatal(err)
		}
	}
	values, bound, err := s.Release()
	if want := []float64{1.25, 0, 3 + 0x1p-100}; err != nil || bound != 0.5 || !slices.Equal(values, want) {
		t.Errorf("Release() = %v, %g, %v, want %v, 0.5, nil", values, bound, err, want)
	}
	if values, _, err := s.Release(); !errors.Is(err, ErrReleased) || values != nil {
		t.Errorf("second Release: values %v, error %v, want none and %v", values, err, ErrReleased)
	}
	if err := s.Add([]float32{1, 2, 3}); !errors.Is(err, ErrReleased) {
		t.Errorf("Add after Release: error is %v, want %v", err, ErrReleased)
	}
	if s.values != nil {
		t.Error("the sum still holds its values after Release")
	}
}

// A logical batch without examples is released like any other.
func TestEmptySumIsZero(t *testing.T) {
	values, bound, err := NewSum(2, 4).Release()
	if err != nil || bound != 2 || !slices.Equal(values, make([]float64, 4)) {
		t.Errorf("Release() = %v, %g, %v, want zeros, 2, nil", values, bound, err)
	}
}

// Float64 accumulation: float32 would lose every one of these.
func TestSumAccumulatesInFloat64(t *testing.T) {
	s := NewSum(1, 1)
	for _, v := range append([]float32{0x1p24}, slices.Repeat([]float32{1}, 1000)...) {
		if err := s.Add([]float32{v}); err != nil {
			t.Fatal(err)
		}
	}
	if values, _, _ := s.Release(); values[0] != 0x1p24+1000 {
		t.Errorf("sum is %.0f, want %.0f", values[0], 0x1p24+1000)
	}
}

// A sum with something wrong in it is never released, whatever is added after.
func TestBrokenSumIsNeverReleased(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name    string
		sum     *Sum
		partial []float32
		want    error
	}{
		{"too short", NewSum(1, 2), []float32{1}, ErrLength},
		{"too long", NewSum(1, 2), []float32{1, 2, 3}, ErrLength},
		{"missing", NewSum(1, 2), nil, ErrLength},
		{"NaN", NewSum(1, 2), []float32{1, nan}, ErrNotFinite},
		{"+Inf", NewSum(1, 2), []float32{inf, 1}, ErrNotFinite},
		{"-Inf", NewSum(1, 2), []float32{1, -inf}, ErrNotFinite},
		{"infinities that cancel", NewSum(1, 2), []float32{inf, -inf}, ErrNotFinite},
		{"no values", NewSum(1, 0), nil, ErrLength},
		{"negative length", NewSum(1, -1), nil, ErrLength},
		{"bound 0", NewSum(0, 2), []float32{1, 2}, nil},
		{"bound negative", NewSum(-1, 2), []float32{1, 2}, nil},
		{"bound NaN", NewSum(math.NaN(), 2), []float32{1, 2}, nil},
		{"bound infinite", NewSum(math.Inf(1), 2), []float32{1, 2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := c.sum.Add(c.partial)
			if first == nil || c.want != nil && !errors.Is(first, c.want) {
				t.Fatalf("Add: error is %v, want %v", first, c.want)
			}
			if again := c.sum.Add([]float32{1, 2}); again != first {
				t.Errorf("next Add: error is %v, want the first one", again)
			}
			if values, _, err := c.sum.Release(); err != first || values != nil {
				t.Errorf("Release: values %v, error %v, want none and the first one", values, err)
			}
		})
	}
}

func ExampleSum() {
	policy := Flat{ClipNorm: 1}
	sum := NewSum(policy.Bound(), 2)
	for _, physicalBatch := range [][]float32{{0.5, 0.5}, {0.25, -1}} { // clipped sums, from the graph
		if err := sum.Add(physicalBatch); err != nil {
			panic(err)
		}
	}
	values, bound, err := sum.Release()
	fmt.Println(values, bound, err)
	_, _, err = sum.Release()
	fmt.Println(err)
	// Output:
	// [0.75 -0.5] 1 <nil>
	// clip: sum already released
}
