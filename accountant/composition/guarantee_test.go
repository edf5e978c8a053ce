package composition

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestBasic(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		name string
		gs   []Guarantee
		want Guarantee
	}{
		{"none", nil, Guarantee{}},
		{"one stays as it is", []Guarantee{{0.1, 1e-5}}, Guarantee{0.1, 1e-5}},
		{"exact sums stay exact", []Guarantee{{1, 0.25}, {2, 0.25}}, Guarantee{3, 0.5}},
		{"others are rounded up", []Guarantee{{1, 0}, {0x1p-60, 0}}, Guarantee{math.Nextafter(1, 2), 0}},
		{"delta at most 1", []Guarantee{{1, 0.75}, {2, 0.5}}, Guarantee{3, 1}},
		{"no guarantee", []Guarantee{{1, 0}, {inf, 0}, {inf, 0}}, Guarantee{inf, 0}},
		{"overflow", []Guarantee{{1e308, 0}, {1e308, 0}}, Guarantee{inf, 0}},
	} {
		if got, err := Basic(tt.gs...); err != nil || got != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestParallel(t *testing.T) {
	got, err := Parallel(Guarantee{1, 1e-7}, Guarantee{2, 1e-9}, Guarantee{0.5, 1e-6})
	if want := (Guarantee{2, 1e-6}); err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := Parallel(); err != nil || got != (Guarantee{}) {
		t.Errorf("of nothing: %v, %v, want no cost", got, err)
	}
}

// call is one function of the package with all its arguments.
type call struct {
	name string
	f    func() ([]float64, error)
}

// number and pair adapt results.
func number(x float64, err error) ([]float64, error) { return []float64{x}, err }
func pair(g Guarantee, err error) ([]float64, error) { return []float64{g.Epsilon, g.Delta}, err }

// calls applies every function to g, a count and a delta or epsilon.
func calls(g Guarantee, k int, x float64) []call {
	return []call{
		{"Basic", func() ([]float64, error) { return pair(Basic(g, g)) }},
		{"Parallel", func() ([]float64, error) { return pair(Parallel(g, g)) }},
		{"Advanced", func() ([]float64, error) { return pair(Advanced(g, k, x)) }},
		{"AdvancedDworkRothblumVadhan", func() ([]float64, error) { return pair(AdvancedDworkRothblumVadhan(g, k, x)) }},
		{"AdvancedRefined", func() ([]float64, error) { return pair(AdvancedRefined(g, k, x)) }},
		{"Optimal", func() ([]float64, error) { return number(Optimal(g, k, x)) }},
		{"OptimalDelta", func() ([]float64, error) { return number(OptimalDelta(g, k, x)) }},
		{"ClosedForm", func() ([]float64, error) { return number(ClosedForm([]Guarantee{g, {0.5, 0}}, x)) }},
		{"OptimalHeterogeneous", func() ([]float64, error) {
			return number(OptimalHeterogeneous([]Guarantee{g, {0.5, 0}, {0.75, 0}}, x))
		}},
		{"Group", func() ([]float64, error) { return pair(Group(g, k)) }},
		{"PoissonSampled", func() ([]float64, error) { return pair(PoissonSampled(g, x)) }},
		{"SampledWithoutReplacement", func() ([]float64, error) { return pair(SampledWithoutReplacement(g, 1000, k)) }},
		{"SampledWithReplacement", func() ([]float64, error) { return number(SampledWithReplacement(g, 1000, k, x)) }},
	}
}

// Every answer is a number of at least 0, and every delta at most 1, whatever the
// valid arguments.
func TestAnswersAreNumbers(t *testing.T) {
	inf := math.Inf(1)
	for _, e := range []float64{0, 5e-324, 1e-300, 1e-9, 0.1, 1, 50, 800, 1e10, 1e300, math.MaxFloat64, inf} {
		for _, d := range []float64{0, 5e-324, 1e-300, 1e-16, 1e-5, 0.5, 1 - 0x1p-53, 1} {
			for _, k := range []int{1, 2, 1000} {
				for _, x := range []float64{0, 5e-324, 1e-300, 1e-16, 1e-5, 0.5, 1 - 0x1p-53, 1} {
					for _, c := range calls(Guarantee{e, d}, k, x) {
						got, err := c.f()
						if err != nil && strings.HasPrefix(c.name, "Advanced") && (x == 0 || x == 1) {
							continue // a slack must be in between
						}
						if err != nil || !(got[0] >= 0) || len(got) == 2 && !(got[1] >= 0 && got[1] <= 1) {
							t.Errorf("%s of (%v, %v), k=%d, %v: %v, %v", c.name, e, d, k, x, got, err)
						}
					}
				}
			}
		}
	}
}

// Invalid arguments are errors that match ErrInvalid, name the package and fit on a
// line; NaN is never valid.
func TestInvalidArguments(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := Guarantee{1, 1e-5}
	var bad []call
	for _, g := range []Guarantee{{-1, 0}, {nan, 0}, {1, -1e-9}, {1, 1.5}, {1, nan}} {
		bad = append(bad, calls(g, 3, 0.5)...)
	}
	for _, x := range []float64{nan, -1} {
		for _, c := range calls(good, 3, x) {
			switch c.name {
			case "Basic", "Parallel", "Group", "SampledWithoutReplacement": // without x
			default:
				bad = append(bad, c)
			}
		}
	}
	for _, k := range []int{-1, math.MaxInt} {
		for _, c := range calls(good, k, 0.5) {
			switch c.name {
			case "Basic", "Parallel", "ClosedForm", "OptimalHeterogeneous", "PoissonSampled": // without k
			default:
				bad = append(bad, c)
			}
		}
	}
	rdp := func(alpha, rdp float64, c int) func() ([]float64, error) {
		return func() ([]float64, error) { return pair2(GroupRDP(alpha, rdp, c)) }
	}
	shuffle := func(l float64, n int, delta float64) func() ([]float64, error) {
		return func() ([]float64, error) { return number(Shuffle(l, n, delta)) }
	}
	bad = append(bad,
		call{"slack 0", func() ([]float64, error) { return pair(Advanced(good, 2, 0)) }},
		call{"slack 1", func() ([]float64, error) { return pair(Advanced(good, 2, 1)) }},
		call{"delta above 1", func() ([]float64, error) { return number(Optimal(good, 2, 1.5)) }},
		call{"sampling probability above 1", func() ([]float64, error) { return pair(PoissonSampled(good, 1.01)) }},
		call{"batch above n", func() ([]float64, error) { return pair(SampledWithoutReplacement(good, 10, 11)) }},
		call{"no records", func() ([]float64, error) { return pair(SampledWithoutReplacement(good, 0, 0)) }},
		call{"too many draws", func() ([]float64, error) { return number(SampledWithReplacement(good, 1, 1<<30, 0.5)) }},
		call{"group of none", func() ([]float64, error) { return pair(Group(good, 0)) }},
		call{"order too small for the group", rdp(7.99, 1, 2)},
		call{"order 1", rdp(1, 1, 0)},
		call{"order infinite", rdp(inf, 1, 1)},
		call{"order NaN", rdp(nan, 1, 1)},
		call{"divergence negative", rdp(8, -1, 1)},
		call{"divergence NaN", rdp(8, nan, 1)},
		call{"c negative", rdp(8, 1, -1)},
		call{"local epsilon negative", shuffle(-1, 10, 1e-5)},
		call{"local epsilon NaN", shuffle(nan, 10, 1e-5)},
		call{"local epsilon infinite", shuffle(inf, 10, 1e-5)},
		call{"no reports", shuffle(1, 0, 1e-5)},
		call{"delta NaN", shuffle(1, 10, nan)},
		call{"epsilon NaN", func() ([]float64, error) { return number(ShuffleDelta(1, 10, nan)) }},
		call{"outside the closed form", func() ([]float64, error) { return number(ShuffleClosedForm(4, 10000, 1e-6)) }},
		call{"closed form at delta 0", func() ([]float64, error) { return number(ShuffleClosedForm(1, 10000, 0)) }},
	)
	for _, c := range bad {
		got, err := c.f()
		if !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), "composition: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, error %v, want one line that matches ErrInvalid", c.name, got, err)
		}
	}
}

func pair2(a, b float64, err error) ([]float64, error) { return []float64{a, b}, err }
