package accountant

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"dpsgd/accountant/mechanism"
)

func TestGroup(t *testing.T) {
	l := mustLedger(t,
		Entry{Gaussian{3}, 2}, Entry{Laplace{6}, 1}, Entry{TreeAggregation{9, 100}, 1},
		Entry{PoissonSampled{0.1, Gaussian{1}}, 500}, Entry{PoissonSampledGroup{0.1, 4, Gaussian{1}}, 5},
		Entry{RandomizedResponse{0.5, 4}, 2}, Entry{ZCDP{0}, 1}, Entry{NonPrivate{}, 1},
		Entry{SelfComposed{Gaussian{3}, 7}, 1}, Entry{composed(t, Laplace{3}, PoissonSampled{0.5, Laplace{2}}), 1},
		Entry{RepeatAndSelect{Gaussian{3}, 10, 1}, 1},
	)
	want := mustLedger(t,
		Entry{Gaussian{1}, 2}, Entry{Laplace{2}, 1}, Entry{TreeAggregation{3, 100}, 1},
		Entry{PoissonSampledGroup{0.1, 3, Gaussian{1}}, 500}, Entry{PoissonSampledGroup{0.1, 12, Gaussian{1}}, 5},
		Entry{SelfComposed{RandomizedResponse{0.5, 4}, 3}, 2}, Entry{ZCDP{0}, 1}, Entry{NonPrivate{}, 1},
		Entry{SelfComposed{Gaussian{1}, 7}, 1}, Entry{composed(t, Laplace{1}, PoissonSampledGroup{0.5, 3, Laplace{2}}), 1},
		Entry{RepeatAndSelect{Gaussian{1}, 10, 1}, 1},
	)
	before := l.Clone()
	got, err := Group(l, 3)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a group of 3 sees %v, %v\nwant %v", got.Entries(), err, want.Entries())
	}
	if !reflect.DeepEqual(l, before) {
		t.Errorf("the ledger changed to %v", l.Entries())
	}
	alone, err := Group(l, 1)
	if err != nil || !reflect.DeepEqual(alone, l) {
		t.Errorf("a group of one sees %v, %v, want the ledger", alone, err)
	}
	if err := alone.Add(Gaussian{1}, 1); err != nil || l.Count() != before.Count() {
		t.Errorf("a group of one shares the ledger: %v", err)
	}
}

// What has no exact share is rounded to the private side.
func TestGroupRounds(t *testing.T) {
	for size := 2; size < 2000; size++ {
		l, err := Group(mustLedger(t, Entry{Gaussian{0.7}, 1}, Entry{ZCDP{0.3}, 1}, Entry{ApproxDP{0.01, 1e-12}, 1}), size)
		if err != nil {
			t.Fatal(err)
		}
		n := float64(size)
		entries := l.Entries()
		if sigma := entries[0].Event.(Gaussian).NoiseMultiplier; !(math.FMA(sigma, n, -0.7) <= 0 && sigma >= 0.7/n*(1-1e-14)) {
			t.Fatalf("group of %d: σ=%v", size, sigma)
		}
		if rho := entries[1].Event.(ZCDP).Rho; !(rho > 0.3*n*n && rho < 0.3*n*n*(1+1e-14)) {
			t.Fatalf("group of %d: ρ=%v", size, rho)
		}
		// The sum of δe^{iε} for i < size (Vadhan 2017, in the proof of Lemma 2.2).
		delta := 1e-12 * math.Expm1(0.01*n) / math.Expm1(0.01)
		if g := entries[2].Event.(ApproxDP); !(g.Epsilon >= 0.01*n*(1-1e-15) && relative(g.Epsilon, 0.01*n) < 1e-14 && relative(g.Delta, delta) < 1e-12) {
			t.Fatalf("group of %d: %v, want about (%v, %v)", size, g, 0.01*n, delta)
		}
	}
}

func TestGroupAtTheEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event Event
		size  int
		want  Event
	}{
		{"noise lost in the group", Gaussian{5e-324}, 2, Gaussian{0}},
		{"rho overflows", ZCDP{1e300}, 1 << 30, NonPrivate{}},
		{"epsilon overflows", ApproxDP{1e308, 0}, 2, NonPrivate{}},
		{"delta at most 1", ApproxDP{10, 0.1}, 5, ApproxDP{50, 1}},
	} {
		l, err := Group(mustLedger(t, Entry{tt.event, 1}), tt.size)
		if err != nil || len(l.Entries()) != 1 || l.Entries()[0].Event != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, l, err, tt.want)
		}
	}
}

func TestGroupRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ledger *Ledger
		size   int
		want   error
	}{
		{"nil ledger", nil, 2, ErrInvalid},
		{"size 0", &Ledger{}, 0, ErrInvalid},
		{"size of groups overflows", mustLedger(t, Entry{PoissonSampledGroup{0.1, math.MaxInt, Gaussian{1}}, 1}), 2, ErrInvalid},
		{"fixed size", mustLedger(t, Entry{FixedSizeSampled{10, 1, Gaussian{1}}, 1}), 2, ErrUnsupported},
		{"truncated", mustLedger(t, Entry{TruncatedPoissonSampled{10, 0.1, 2, Gaussian{1}}, 1}), 2, ErrUnsupported},
		{"fixed size in a composition", mustLedger(t, Entry{composed(t, FixedSizeSampled{10, 1, Gaussian{1}}), 1}), 2, ErrUnsupported},
	} {
		if l, err := Group(tt.ledger, tt.size); !errors.Is(err, tt.want) || l != nil {
			t.Errorf("%s: %v, %v, want %v", tt.name, l, err, tt.want)
		}
	}
}

// Two records on two leaves of a tree of two sums are no worse off than on one leaf: the
// nodes move by (1, 1, 2) at most then, and by (2, 0, 2) with both on one.
func TestGroupOfATree(t *testing.T) {
	l, err := Group(mustLedger(t, Entry{TreeAggregation{1, 2}, 1}), 2)
	if err != nil {
		t.Fatal(err)
	}
	sigma := l.Entries()[0].Event.(TreeAggregation).NoiseMultiplier / math.Sqrt2 // 2 nodes for each record
	together, err := mechanism.GaussianEpsilon(1/math.Sqrt(4+0+4), 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	apart, err := mechanism.GaussianEpsilon(1/math.Sqrt(1+1+4), 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := mechanism.GaussianEpsilon(sigma, 1e-5)
	if err != nil || apart > together || relative(seen, together) > 1e-12 {
		t.Errorf("ε=%v, %v, together %v, apart %v", seen, err, together, apart)
	}
}
