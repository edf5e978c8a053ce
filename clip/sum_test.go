package clip

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpsgd/internal/kernel"
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

// After Reset, the next logical batch: nothing of the last one is left, whether its memory came back or not, whether it
// was released, dropped or broken.
func TestResetBeginsAnew(t *testing.T) {
	nan := float32(math.NaN())
	for name, before := range map[string]func(*Sum){
		"new":                            func(*Sum) {},
		"dropped":                        func(s *Sum) { s.Add([]float32{1, 2, 3}) },
		"released":                       func(s *Sum) { s.Add([]float32{1, 2, 3}); s.Release() },
		"recycled":                       func(s *Sum) { s.Add([]float32{1, 2, 3}); v, _, _ := s.Release(); s.Recycle(v) },
		"broken":                         func(s *Sum) { s.Add([]float32{1, nan, 3}) },
		"given memory of another length": func(s *Sum) { s.Release(); s.Recycle([]float64{7, 7}) },
	} {
		for _, partials := range [][][]float32{nil, {{4, 5, 6}}, {{4, 5, 6}, {1, 1, 1}}} {
			want := make([]float64, 3)
			s := NewSum(0.5, 3)
			before(s)
			s.Reset()
			for _, partial := range partials {
				if err := s.Add(partial); err != nil {
					t.Fatal(err)
				}
				for i, v := range partial {
					want[i] += float64(v)
				}
			}
			if values, bound, err := s.Release(); err != nil || bound != 0.5 || !slices.Equal(values, want) {
				t.Errorf("%s: Release() = %v, %g, %v, want %v, 0.5, nil", name, values, bound, err, want)
			}
		}
	}
	invalid := NewSum(0, 3)
	invalid.Reset()
	if _, _, err := invalid.Release(); err == nil {
		t.Error("Reset mended a sum without a bound")
	}
}

// Values that were released and not given back stay what they are, whatever is added after.
func TestReleasedValuesAreNotTheSum(t *testing.T) {
	s := NewSum(1, 2)
	if err := s.Add([]float32{1, 2}); err != nil {
		t.Fatal(err)
	}
	values, _, _ := s.Release()
	for range 3 {
		s.Reset()
		if err := s.Add([]float32{5, 5}); err != nil {
			t.Fatal(err)
		}
		s.Release()
	}
	if !slices.Equal(values, []float64{1, 2}) {
		t.Errorf("released values became %v", values)
	}
}

// A partial may come in any parts that make up its length: the values are those of one part, on any number of threads.
func TestPartsAreAddedOnce(t *testing.T) {
	const dim = 3*addBlock + 5
	partial, want := make([]float32, dim), make([]float64, dim)
	for i := range partial {
		partial[i] = float32(math.Sin(float64(i)))
		want[i] = 2 * float64(partial[i])
	}
	for _, threads := range []int{1, 2, 3} {
		pool := kernel.NewPool(threads)
		for _, cuts := range [][]int{{}, {1}, {addBlock}, {0, 0, 7, dim - 1}, {addBlock - 1, 2*addBlock + 1}, {dim}} {
			s := NewParallelSum(1, dim, pool)
			for range 2 {
				var parts [][]float32
				from := 0
				for _, to := range append(cuts, dim) {
					parts, from = append(parts, partial[from:to]), to
				}
				if err := s.Add(parts...); err != nil {
					t.Fatal(err)
				}
			}
			if values, _, err := s.Release(); err != nil || !slices.Equal(values, want) {
				t.Errorf("%d threads, cut at %v: error %v, or other values", threads, cuts, err)
			}
		}
		pool.Close()
	}
}

// One value that is not finite is found wherever it is, in the first partial and in later ones.
func TestNotFiniteIsFoundEverywhere(t *testing.T) {
	const dim = 2*addBlock + 3
	pool := kernel.NewPool(2)
	defer pool.Close()
	s := NewParallelSum(1, dim, pool)
	for _, at := range []int{0, 1, 15, 16, addBlock - 1, addBlock, dim - 1} {
		for i, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			s.Reset()
			partial := slices.Repeat([]float32{math.MaxFloat32}, dim) // squares and sums are finite in float64
			for range i {
				if err := s.Add(partial); err != nil {
					t.Fatal(err)
				}
			}
			partial[at] = float32(bad)
			if err := s.Add(partial); !errors.Is(err, ErrNotFinite) {
				t.Fatalf("%g at %d: error is %v, want %v", bad, at, err, ErrNotFinite)
			}
			if values, _, err := s.Release(); !errors.Is(err, ErrNotFinite) || values != nil {
				t.Fatalf("%g at %d: released", bad, at)
			}
		}
	}
}

// A sum that is printed shows what is public.
func TestSumPrintsNoValues(t *testing.T) {
	s := NewSum(0.5, 1)
	if err := s.Add([]float32{12345}); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d", "%g"} {
		if got, want := fmt.Sprintf(format, s), "clip.Sum(1 values, bound 0.5)"; got != want {
			t.Errorf("%s prints %q, want %q", format, got, want)
		}
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

// Partial sums of a physical batch of mlp1000, 795,010 parameters, on one thread and on two; the first of a logical batch
// and the second.
//
//	go test -run '^$' -bench SumAdd -benchmem ./clip
func BenchmarkSumAdd(b *testing.B) {
	partial := make([]float32, 795_010)
	for _, threads := range []int{1, 2} {
		for _, name := range []string{"first", "second"} {
			b.Run(fmt.Sprintf("%s/threads=%d", name, threads), func(b *testing.B) {
				pool := kernel.NewPool(threads)
				defer pool.Close()
				s := NewParallelSum(1, len(partial), pool)
				b.ReportAllocs()
				for b.Loop() {
					if name == "first" {
						s.Reset()
					}
					if err := s.Add(partial); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(1e9*b.Elapsed().Seconds()/float64(b.N)/float64(len(partial)), "ns/parameter")
			})
		}
	}
}
