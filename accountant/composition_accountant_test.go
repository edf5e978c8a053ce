package accountant

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"dpsgd/accountant/composition"
	"dpsgd/accountant/mechanism"
)

func newCompositions(t testing.TB, r Relation) (basic, advanced, optimal *Composition) {
	t.Helper()
	all := make([]*Composition, 3)
	for i, make := range []func(Relation) (*Composition, error){NewBasic, NewAdvanced, NewOptimal} {
		var err error
		if all[i], err = make(r); err != nil {
			t.Fatal(err)
		}
	}
	return all[0], all[1], all[2]
}

// On a ledger of (ε, δ) the accountants are the theorems.
func TestCompositionOfGuarantees(t *testing.T) {
	basic, advanced, optimal := newCompositions(t, AddOrRemoveOne)
	const delta = 1e-5
	for _, entries := range [][]Entry{
		{{ApproxDP{0.1, 1e-8}, 100}},
		{{ApproxDP{1, 0}, 7}},
		{{ApproxDP{0.01, 1e-12}, 100_000}},
		{{ApproxDP{0.1, 1e-8}, 50}, {ApproxDP{0.3, 1e-7}, 9}, {ApproxDP{0.07, 0}, 30}},
	} {
		l := mustLedger(t, entries...)
		var gs []composition.Guarantee
		sum := 0.0
		for _, entry := range entries {
			e := entry.Event.(ApproxDP)
			sum += float64(entry.Count) * e.Epsilon
			for range entry.Count {
				gs = append(gs, composition.Guarantee{Epsilon: e.Epsilon, Delta: e.Delta})
			}
		}
		closed, err := composition.ClosedForm(gs, delta)
		if err != nil {
			t.Fatal(err)
		}
		best, err := composition.OptimalHeterogeneous(gs, delta)
		if len(entries) == 1 {
			best, err = composition.Optimal(gs[0], len(gs), delta)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			a    *Composition
			want float64
		}{{basic, sum}, {advanced, closed}, {optimal, best}} {
			if got := epsilon(t, tt.a, l, delta); relative(got, tt.want) > 1e-9 {
				t.Errorf("%s: %v gives %v, want %v", tt.a.Name(), entries, got, tt.want)
			}
		}
		if !(best <= closed && closed <= sum*(1+1e-12)) {
			t.Errorf("%v: optimal %v, closed %v, sum %v", entries, best, closed, sum)
		}
	}
}

// One release costs what its mechanism costs at all of δ.
func TestCompositionOfOneRelease(t *testing.T) {
	const delta = 1e-6
	gaussian := func(sigma, delta float64) float64 {
		e, err := mechanism.GaussianEpsilon(sigma, delta)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	amplified := func(q, e float64) float64 { return math.Log1p(q * math.Expm1(e)) }
	for _, tt := range []struct {
		event Event
		r     Relation
		want  float64
	}{
		{ApproxDP{1.5, 1e-6}, AddOrRemoveOne, 1.5}, // the very delta that is asked about
		{ApproxDP{1.5, 1.1e-6}, AddOrRemoveOne, math.Inf(1)},
		{ApproxDP{1.5, 0}, ReplaceOne, 1.5},
		{Laplace{4}, AddOrRemoveOne, 0.25},
		{Laplace{4}, ZeroOut, 0.25},
		{Laplace{4}, ReplaceOne, 0.5},
		{RandomizedResponse{0.5, 2}, ReplaceOne, math.Log(3)}, // ¾ to ¼
		{RandomizedResponse{0.4, 5}, ReplaceOne, math.Log(0.68 / 0.08)},
		{ZCDP{0.1}, ZeroOut, 0.1 + 2*math.Sqrt(0.1*math.Log(1e6))},
		{Gaussian{2}, AddOrRemoveOne, gaussian(2, delta)},
		{Gaussian{2}, ZeroOut, gaussian(2, delta)},
		{Gaussian{2}, ReplaceOne, gaussian(1, delta)},
		{PoissonSampled{0.01, Gaussian{2}}, AddOrRemoveOne, amplified(0.01, gaussian(2, delta/0.01))},
		{PoissonSampled{0.01, Gaussian{2}}, ZeroOut, amplified(0.01, gaussian(2, delta/0.01))},
		{PoissonSampled{0.01, Gaussian{2}}, ReplaceOne, amplified(0.01, gaussian(1, delta/0.01))},
		{PoissonSampled{0.01, Laplace{0.5}}, AddOrRemoveOne, amplified(0.01, 2)},
		{PoissonSampled{0.01, Laplace{0.5}}, ReplaceOne, amplified(0.01, 4)},
		{PoissonSampled{0.01, ApproxDP{2, 1e-5}}, AddOrRemoveOne, amplified(0.01, 2)},
		{PoissonSampled{1e-7, Gaussian{2}}, AddOrRemoveOne, 0}, // δ is above the chance to be sampled
		{FixedSizeSampled{1000, 10, Gaussian{2}}, ReplaceOne, amplified(0.01, gaussian(1, delta/0.01))},
		{FixedSizeSampled{1000, 10, RandomizedResponse{0.5, 2}}, ReplaceOne, amplified(0.01, math.Log(3))},
	} {
		basic, advanced, optimal := newCompositions(t, tt.r)
		l := mustLedger(t, Entry{tt.event, 1})
		got := epsilon(t, basic, l, delta)
		if got != tt.want && !(got >= tt.want*(1-1e-14) && got <= tt.want*(1+1e-10)) {
			t.Errorf("%v under %v: %v, want %v", tt.event, tt.r, got, tt.want)
		}
		if e := epsilon(t, advanced, l, delta); e != got {
			t.Errorf("%v under %v: advanced composition answers %v, basic %v", tt.event, tt.r, e, got)
		}
		// Of (ε, 0) a δ of 1e-6 can spare about 1e-6 at most.
		if e := epsilon(t, optimal, l, delta); !(e >= got-1e-5 && e <= got) && e != got {
			t.Errorf("%v under %v: optimal composition answers %v, basic %v", tt.event, tt.r, e, got)
		}
	}
}

// The deltas of all releases add up: what they leave of δ must not be below 0.
func TestCompositionAddsDeltas(t *testing.T) {
	basic, advanced, optimal := newCompositions(t, AddOrRemoveOne)
	for _, tt := range []struct {
		delta, want float64
	}{{0.99e-7, 10}, {1.01e-7, math.Inf(1)}} {
		for name, l := range map[string]*Ledger{
			"one entry":   mustLedger(t, Entry{ApproxDP{0.1, tt.delta}, 100}),
			"two entries": mustLedger(t, Entry{ApproxDP{0.1, tt.delta}, 60}, Entry{Laplace{1e300}, 1}, Entry{ApproxDP{0.1, tt.delta}, 40}),
			"composed":    mustLedger(t, Entry{SelfComposed{ApproxDP{0.1, tt.delta}, 50}, 2}),
		} {
			if got := epsilon(t, basic, l, 1e-5); got != tt.want && !(relative(got, tt.want) < 1e-12) {
				t.Errorf("%s: 100 deltas of %v at δ=1e-5: basic composition answers %v, want %v", name, tt.delta, got, tt.want)
			}
			for _, a := range []*Composition{advanced, optimal} {
				if got := epsilon(t, a, l, 1e-5); got > tt.want*(1+1e-12) || math.IsInf(tt.want, 1) && !math.IsInf(got, 1) {
					t.Errorf("%s: 100 deltas of %v at δ=1e-5: %s composition answers %v, basic %v", name, tt.delta, a.Name(), got, tt.want)
				}
			}
		}
	}
}

// What the deltas of some releases leave of δ, others share: all of it for basic composition, half
// of it for the other theorems.
func TestCompositionSharesWhatIsLeft(t *testing.T) {
	basic, advanced, optimal := newCompositions(t, AddOrRemoveOne)
	l := mustLedger(t, Entry{ApproxDP{0.1, 5e-8}, 100}, Entry{Gaussian{20}, 4})
	one, err := mechanism.GaussianEpsilon(20, 5e-6/4)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := epsilon(t, basic, l, 1e-5), 10+4*one; !(got >= want*(1-1e-12) && got <= want*(1+1e-9)) {
		t.Errorf("%v, want %v", got, want)
	}

	const n, sigma, delta = 300, 200.0, 1e-5
	each := composition.Guarantee{Delta: delta / 2 / n}
	if each.Epsilon, err = mechanism.GaussianEpsilon(sigma, each.Delta); err != nil {
		t.Fatal(err)
	}
	closed, err := composition.ClosedForm(slices.Repeat([]composition.Guarantee{each}, n), delta)
	if err != nil {
		t.Fatal(err)
	}
	best, err := composition.Optimal(each, n, delta)
	if err != nil {
		t.Fatal(err)
	}
	many := mustLedger(t, Entry{Gaussian{sigma}, n})
	if got := epsilon(t, advanced, many, delta); relative(got, closed) > 1e-9 {
		t.Errorf("advanced composition answers %v, want %v", got, closed)
	}
	if got := epsilon(t, optimal, many, delta); relative(got, best) > 1e-9 {
		t.Errorf("optimal composition answers %v, want %v", got, best)
	}
}

// The profile of one Poisson-sampled Gaussian release is q times that of the release at
// log(1 + (e^ε-1)/q) (Balle, Barthe, Gaboardi 2018, Theorem 8, which is tight), so that
// "basic" is exact for it.
func TestCompositionOfOneSampledGaussianIsExact(t *testing.T) {
	basic, _, _ := newCompositions(t, AddOrRemoveOne)
	const q, sigma = 0.02, 0.8
	l := mustLedger(t, Entry{PoissonSampled{q, Gaussian{sigma}}, 1})
	for _, e := range []float64{0.01, 0.1, 1, 3} {
		inside, err := mechanism.GaussianDelta(sigma, math.Log1p(math.Expm1(e)/q))
		if err != nil {
			t.Fatal(err)
		}
		if got := epsilon(t, basic, l, q*inside); relative(got, e) > 1e-9 {
			t.Errorf("ε=%v at δ=%v, want %v", got, q*inside, e)
		}
		if g, err := basic.Delta(l, e); err != nil || relative(g.Delta, q*inside) > 1e-8 {
			t.Errorf("δ=%v at ε=%v, %v, want %v", g.Delta, e, err, q*inside)
		}
	}
}

func TestCompositionRefuses(t *testing.T) {
	for _, r := range []Relation{AddOrRemoveOne, ReplaceOne, ZeroOut} {
		for _, e := range []Event{
			PoissonSampledGroup{0.1, 2, Gaussian{1}},
			TruncatedPoissonSampled{10, 0.1, 2, Gaussian{1}},
			TreeAggregation{1, 2},
			RepeatAndSelect{Gaussian{1}, 2, 1},
			PoissonSampled{0.5, RepeatAndSelect{Gaussian{1}, 2, 1}},
			FixedSizeSampled{10, 1, PoissonSampled{0.1, Gaussian{1}}},
		} {
			testRefuses(t, e, r)
		}
	}
	// What replacing a record costs says nothing about a sample that has it or has not.
	for _, e := range []Event{ApproxDP{1, 0}, ZCDP{1}, RandomizedResponse{0.5, 2}} {
		testRefuses(t, PoissonSampled{0.5, e}, ReplaceOne)
		testRefuses(t, PoissonSampled{0.5, e}, ZeroOut)
	}
	for _, r := range []Relation{AddOrRemoveOne, ZeroOut} {
		testRefuses(t, FixedSizeSampled{10, 1, Gaussian{1}}, r)
		testRefuses(t, RandomizedResponse{0.5, 2}, r)
	}
	if c, err := NewBasic(Relation(9)); !errors.Is(err, ErrInvalid) {
		t.Errorf("relation 9: %v, %v, want ErrInvalid", c, err)
	}
}

func testRefuses(t *testing.T, e Event, r Relation) {
	t.Helper()
	_, _, a := newCompositions(t, r)
	l := mustLedger(t, Entry{e, 1})
	if g, err := a.Guarantee(l, 1e-5); !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v under %v: %v, %v, want ErrUnsupported", e, r, g, err)
	}
	if g, err := a.Delta(l, 1); !errors.Is(err, ErrUnsupported) {
		t.Errorf("delta of %v under %v: %v, %v, want ErrUnsupported", e, r, g, err)
	}
}

// Counts are numbers, not lists: ten million releases take milliseconds.
func TestCompositionOfManyReleases(t *testing.T) {
	basic, advanced, optimal := newCompositions(t, AddOrRemoveOne)
	for _, l := range []*Ledger{
		mustLedger(t, Entry{PoissonSampled{0.001, Gaussian{20}}, 10_000_000}),
		mustLedger(t, Entry{PoissonSampled{0.001, Gaussian{20}}, 10_000_000}, Entry{Gaussian{100}, 3}, Entry{Laplace{1e5}, 10_000_000}),
	} {
		start := time.Now()
		b, a, o := epsilon(t, basic, l, 1e-5), epsilon(t, advanced, l, 1e-5), epsilon(t, optimal, l, 1e-5)
		if !(o <= a && a < b && o > 0) {
			t.Errorf("%v: optimal %v, advanced %v, basic %v", l.Entries(), o, a, b)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%v took %v", l.Entries(), took)
		}
	}
}

func TestCompositionDelta(t *testing.T) {
	basic, advanced, optimal := newCompositions(t, AddOrRemoveOne)
	for _, a := range []*Composition{basic, advanced, optimal} {
		pure := mustLedger(t, Entry{Laplace{10}, 30}) // ε = 3 at δ = 0
		if g, err := a.Delta(pure, 3.0000001); err != nil || g.Delta != 0 {
			t.Errorf("%s: %v, %v, want delta 0", a.Name(), g, err)
		}
		mixed := mustLedger(t, Entry{Laplace{10}, 30}, Entry{ApproxDP{0, 1e-4}, 1})
		if g, err := a.Delta(mixed, 3.0000001); err != nil || g.Delta < 1e-4 || g.Delta > 1e-4*(1+1e-8) {
			t.Errorf("%s: %v, %v, want delta 1e-4", a.Name(), g, err)
		}
		if a == basic {
			continue
		}
		g, err := a.Delta(pure, 2) // below the sum
		if err != nil || !(g.Delta > 0 && g.Delta < 0.1) || epsilon(t, a, pure, g.Delta) > 2 {
			t.Errorf("%s: %v, %v, want a delta at ε=2", a.Name(), g, err)
		}
		if less := epsilon(t, a, pure, g.Delta*(1-1e-8)); less <= 2 {
			t.Errorf("%s: δ=%v, but 1e-8 less gives ε=%v still", a.Name(), g.Delta, less)
		}
	}
}
