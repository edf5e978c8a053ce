package theorems

import (
	"errors"
	"math"
	"strings"
	"testing"
)

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
		{"Optimal", func() ([]float64, error) { return number(Optimal(g, k, x)) }},
		{"OptimalDelta", func() ([]float64, error) { return number(OptimalDelta(g, k, x)) }},
		{"ClosedForm", func() ([]float64, error) { return number(ClosedForm([]Guarantee{g, {0.5, 0}}, x)) }},
		{"OptimalHeterogeneous", func() ([]float64, error) {
			return number(OptimalHeterogeneous([]Guarantee{g, {0.5, 0}, {0.75, 0}}, x))
		}},
		{"PoissonSampled", func() ([]float64, error) { return pair(PoissonSampled(g, x)) }},
		{"SampledWithoutReplacement", func() ([]float64, error) { return pair(SampledWithoutReplacement(g, 1000, k)) }},
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
			case "SampledWithoutReplacement": // without x
			default:
				bad = append(bad, c)
			}
		}
	}
	for _, k := range []int{-1, math.MaxInt} {
		for _, c := range calls(good, k, 0.5) {
			switch c.name {
			case "ClosedForm", "OptimalHeterogeneous", "PoissonSampled": // without k
			default:
				bad = append(bad, c)
			}
		}
	}
	shuffle := func(l float64, n int, delta float64) func() ([]float64, error) {
		return func() ([]float64, error) { return number(Shuffle(l, n, delta)) }
	}
	bad = append(bad,
		call{"delta above 1", func() ([]float64, error) { return number(Optimal(good, 2, 1.5)) }},
		call{"sampling probability above 1", func() ([]float64, error) { return pair(PoissonSampled(good, 1.01)) }},
		call{"batch above n", func() ([]float64, error) { return pair(SampledWithoutReplacement(good, 10, 11)) }},
		call{"no records", func() ([]float64, error) { return pair(SampledWithoutReplacement(good, 0, 0)) }},
		call{"local epsilon negative", shuffle(-1, 10, 1e-5)},
		call{"local epsilon NaN", shuffle(nan, 10, 1e-5)},
		call{"local epsilon infinite", shuffle(inf, 10, 1e-5)},
		call{"no reports", shuffle(1, 0, 1e-5)},
		call{"delta NaN", shuffle(1, 10, nan)},
		call{"epsilon NaN", func() ([]float64, error) { return number(ShuffleDelta(1, 10, nan)) }},
	)
	for _, c := range bad {
		got, err := c.f()
		if !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), "theorems: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, error %v, want one line that matches ErrInvalid", c.name, got, err)
		}
	}
}
