package accountant_test

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/theorems"
	"dpsgd/internal/tiny"
)

func TestGroup(t *testing.T) {
	l := accounttest.Ledger(t,
		accountant.Entry{accountant.Gaussian{3}, 2}, accountant.Entry{accountant.Laplace{6}, 1}, accountant.Entry{accountant.TreeAggregation{9, 100}, 1},
		accountant.Entry{accountant.PoissonSampled{0.1, accountant.Gaussian{1}}, 500}, accountant.Entry{accountant.PoissonSampledGroup{0.1, 4, accountant.Gaussian{1}}, 5},
		accountant.Entry{accountant.RandomizedResponse{0.5, 4}, 2}, accountant.Entry{accountant.ZCDP{0}, 1}, accountant.Entry{accountant.NonPrivate{}, 1},
		accountant.Entry{accountant.SelfComposed{accountant.Gaussian{3}, 7}, 1}, accountant.Entry{accounttest.Composed(t, accountant.Laplace{3}, accountant.PoissonSampled{0.5, accountant.Laplace{2}}), 1},
		accountant.Entry{accountant.RepeatAndSelect{accountant.Gaussian{3}, 10, 1}, 1},
		accountant.Entry{accountant.DiscreteLaplace{6, 5}, 1}, accountant.Entry{accountant.DiscreteGaussian{6, 5}, 1}, accountant.Entry{accountant.BoundedRange{0.5}, 1}, accountant.Entry{accountant.AddOrRemoveDP{0.5, 0}, 1},
	)
	want := accounttest.Ledger(t,
		accountant.Entry{accountant.Gaussian{1}, 2}, accountant.Entry{accountant.Laplace{2}, 1}, accountant.Entry{accountant.TreeAggregation{3, 100}, 1},
		accountant.Entry{accountant.PoissonSampledGroup{0.1, 3, accountant.Gaussian{1}}, 500}, accountant.Entry{accountant.PoissonSampledGroup{0.1, 12, accountant.Gaussian{1}}, 5},
		accountant.Entry{accountant.SelfComposed{accountant.RandomizedResponse{0.5, 4}, 3}, 2}, accountant.Entry{accountant.ZCDP{0}, 1}, accountant.Entry{accountant.NonPrivate{}, 1},
		accountant.Entry{accountant.SelfComposed{accountant.Gaussian{1}, 7}, 1}, accountant.Entry{accounttest.Composed(t, accountant.Laplace{1}, accountant.PoissonSampledGroup{0.5, 3, accountant.Laplace{2}}), 1},
		accountant.Entry{accountant.RepeatAndSelect{accountant.Gaussian{1}, 10, 1}, 1},
		accountant.Entry{accountant.DiscreteLaplace{2, 15}, 1}, accountant.Entry{accountant.DiscreteGaussian{2, 0}, 1}, accountant.Entry{accountant.BoundedRange{1.5}, 1}, accountant.Entry{accountant.AddOrRemoveDP{1.5, 0}, 1},
	)
	before := l.Clone()
	got, err := accountant.Group(l, 3)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a group of 3 sees %v, %v\nwant %v", got.Entries(), err, want.Entries())
	}
	if !reflect.DeepEqual(l, before) {
		t.Errorf("the ledger changed to %v", l.Entries())
	}
	alone, err := accountant.Group(l, 1)
	if err != nil || !reflect.DeepEqual(alone, l) {
		t.Errorf("a group of one sees %v, %v, want the ledger", alone, err)
	}
	if err := alone.Add(accountant.Gaussian{1}, 1); err != nil || l.Count() != before.Count() {
		t.Errorf("a group of one shares the ledger: %v", err)
	}
}

// What has no exact share is rounded to the private side.
func TestGroupRounds(t *testing.T) {
	for size := 2; size < 2000; size++ {
		l := tiny.Must(accountant.Group(accounttest.Ledger(t, accountant.Entry{accountant.Gaussian{0.7}, 1}, accountant.Entry{accountant.ZCDP{0.3}, 1}, accountant.Entry{accountant.ApproxDP{0.01, 1e-12}, 1}), size))(t)
		n := float64(size)
		entries := l.Entries()
		if sigma := entries[0].Event.(accountant.Gaussian).NoiseMultiplier; !(math.FMA(sigma, n, -0.7) <= 0 && sigma >= 0.7/n*(1-1e-14)) {
			t.Fatalf("group of %d: σ=%v", size, sigma)
		}
		if rho := entries[1].Event.(accountant.ZCDP).Rho; !(rho > 0.3*n*n && rho < 0.3*n*n*(1+1e-14)) {
			t.Fatalf("group of %d: ρ=%v", size, rho)
		}
		// The sum of δe^{iε} for i < size (Vadhan 2017, in the proof of Lemma 2.2).
		delta := 1e-12 * math.Expm1(0.01*n) / math.Expm1(0.01)
		if g := entries[2].Event.(accountant.ApproxDP); !(g.Epsilon >= 0.01*n*(1-1e-15) && accounttest.Relative(g.Epsilon, 0.01*n) < 1e-14 && accounttest.Relative(g.Delta, delta) < 1e-12) {
			t.Fatalf("group of %d: %v, want about (%v, %v)", size, g, 0.01*n, delta)
		}
	}
}

func TestGroupAtTheEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event accountant.Event
		size  int
		want  accountant.Event
	}{
		{"noise lost in the group", accountant.Gaussian{5e-324}, 2, accountant.Gaussian{0}},
		{"rho overflows", accountant.ZCDP{1e300}, 1 << 30, accountant.NonPrivate{}},
		{"epsilon overflows", accountant.ApproxDP{1e308, 0}, 2, accountant.NonPrivate{}},
		{"delta at most 1", accountant.ApproxDP{10, 0.1}, 5, accountant.ApproxDP{50, 1}},
		{"range overflows", accountant.BoundedRange{1e308}, 2, accountant.NonPrivate{}},
		{"epsilon of one record overflows", accountant.AddOrRemoveDP{1e308, 0}, 2, accountant.NonPrivate{}},
	} {
		l, err := accountant.Group(accounttest.Ledger(t, accountant.Entry{tt.event, 1}), tt.size)
		if err != nil || len(l.Entries()) != 1 || l.Entries()[0].Event != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, l, err, tt.want)
		}
	}
}

func TestGroupRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ledger *accountant.Ledger
		size   int
		want   error
	}{
		{"nil ledger", nil, 2, accountant.ErrInvalid},
		{"size 0", &accountant.Ledger{}, 0, accountant.ErrInvalid},
		{"sensitivity overflows", accounttest.Ledger(t, accountant.Entry{accountant.DiscreteLaplace{1, math.MaxInt}, 1}), 2, accountant.ErrInvalid},
		{"size of groups overflows", accounttest.Ledger(t, accountant.Entry{accountant.PoissonSampledGroup{0.1, math.MaxInt, accountant.Gaussian{1}}, 1}), 2, accountant.ErrInvalid},
		{"fixed size", accounttest.Ledger(t, accountant.Entry{accountant.FixedSizeSampled{10, 1, accountant.Gaussian{1}}, 1}), 2, accountant.ErrUnsupported},
		{"truncated", accounttest.Ledger(t, accountant.Entry{accountant.TruncatedPoissonSampled{10, 0.1, 2, accountant.Gaussian{1}}, 1}), 2, accountant.ErrUnsupported},
		{"turns", accounttest.Ledger(t, accountant.Entry{accountant.CyclicSampled{3, accountant.Gaussian{1}}, 1}), 2, accountant.ErrUnsupported},
		{"epochs", accounttest.Ledger(t, accountant.Entry{accountant.BallsInBins{3, accountant.Gaussian{1}}, 1}), 2, accountant.ErrUnsupported},
		{"smooth", accounttest.Ledger(t, accountant.Entry{accountant.SmoothGaussian{0.1, 1}, 1}), 2, accountant.ErrUnsupported},
		{"fixed size in a composition", accounttest.Ledger(t, accountant.Entry{accounttest.Composed(t, accountant.FixedSizeSampled{10, 1, accountant.Gaussian{1}}), 1}), 2, accountant.ErrUnsupported},
	} {
		if l, err := accountant.Group(tt.ledger, tt.size); !errors.Is(err, tt.want) || l != nil {
			t.Errorf("%s: %v, %v, want %v", tt.name, l, err, tt.want)
		}
	}
}

// Two records on two leaves of a tree of two sums are no worse off than on one leaf: the
// nodes move by (1, 1, 2) at most then, and by (2, 0, 2) with both on one.
func TestGroupOfATree(t *testing.T) {
	l := tiny.Must(accountant.Group(accounttest.Ledger(t, accountant.Entry{accountant.TreeAggregation{1, 2}, 1}), 2))(t)
	sigma := l.Entries()[0].Event.(accountant.TreeAggregation).NoiseMultiplier / math.Sqrt2 // 2 nodes for each record
	together := tiny.Must(theorems.GaussianEpsilon(1/math.Sqrt(4+0+4), 1e-5))(t)
	apart := tiny.Must(theorems.GaussianEpsilon(1/math.Sqrt(1+1+4), 1e-5))(t)
	seen, err := theorems.GaussianEpsilon(sigma, 1e-5)
	if err != nil || apart > together || accounttest.Relative(seen, together) > 1e-12 {
		t.Errorf("ε=%v, %v, together %v, apart %v", seen, err, together, apart)
	}
}
