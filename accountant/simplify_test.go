package accountant

import (
	"errors"
	"math"
	"reflect"
	"testing"
)

func TestSimplify(t *testing.T) {
	sampled := PoissonSampled{0.1, Gaussian{1}}
	nonPrivate := Releases{NonPrivate: true}
	for _, tt := range []struct {
		name    string
		entries []Entry
		want    Releases
	}{
		{"nothing", nil, Releases{}},
		{"one of each kind", []Entry{{Gaussian{1}, 1}, {Laplace{1}, 2}, {RandomizedResponse{0.5, 2}, 3}, {ApproxDP{1, 0.1}, 4}, {ZCDP{1}, 5}, {TreeAggregation{1, 9}, 6}, {sampled, 7}},
			Releases{Entries: []Entry{{Gaussian{1}, 1}, {Laplace{1}, 2}, {RandomizedResponse{0.5, 2}, 3}, {ApproxDP{1, 0.1}, 4}, {ZCDP{1}, 5}, {TreeAggregation{1, 9}, 6}, {sampled, 7}}}},
		{"equal events apart", []Entry{{Gaussian{1}, 2}, {Gaussian{2}, 1}, {Gaussian{1}, 3}}, Releases{Entries: []Entry{{Gaussian{1}, 5}, {Gaussian{2}, 1}}}},
		{"repeated", []Entry{{SelfComposed{Gaussian{1}, 5}, 3}}, Releases{Entries: []Entry{{Gaussian{1}, 15}}}},
		{"repeated repeatedly", []Entry{{SelfComposed{SelfComposed{Gaussian{1}, 5}, 2}, 3}, {Gaussian{1}, 1}}, Releases{Entries: []Entry{{Gaussian{1}, 31}}}},
		{"never", []Entry{{SelfComposed{NonPrivate{}, 0}, 3}}, Releases{}},
		{"composed", []Entry{{composed(t, Gaussian{1}, SelfComposed{composed(t, Laplace{1}, Gaussian{1}), 2}), 10}}, Releases{Entries: []Entry{{Gaussian{1}, 30}, {Laplace{1}, 20}}}},
		{"composed of nothing", []Entry{{Composed{}, 10}}, Releases{}},

		{"what costs nothing", []Entry{
			{RandomizedResponse{1, 9}, 1}, {RandomizedResponse{0, 1}, 1}, {ApproxDP{0, 0}, 1}, {ZCDP{0}, 1},
			{PoissonSampled{0, NonPrivate{}}, 1}, {PoissonSampledGroup{0, 3, NonPrivate{}}, 1}, {FixedSizeSampled{9, 0, NonPrivate{}}, 1},
			{TruncatedPoissonSampled{9, 0, 9, NonPrivate{}}, 1}, {TruncatedPoissonSampled{9, 1, 0, NonPrivate{}}, 1},
			{PoissonSampled{0.5, Composed{}}, 1}, {FixedSizeSampled{9, 3, ZCDP{0}}, 1}, {PoissonSampledGroup{0.1, 2, SelfComposed{NonPrivate{}, 0}}, 1},
			{TruncatedPoissonSampled{9, 0.5, 3, ApproxDP{0, 0}}, 1},
		}, Releases{}},
		{"no Gaussian noise", []Entry{{Gaussian{0}, 1}}, nonPrivate},
		{"no Laplace noise", []Entry{{Laplace{0}, 1}}, nonPrivate},
		{"no noise in a tree", []Entry{{TreeAggregation{0, 3}, 1}}, nonPrivate},
		{"true answers", []Entry{{RandomizedResponse{0, 2}, 1}}, nonPrivate},
		{"delta 1", []Entry{{ApproxDP{0, 1}, 1}}, nonPrivate},
		{"non-private in a composition", []Entry{{composed(t, SelfComposed{NonPrivate{}, 1}), 1}}, nonPrivate},
		{"non-private, sampled", []Entry{{PoissonSampled{1e-9, Laplace{0}}, 1}}, nonPrivate},
		{"non-private, sampled for a group", []Entry{{PoissonSampledGroup{1e-9, 2, NonPrivate{}}, 1}}, nonPrivate},
		{"non-private, sampled in fixed size", []Entry{{FixedSizeSampled{9, 1, Gaussian{0}}, 1}}, nonPrivate},
		{"non-private, sampled and truncated", []Entry{{TruncatedPoissonSampled{9, 0.1, 1, NonPrivate{}}, 1}}, nonPrivate},
		{"non-private among others", []Entry{{Gaussian{1}, 1}, {NonPrivate{}, 1}}, Releases{Entries: []Entry{{Gaussian{1}, 1}}, NonPrivate: true}},

		{"q=1", []Entry{{PoissonSampled{1, Gaussian{1}}, 3}, {Gaussian{1}, 1}}, Releases{Entries: []Entry{{Gaussian{1}, 4}}}},
		{"group of one", []Entry{{PoissonSampledGroup{0.1, 1, Gaussian{1}}, 3}, {sampled, 1}}, Releases{Entries: []Entry{{sampled, 4}}}},
		{"group of one, q=1", []Entry{{PoissonSampledGroup{1, 1, Laplace{1}}, 3}}, Releases{Entries: []Entry{{Laplace{1}, 3}}}},
		{"wrapping inside a sample", []Entry{{PoissonSampled{0.1, SelfComposed{composed(t, Gaussian{1}), 1}}, 3}, {sampled, 1}}, Releases{Entries: []Entry{{sampled, 4}}}},
		{"what costs nothing inside a sample", []Entry{{PoissonSampled{0.1, composed(t, Laplace{1}, ZCDP{0})}, 1}}, Releases{Entries: []Entry{{PoissonSampled{0.1, Laplace{1}}, 1}}}},
		{"wrapping inside other samples", []Entry{
			{PoissonSampledGroup{0.1, 2, composed(t, Gaussian{1})}, 1}, {FixedSizeSampled{9, 3, composed(t, Gaussian{1})}, 1}, {TruncatedPoissonSampled{9, 0.1, 3, composed(t, Gaussian{1})}, 1},
		}, Releases{Entries: []Entry{
			{PoissonSampledGroup{0.1, 2, Gaussian{1}}, 1}, {FixedSizeSampled{9, 3, Gaussian{1}}, 1}, {TruncatedPoissonSampled{9, 0.1, 3, Gaussian{1}}, 1},
		}}},
	} {
		got, err := Simplify(mustLedger(t, tt.entries...))
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
		of   Event
		want float64
	}{
		{"four equal ones", SelfComposed{Gaussian{3}, 4}, 1.5},
		{"two different ones", composed(t, Gaussian{3}, Gaussian{4}), 2.4}, // 12/√(3²+4²)
		{"many", SelfComposed{composed(t, Gaussian{1e3}, Gaussian{1e3}), 1 << 40}, 1e3 / math.Sqrt(1<<41)},
		{"very noisy ones", SelfComposed{Gaussian{1e200}, 4}, 5e199},
		{"one far louder", composed(t, Gaussian{1e200}, Gaussian{1}), 1},
	} {
		r, err := Simplify(mustLedger(t, Entry{PoissonSampled{0.5, tt.of}, 7}))
		if err != nil || len(r.Entries) != 1 || r.NonPrivate || r.Entries[0].Count != 7 {
			t.Errorf("%s: %+v, %v", tt.name, r, err)
			continue
		}
		e := r.Entries[0].Event.(PoissonSampled)
		got := e.Event.(Gaussian).NoiseMultiplier
		if e.SamplingProbability != 0.5 || !(got <= tt.want && got >= tt.want*(1-1e-14)) {
			t.Errorf("%s: %v, want σ=%v or a hair less", tt.name, e, tt.want)
		}
	}
	faint := PoissonSampled{0.5, SelfComposed{Gaussian{5e-324}, 2}}
	if r, err := Simplify(mustLedger(t, Entry{faint, 1})); err != nil || !r.NonPrivate {
		t.Errorf("%v: %+v, %v, want no privacy", faint, r, err)
	}
}

func TestSimplifyRefuses(t *testing.T) {
	if _, err := Simplify(nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("nil ledger: %v, want ErrInvalid", err)
	}
	for _, tt := range []struct {
		name    string
		entries []Entry
		want    error
	}{
		{"two kinds on one sample", []Entry{{PoissonSampled{0.1, composed(t, Gaussian{1}, Laplace{1})}, 1}}, ErrUnsupported},
		{"two Laplace on one sample", []Entry{{FixedSizeSampled{9, 3, SelfComposed{Laplace{1}, 2}}, 1}}, ErrUnsupported},
		{"product of counts", []Entry{{SelfComposed{Gaussian{1}, math.MaxInt/2 + 1}, 2}}, ErrInvalid},
		{"product inside", []Entry{{SelfComposed{SelfComposed{Gaussian{1}, 1 << 32}, 1 << 31}, 1}}, ErrInvalid},
		{"sum of counts", []Entry{{SelfComposed{Gaussian{1}, math.MaxInt}, 1}, {Gaussian{1}, 1}}, ErrInvalid},
		{"product in a sample", []Entry{{PoissonSampled{0.1, SelfComposed{SelfComposed{Gaussian{1}, 1 << 32}, 1 << 31}}, 1}}, ErrInvalid},
	} {
		if r, err := Simplify(mustLedger(t, tt.entries...)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %+v, %v, want %v", tt.name, r, err, tt.want)
		}
	}
}
