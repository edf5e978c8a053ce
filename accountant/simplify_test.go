package accountant_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/tiny"
)

// An epoch counts for each event that one of its steps has, whatever is in the ledger and in what
// order, also where another run joins it or it is one event. Which epochs a step is in follows from
// the turns before it.
func TestEpochsThatChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		bins := 2 + rng.IntN(9)
		var l, joined, composed accountant.Ledger
		epochs, turn := map[accountant.Event]map[int]bool{}, 0
		for range 1 + rng.IntN(6) {
			e := accountant.BallsInBins{Bins: bins, Event: accountant.Gaussian{NoiseMultiplier: float64(1 + rng.IntN(3))}}
			if epochs[e] == nil {
				epochs[e] = map[int]bool{}
			}
			n := rng.IntN(3 * bins)
			for range n {
				epochs[e][turn/bins] = true
				turn++
			}
			tiny.Check(t, l.Add(e, n))
			tiny.Check(t, l.Add(accountant.Laplace{Scale: 1}, rng.IntN(2))) // no turn
		}
		tiny.Check(t, joined.Join(&l))
		tiny.Check(t, composed.Add(tiny.Must(l.Composed())(t), 1))
		for _, l := range []*accountant.Ledger{&l, &joined, &composed} {
			found := map[accountant.Event]int{}
			for _, entry := range tiny.Must(accountant.Simplify(l))(t).Entries {
				found[entry.Event] = entry.Count
			}
			for e, of := range epochs {
				if found[e] < len(of) {
					t.Errorf("%v of %v: found %d epochs, expected at least %d", e, l.Entries(), found[e], len(of))
				}
			}
		}
	}
	// 3 steps, and 10 of other noise, which end in the next epoch; as many that do not.
	for n, want := range map[int]int{3: 1, 7: 1, 8: 2, 10: 2, 17: 2, 18: 3} {
		a, b := accountant.BallsInBins{10, accountant.Gaussian{1}}, accountant.BallsInBins{10, accountant.Gaussian{2}}
		got := tiny.Must(accountant.Simplify(accounttest.Ledger(t, accountant.Entry{a, 3}, accountant.Entry{b, n})))(t)
		if !reflect.DeepEqual(got.Entries, []accountant.Entry{{a, 1}, {b, want}}) {
			t.Errorf("3 and %d steps: found %v, expected 1 and %d epochs", n, got.Entries, want)
		}
	}
}

func TestSimplify(t *testing.T) {
	sampled := accountant.PoissonSampled{0.1, accountant.Gaussian{1}}
	nonPrivate := accountant.Releases{NonPrivate: true}
	for _, tt := range []struct {
		name    string
		entries []accountant.Entry
		want    accountant.Releases
	}{
		{"nothing", nil, accountant.Releases{}},
		{"one of each kind", []accountant.Entry{{accountant.Gaussian{1}, 1}, {accountant.Laplace{1}, 2}, {accountant.RandomizedResponse{0.5, 2}, 3}, {accountant.ApproxDP{1, 0.1}, 4}, {accountant.ZCDP{1}, 5}, {accountant.TreeAggregation{1, 9}, 6}, {sampled, 7}},
			accountant.Releases{Entries: []accountant.Entry{{accountant.Gaussian{1}, 1}, {accountant.Laplace{1}, 2}, {accountant.RandomizedResponse{0.5, 2}, 3}, {accountant.ApproxDP{1, 0.1}, 4}, {accountant.ZCDP{1}, 5}, {accountant.TreeAggregation{1, 9}, 6}, {sampled, 7}}}},
		{"equal events apart", []accountant.Entry{{accountant.Gaussian{1}, 2}, {accountant.Gaussian{2}, 1}, {accountant.Gaussian{1}, 3}}, accountant.Releases{Entries: []accountant.Entry{{accountant.Gaussian{1}, 5}, {accountant.Gaussian{2}, 1}}}},
		{"repeated", []accountant.Entry{{accountant.SelfComposed{accountant.Gaussian{1}, 5}, 3}}, accountant.Releases{Entries: []accountant.Entry{{accountant.Gaussian{1}, 15}}}},
		{"repeated repeatedly", []accountant.Entry{{accountant.SelfComposed{accountant.SelfComposed{accountant.Gaussian{1}, 5}, 2}, 3}, {accountant.Gaussian{1}, 1}}, accountant.Releases{Entries: []accountant.Entry{{accountant.Gaussian{1}, 31}}}},
		{"never", []accountant.Entry{{accountant.SelfComposed{accountant.NonPrivate{}, 0}, 3}}, accountant.Releases{}},
		{"composed", []accountant.Entry{{accounttest.Composed(t, accountant.Gaussian{1}, accountant.SelfComposed{accounttest.Composed(t, accountant.Laplace{1}, accountant.Gaussian{1}), 2}), 10}}, accountant.Releases{Entries: []accountant.Entry{{accountant.Gaussian{1}, 30}, {accountant.Laplace{1}, 20}}}},
		{"composed of nothing", []accountant.Entry{{accountant.Composed{}, 10}}, accountant.Releases{}},

		{"what costs nothing", []accountant.Entry{
			{accountant.RandomizedResponse{1, 9}, 1}, {accountant.RandomizedResponse{0, 1}, 1}, {accountant.ApproxDP{0, 0}, 1}, {accountant.ZCDP{0}, 1},
			{accountant.PoissonSampled{0, accountant.NonPrivate{}}, 1}, {accountant.PoissonSampledGroup{0, 3, accountant.NonPrivate{}}, 1}, {accountant.FixedSizeSampled{9, 0, accountant.NonPrivate{}}, 1},
			{accountant.TruncatedPoissonSampled{9, 0, 9, accountant.NonPrivate{}}, 1}, {accountant.TruncatedPoissonSampled{9, 1, 0, accountant.NonPrivate{}}, 1},
			{accountant.PoissonSampled{0.5, accountant.Composed{}}, 1}, {accountant.FixedSizeSampled{9, 3, accountant.ZCDP{0}}, 1}, {accountant.PoissonSampledGroup{0.1, 2, accountant.SelfComposed{accountant.NonPrivate{}, 0}}, 1},
			{accountant.TruncatedPoissonSampled{9, 0.5, 3, accountant.ApproxDP{0, 0}}, 1},
		}, accountant.Releases{}},
		{"no Gaussian noise", []accountant.Entry{{accountant.Gaussian{0}, 1}}, nonPrivate},
		{"no Laplace noise", []accountant.Entry{{accountant.Laplace{0}, 1}}, nonPrivate},
		{"no noise in a tree", []accountant.Entry{{accountant.TreeAggregation{0, 3}, 1}}, nonPrivate},
		{"true answers", []accountant.Entry{{accountant.RandomizedResponse{0, 2}, 1}}, nonPrivate},
		{"delta 1", []accountant.Entry{{accountant.ApproxDP{0, 1}, 1}}, nonPrivate},
		{"delta 1 of one record", []accountant.Entry{{accountant.AddOrRemoveDP{0, 1}, 1}}, nonPrivate},
		{"no discrete noise", []accountant.Entry{{accountant.DiscreteLaplace{0, 1}, 1}, {accountant.DiscreteGaussian{0, 1}, 1}}, nonPrivate},
		{"no range", []accountant.Entry{{accountant.BoundedRange{0}, 1}, {accountant.AddOrRemoveDP{0, 0}, 1}}, accountant.Releases{}},
		{"non-private in a composition", []accountant.Entry{{accounttest.Composed(t, accountant.SelfComposed{accountant.NonPrivate{}, 1}), 1}}, nonPrivate},
		{"non-private, sampled", []accountant.Entry{{accountant.PoissonSampled{1e-9, accountant.Laplace{0}}, 1}}, nonPrivate},
		{"non-private, sampled for a group", []accountant.Entry{{accountant.PoissonSampledGroup{1e-9, 2, accountant.NonPrivate{}}, 1}}, nonPrivate},
		{"non-private, sampled in fixed size", []accountant.Entry{{accountant.FixedSizeSampled{9, 1, accountant.Gaussian{0}}, 1}}, nonPrivate},
		{"non-private, sampled and truncated", []accountant.Entry{{accountant.TruncatedPoissonSampled{9, 0.1, 1, accountant.NonPrivate{}}, 1}}, nonPrivate},
		{"non-private among others", []accountant.Entry{{accountant.Gaussian{1}, 1}, {accountant.NonPrivate{}, 1}}, accountant.Releases{Entries: []accountant.Entry{{accountant.Gaussian{1}, 1}}, NonPrivate: true}},

		{"turns", []accountant.Entry{{accountant.CyclicSampled{3, sampled}, 7}}, accountant.Releases{Entries: []accountant.Entry{{sampled, 3}}}},
		{"turns of two entries", []accountant.Entry{{accountant.CyclicSampled{3, sampled}, 7}, {accountant.Laplace{1}, 1}, {accountant.CyclicSampled{3, sampled}, 1}}, accountant.Releases{Entries: []accountant.Entry{{sampled, 4}, {accountant.Laplace{1}, 1}}}},
		{"turns, composed", []accountant.Entry{{accountant.SelfComposed{accountant.CyclicSampled{3, sampled}, 7}, 2}, {accounttest.Composed(t, accountant.CyclicSampled{3, sampled}, accountant.CyclicSampled{3, sampled}), 1}}, accountant.Releases{Entries: []accountant.Entry{{sampled, 8}}}},
		{"turns of a composition", []accountant.Entry{{accountant.CyclicSampled{4, accountant.SelfComposed{sampled, 5}}, 9}}, accountant.Releases{Entries: []accountant.Entry{{sampled, 15}}}},
		{"turns without noise", []accountant.Entry{{accountant.CyclicSampled{4, accountant.Gaussian{0}}, 9}}, nonPrivate},
		{"q=1", []accountant.Entry{{accountant.PoissonSampled{1, accountant.Gaussian{1}}, 3}, {accountant.Gaussian{1}, 1}}, accountant.Releases{Entries: []accountant.Entry{{accountant.Gaussian{1}, 4}}}},
		{"group of one", []accountant.Entry{{accountant.PoissonSampledGroup{0.1, 1, accountant.Gaussian{1}}, 3}, {sampled, 1}}, accountant.Releases{Entries: []accountant.Entry{{sampled, 4}}}},
		{"group of one, q=1", []accountant.Entry{{accountant.PoissonSampledGroup{1, 1, accountant.Laplace{1}}, 3}}, accountant.Releases{Entries: []accountant.Entry{{accountant.Laplace{1}, 3}}}},
		{"group of four, q=1", []accountant.Entry{{accountant.PoissonSampledGroup{1, 4, accountant.Gaussian{1}}, 3}}, accountant.Releases{Entries: []accountant.Entry{{accountant.Gaussian{0.25}, 3}}}},
		{"wrapping inside a sample", []accountant.Entry{{accountant.PoissonSampled{0.1, accountant.SelfComposed{accounttest.Composed(t, accountant.Gaussian{1}), 1}}, 3}, {sampled, 1}}, accountant.Releases{Entries: []accountant.Entry{{sampled, 4}}}},
		{"what costs nothing inside a sample", []accountant.Entry{{accountant.PoissonSampled{0.1, accounttest.Composed(t, accountant.Laplace{1}, accountant.ZCDP{0})}, 1}}, accountant.Releases{Entries: []accountant.Entry{{accountant.PoissonSampled{0.1, accountant.Laplace{1}}, 1}}}},
		{"wrapping inside other samples", []accountant.Entry{
			{accountant.PoissonSampledGroup{0.1, 2, accounttest.Composed(t, accountant.Gaussian{1})}, 1}, {accountant.FixedSizeSampled{9, 3, accounttest.Composed(t, accountant.Gaussian{1})}, 1}, {accountant.TruncatedPoissonSampled{9, 0.1, 3, accounttest.Composed(t, accountant.Gaussian{1})}, 1},
		}, accountant.Releases{Entries: []accountant.Entry{
			{accountant.PoissonSampledGroup{0.1, 2, accountant.Gaussian{1}}, 1}, {accountant.FixedSizeSampled{9, 3, accountant.Gaussian{1}}, 1}, {accountant.TruncatedPoissonSampled{9, 0.1, 3, accountant.Gaussian{1}}, 1},
		}}},
	} {
		got, err := accountant.Simplify(accounttest.Ledger(t, tt.entries...))
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
}

// Several Gaussian releases of one sample are one with the same privacy loss, of noise
// (Σ 1/σ²)^(-1/2), rounded down.
func TestSimplifyJoinsGaussiansOfOneSample(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   accountant.Event
		want float64
	}{
		{"four equal ones", accountant.SelfComposed{accountant.Gaussian{3}, 4}, 1.5},
		{"two different ones", accounttest.Composed(t, accountant.Gaussian{3}, accountant.Gaussian{4}), 2.4}, // 12/√(3²+4²)
		{"many", accountant.SelfComposed{accounttest.Composed(t, accountant.Gaussian{1e3}, accountant.Gaussian{1e3}), 1 << 40}, 1e3 / math.Sqrt(1<<41)},
		{"very noisy ones", accountant.SelfComposed{accountant.Gaussian{1e200}, 4}, 5e199},
		{"one far louder", accounttest.Composed(t, accountant.Gaussian{1e200}, accountant.Gaussian{1}), 1},
	} {
		r, err := accountant.Simplify(accounttest.Ledger(t, accountant.Entry{accountant.PoissonSampled{0.5, tt.of}, 7}))
		if err != nil || len(r.Entries) != 1 || r.NonPrivate || r.Entries[0].Count != 7 {
			t.Errorf("%s: %+v, %v", tt.name, r, err)
			continue
		}
		e := r.Entries[0].Event.(accountant.PoissonSampled)
		got := e.Event.(accountant.Gaussian).NoiseMultiplier
		if e.SamplingProbability != 0.5 || !(got <= tt.want && got >= tt.want*(1-1e-14)) {
			t.Errorf("%s: %v, want σ=%v or a hair less", tt.name, e, tt.want)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var releases []accountant.Event
		precision := new(big.Rat) // Σ 1/σ², exactly
		for range 2 + rng.IntN(9) {
			sigma := 1 + rng.Float64()
			releases = append(releases, accountant.Gaussian{sigma})
			inverse := new(big.Rat).Inv(new(big.Rat).SetFloat64(sigma))
			precision.Add(precision, inverse.Mul(inverse, inverse))
		}
		joined := tiny.Must(accountant.Simplify(accounttest.Ledger(t, accountant.Entry{accountant.PoissonSampled{0.5, accounttest.Composed(t, releases...)}, 1})))(t).Entries[0].Event
		sigma := new(big.Rat).SetFloat64(accountant.NoiseMultiplier(joined))
		if precision.Mul(precision, sigma.Mul(sigma, sigma)).Cmp(big.NewRat(1, 1)) > 0 {
			t.Fatalf("%v: found %v, more noise than they have", releases, joined)
		}
	}
	faint := accountant.PoissonSampled{0.5, accountant.SelfComposed{accountant.Gaussian{5e-324}, 2}}
	if r, err := accountant.Simplify(accounttest.Ledger(t, accountant.Entry{faint, 1})); err != nil || !r.NonPrivate {
		t.Errorf("%v: %+v, %v, want no privacy", faint, r, err)
	}
}

func TestSimplifyRefuses(t *testing.T) {
	if _, err := accountant.Simplify(nil); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("nil ledger: %v, want ErrInvalid", err)
	}
	for _, tt := range []struct {
		name    string
		entries []accountant.Entry
		want    error
	}{
		{"two kinds on one sample", []accountant.Entry{{accountant.PoissonSampled{0.1, accounttest.Composed(t, accountant.Gaussian{1}, accountant.Laplace{1})}, 1}}, accountant.ErrUnsupported},
		{"two Laplace on one sample", []accountant.Entry{{accountant.FixedSizeSampled{9, 3, accountant.SelfComposed{accountant.Laplace{1}, 2}}, 1}}, accountant.ErrUnsupported},
		{"product of counts", []accountant.Entry{{accountant.SelfComposed{accountant.Gaussian{1}, math.MaxInt/2 + 1}, 2}}, accountant.ErrInvalid},
		{"product inside", []accountant.Entry{{accountant.SelfComposed{accountant.SelfComposed{accountant.Gaussian{1}, 1 << 32}, 1 << 31}, 1}}, accountant.ErrInvalid},
		{"sum of counts", []accountant.Entry{{accountant.SelfComposed{accountant.Gaussian{1}, math.MaxInt - 1}, 1}, {accountant.Gaussian{1}, 2}}, accountant.ErrInvalid},
		{"product in a sample", []accountant.Entry{{accountant.PoissonSampled{0.1, accountant.SelfComposed{accountant.SelfComposed{accountant.Gaussian{1}, 1 << 32}, 1 << 31}}, 1}}, accountant.ErrInvalid},
	} {
		if r, err := accountant.Simplify(accounttest.Ledger(t, tt.entries...)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %+v, %v, want %v", tt.name, r, err, tt.want)
		}
	}
}

func TestJoinedNoiseIsRoundedDown(t *testing.T) {
	var entries []accountant.Entry
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
	precision := exact(0)
	for i := range 1000 { // each of them but the first is lost in rounding
		sigma := 1e170 + float64(i)*1e155
		if i == 0 {
			sigma = 1e162
		}
		entries = append(entries, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: sigma}, Count: 1})
		precision.Add(precision, exact(1).Quo(exact(1), exact(sigma).Mul(exact(sigma), exact(sigma))))
	}
	share := exact(accountant.JoinedNoise(entries)) // σ²·Σ 1/σᵢ²
	if f, _ := share.Mul(share, share).Mul(share, precision).Float64(); share.Cmp(exact(1)) > 0 || f < 1-1e-11 {
		t.Errorf("the square of the noise times the precision is %v, expected 1 or a little less", f)
	}
}
