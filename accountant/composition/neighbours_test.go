package composition

import (
	"math"
	"testing"

	"dpsgd/accountant/internal/numeric"
)

func TestGroup(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		name string
		g    Guarantee
		k    int
		want Guarantee
	}{
		{"one", Guarantee{0.3, 1e-6}, 1, Guarantee{0.3, 1e-6}},
		{"two", Guarantee{0.5, 1e-6}, 2, Guarantee{1, 1e-6 * (1 + math.Exp(0.5))}},
		{"pure", Guarantee{0.5, 0}, 1000, Guarantee{500, 0}},
		{"epsilon 0", Guarantee{0, 1e-6}, 5, Guarantee{0, 5e-6}},
		{"next to epsilon 0", Guarantee{1e-12, 1e-6}, 5, Guarantee{5e-12, 5e-6 * (1 + 2e-12)}},
		{"delta at most 1", Guarantee{1, 1e-3}, 50, Guarantee{50, 1}},
		{"overflow", Guarantee{1, 1e-3}, 5000, Guarantee{5000, 1}},
		{"a tiny delta times a large factor", Guarantee{700, 1e-320}, 2, Guarantee{1400, 1e-320 * math.Exp(700)}},
		{"no guarantee", Guarantee{inf, 0.1}, 2, Guarantee{inf, 1}},
		{"none, pure", Guarantee{inf, 0}, 2, Guarantee{inf, 0}},
	} {
		got, err := Group(tt.g, tt.k)
		if err != nil || !near(got.Epsilon, tt.want.Epsilon, 1e-15) || !near(got.Delta, tt.want.Delta, 1e-11) || got.Delta < tt.want.Delta*(1-1e-13) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

// near reports whether two numbers are equal up to a relative tolerance.
func near(a, b, tolerance float64) bool { return a == b || math.Abs(a-b) <= tolerance*math.Abs(b) }

// Groups of groups: 2^c records are 2 groups of 2^{c-1}, c times over.
func TestGroupRDP(t *testing.T) {
	alpha, rdp := 64.0, 0.05
	for range 3 {
		var err error
		if alpha, rdp, err = GroupRDP(alpha, rdp, 1); err != nil {
			t.Fatal(err)
		}
	}
	a, r, err := GroupRDP(64, 0.05, 3)
	if err != nil || a != alpha || r != rdp || a != 8 || !near(r, 27*0.05, 1e-14) {
		t.Errorf("(%v, %v), %v in one, (%v, %v) in three steps, want (8, %v)", a, r, err, alpha, rdp, 27*0.05)
	}
	if a, r, err := GroupRDP(1.5, 0.05, 0); a != 1.5 || r != 0.05 || err != nil {
		t.Errorf("one record: (%v, %v), %v, want no change", a, r, err)
	}
	// A Gaussian release with σ = 1 has divergence αs²/2 for records that move the sum
	// by s; the theorem must not promise more.
	for c := 1; c <= 5; c++ {
		a, r, err := GroupRDP(256, 128, c)
		if s := math.Ldexp(1, c); err != nil || r < a*s*s/2 {
			t.Errorf("c=%d: divergence %v at order %v, %v, but the Gaussian has %v", c, r, a, err, a*s*s/2)
		}
	}
}

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

func TestSampledWithReplacement(t *testing.T) {
	one := func(e, eta float64) float64 { return math.Log1p(eta * math.Expm1(e)) }
	for _, tt := range []struct {
		name     string
		g        Guarantee
		n, draws int
		delta    float64
		want     float64
	}{
		{"no draw", Guarantee{1, 1e-3}, 10, 0, 0, 0},
		{"one draw is a set of one", Guarantee{1, 1e-3}, 10, 1, 1e-4 * (1 + 1e-9), one(1, 0.1)},
		{"pure, at delta 0: every draw may be the record", Guarantee{0.5, 0}, 10, 4, 0, one(2, 1-math.Pow(0.9, 4))},
		{"not pure, at delta 0", Guarantee{0.5, 1e-9}, 10, 4, 0, math.Inf(1)},
		{"delta below what the deltas cost", Guarantee{0.5, 1e-3}, 10, 4, 1e-4, math.Inf(1)},
		{"one record, drawn twice, is a group of two", Guarantee{0.5, 0}, 1, 2, 1e-9, 1},
		{"any delta will do", Guarantee{math.Inf(1), 1}, 10, 4, 1, 0},
	} {
		got, err := SampledWithReplacement(tt.g, tt.n, tt.draws, tt.delta)
		if err != nil || !near(got, tt.want, 1e-8) || got < tt.want*(1-1e-8) {
			t.Errorf("%s: epsilon %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

// The formula of Theorem 10, summed as it stands and solved by bisection.
func TestSampledWithReplacementSlow(t *testing.T) {
	for _, g := range []Guarantee{{0.3, 0}, {1, 1e-7}, {2, 1e-5}} {
		for _, size := range [][2]int{{2, 3}, {50, 5}, {100, 250}} {
			n, draws := size[0], size[1]
			total := func(e float64) float64 {
				sum, miss := 0.0, 1-1/float64(n)
				mass := math.Pow(miss, float64(draws))
				for k := 1; k <= draws; k++ {
					mass *= float64(draws-k+1) / float64(k) / float64(n) / miss
					epsilon, delta := float64(k)*g.Epsilon, 0.0
					for i := range k {
						delta += g.Delta * math.Exp(float64(i)*g.Epsilon)
					}
					if delta = math.Min(1, delta); e < epsilon {
						delta += (1 - delta) * (math.Exp(epsilon) - math.Exp(e)) / (1 + math.Exp(epsilon))
					}
					sum += mass * delta
				}
				return sum
			}
			for _, delta := range []float64{0.1, 1e-2, 1e-3} {
				lo, hi := 0.0, float64(draws)*g.Epsilon
				if total(hi) > delta {
					continue
				}
				for range 100 {
					if m := (lo + hi) / 2; total(m) <= delta {
						hi = m
					} else {
						lo = m
					}
				}
				want := math.Log1p((1 - math.Pow(1-1/float64(n), float64(draws))) * math.Expm1(hi))
				got, err := SampledWithReplacement(g, n, draws, delta)
				if err != nil || !between(got, want, 1e-9) {
					t.Errorf("%v, %d draws of %d: epsilon %v, %v, want %v at %v", g, draws, n, got, err, want, delta)
				}
			}
		}
	}
}

// geometric is the two-sided geometric mechanism on a count, one number for every
// answer from -60 to 60 around it: (e, 0)-private if the count moves by 1.
func geometric(count int, e float64) []float64 {
	masses := make([]float64, 128)
	for i := range masses {
		masses[i] = math.Tanh(e/2) * math.Exp(-e*math.Abs(float64(i-60-count)))
	}
	return masses
}

// A mechanism that knows no theorem, on lists drawn with replacement from a dataset
// with one 1 and from one with none: its true delta is within the bound.
func TestSampledWithReplacementHolds(t *testing.T) {
	const n, draws = 3, 4
	for _, e := range []float64{0.2, 1, 2} {
		for _, delta := range []float64{0.2, 0.02, 1e-3} {
			epsilon, err := SampledWithReplacement(Guarantee{Epsilon: e}, n, draws, delta)
			if err != nil {
				t.Fatal(err)
			}
			count := numeric.Binomial{N: draws, P: 1.0 / n, Q: 1 - 1.0/n}
			p, q := make([]float64, 128), geometric(0, e)
			for k := range draws + 1 {
				for i, m := range geometric(k, e) {
					p[i] += math.Exp(count.LogMass(k)) * m
				}
			}
			there, back := 0.0, 0.0
			for i := range p {
				there += math.Max(0, p[i]-math.Exp(epsilon)*q[i])
				back += math.Max(0, q[i]-math.Exp(epsilon)*p[i])
			}
			if worst := math.Max(there, back); worst > delta {
				t.Errorf("ε=%v: delta %v at %v, the theorem promises %v", e, worst, epsilon, delta)
			}
		}
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
				if closed, err := ShuffleClosedForm(local, n, delta); err == nil && got > closed {
					t.Errorf("l=%v, n=%d: epsilon %v, above the closed form %v", local, n, got, closed)
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
