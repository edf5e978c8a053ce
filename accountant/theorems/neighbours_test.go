package theorems

import (
	"math"
	"testing"
)

// near reports whether two numbers are equal up to a relative tolerance.
func near(a, b, tolerance float64) bool { return a == b || math.Abs(a-b) <= tolerance*math.Abs(b) }

func TestPoissonSampled(t *testing.T) {
	for _, tt := range []struct {
		name string
		g    Guarantee
		q    float64
		want Guarantee
	}{
		{"everyone", Guarantee{0.3, 1e-6}, 1, Guarantee{0.3, 1e-6}},
		{"no one", Guarantee{math.Inf(1), 1}, 0, Guarantee{0, 0}},
		{"half", Guarantee{math.Log(3), 1e-6}, 0.5, Guarantee{math.Ln2, 5e-7}},
		{"small", Guarantee{1e-10, 0}, 1e-10, Guarantee{1.00000000005e-20, 0}},
		{"overflow", Guarantee{1000, 0}, 0.25, Guarantee{1000 - 2*math.Ln2, 0}},
		{"no guarantee", Guarantee{math.Inf(1), 0.5}, 0.5, Guarantee{math.Inf(1), 0.25}},
	} {
		got, err := PoissonSampled(tt.g, tt.q)
		if err != nil || !near(got.Epsilon, tt.want.Epsilon, 1e-14) || !near(got.Delta, tt.want.Delta, 1e-15) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

// Theorem 8 is tight: the randomized response whether a record is in the sample,
// run on samples, has exactly the epsilon of the theorem.
func TestPoissonSampledIsTight(t *testing.T) {
	for _, e := range []float64{0.01, 1, 5} {
		for _, q := range []float64{0.001, 0.3, 0.9} {
			truth, lie := 1/(1+math.Exp(-e)), 1/(1+math.Exp(e))
			want := math.Log((q*truth + (1-q)*lie) / lie)
			got, err := PoissonSampled(Guarantee{Epsilon: e}, q)
			if err != nil || math.Abs(got.Epsilon-want) > 1e-14 {
				t.Errorf("ε=%v, q=%v: epsilon %v, %v, randomized response has %v", e, q, got.Epsilon, err, want)
			}
		}
	}
}

func TestSampledWithoutReplacement(t *testing.T) {
	got, err := SampledWithoutReplacement(Guarantee{math.Log(3), 1e-6}, 60000, 15000)
	if want := (Guarantee{math.Log(1.5), 2.5e-7}); err != nil || !near(got.Epsilon, want.Epsilon, 1e-14) || !near(got.Delta, want.Delta, 1e-15) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := SampledWithoutReplacement(Guarantee{1, 1e-6}, 7, 7); err != nil || got != (Guarantee{1, 1e-6}) {
		t.Errorf("all records: %v, %v, want no change", got, err)
	}
}

func TestShuffleProperties(t *testing.T) {
	for _, local := range []float64{0.1, 1, 3} {
		for _, n := range []int{100, 3000, 100000} {
			for _, delta := range []float64{1e-3, 1e-6, 1e-12} {
				shuffle := func(local float64, n int, delta float64) float64 {
					e, err := Shuffle(local, n, delta)
					if err != nil {
						t.Fatal(err)
					}
					return e
				}
				got := shuffle(local, n, delta)
				if got > local {
					t.Errorf("l=%v, n=%d: epsilon %v, above the local one", local, n, got)
				}
				for name, other := range map[string]float64{
					"more reports":            shuffle(local, n+n/10, delta),
					"a smaller local epsilon": shuffle(local*0.95, n, delta),
					"a larger delta":          shuffle(local, n, delta*2),
				} {
					if other > got*(1+1e-10) {
						t.Errorf("l=%v, n=%d, delta=%v: epsilon %v, but %v with %s", local, n, delta, got, other, name)
					}
				}
				if back, err := ShuffleDelta(local, n, got*(1+1e-7)); err != nil || back > delta {
					t.Errorf("l=%v, n=%d: delta %v at %v, %v, want at most %v", local, n, back, got, err, delta)
				}
			}
		}
	}
	for _, tt := range []struct{ local, delta, want float64 }{{0, 0, 0}, {2, 1, 0}, {2, 0, 2}, {2, 1e-300, 2}} {
		if got, err := Shuffle(tt.local, 1000, tt.delta); err != nil || got != tt.want {
			t.Errorf("l=%v, delta=%v: epsilon %v, %v, want %v", tt.local, tt.delta, got, err, tt.want)
		}
	}
}

// Shuffles of billions of reports take part of a second, and what is cut off there
// is on the private side: epsilon falls like 1/√n, or a little faster, up to the cut.
func TestShuffleHuge(t *testing.T) {
	small, err := Shuffle(2, 1e8, 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	large, err := Shuffle(2, 1e10, 1e-9)
	if err != nil || !(large > small/12 && large < small/10) {
		t.Errorf("epsilon %v for 1e10 reports, %v, want about an eleventh of the %v for 1e8", large, err, small)
	}
	huge, err := Shuffle(2, 1e12, 1e-9)
	if err != nil || !(huge > 0 && huge < large) {
		t.Errorf("epsilon %v for 1e12 reports, %v, want below %v", huge, err, large)
	}
}
