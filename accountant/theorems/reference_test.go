package theorems

import (
	"math"
	"testing"

	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/internal/numeric"
)

// referenceError is the error that the project allows; most values are met to 1e-12.
const referenceError = 1e-8

// check compares with a reference value: never below it but for its own rounding,
// and never more than tolerance above.
func check(t *testing.T, r accounttest.Row, name string, got, want, tolerance float64, err error) {
	t.Helper()
	if err != nil || !(got >= want*(1-4e-15) && got <= want*(1+tolerance)) {
		t.Errorf("%s: %s is %.17g, %v, want %.17g (relative difference %.1e)", r.ID, name, got, err, want, got/want-1)
	} else if testing.Verbose() {
		t.Logf("%s: %s %.17g, relative difference %.1e", r.ID, name, got, got/want-1)
	}
}

// One release of noise, to 2e-14: the project asks for 1e-8.
func TestReferenceNoise(t *testing.T) {
	for _, r := range accounttest.Rows[accounttest.Row](t, "gaussian_mechanism") {
		sigma, err := GaussianNoiseMultiplier(r.Eps, r.Delta)
		check(t, r, "σ", sigma*r.Sensitivity, r.Value, 2e-14, err)
	}
	for _, r := range accounttest.Rows[accounttest.Row](t, "gaussian_eps") {
		epsilon, err := GaussianEpsilon(r.Sigma, r.Delta)
		check(t, r, "ε", epsilon, r.Value, 2e-14, err)
	}
	for _, r := range accounttest.Rows[accounttest.Row](t, "gaussian_delta") {
		delta, err := GaussianDelta(r.Sigma, r.Eps)
		check(t, r, "δ", delta, r.Value, 2e-14, err)
		if log := logDelta(r.Sigma, r.Eps); !(math.Abs(log-r.LnValue) <= 1e-13) {
			t.Errorf("%s: ln δ = %v, want %v", r.ID, log, r.LnValue)
		}
	}
	for _, r := range accounttest.Rows[accounttest.Row](t, "laplace") {
		if r.Pure != 0 {
			scale, err := LaplaceScale(r.Pure)
			check(t, r, "scale", scale, r.Scale, 2e-14, err)
		}
	}
}

func TestReferenceOptimal(t *testing.T) {
	for _, r := range accounttest.Rows[accounttest.Row](t, "composition_optimal") {
		g := guarantee{r.Eps0, r.Delta0}
		epsilon := optimal(g, r.K, r.Delta)
		check(t, r, "epsilon", epsilon, r.Value, referenceError/1e3, nil)
		if grid, ok := r.DPAccountingGrid.(float64); ok && epsilon > grid*(1+1e-15) {
			t.Errorf("%s: epsilon %v, above the answer %v on the paper's grid", r.ID, epsilon, grid)
		}
		check(t, r, "delta", optimalDelta(g, r.K, r.Value), r.Delta, referenceError/1e2, nil)
	}
	for _, r := range accounttest.Rows[accounttest.Row](t, "randomized_response") {
		if r.Steps == 0 {
			continue // one release by itself is not about composition
		}
		check(t, r, "delta", optimalDelta(guarantee{Epsilon: r.Eps0}, r.Steps, r.Eps), r.Value, referenceError/1e3, nil)
	}
}

func TestReferenceHeterogeneous(t *testing.T) {
	for _, r := range accounttest.Rows[accounttest.Row](t, "composition_heterogeneous") {
		var gs []guarantee
		for i, e := range r.EpsList {
			gs = append(gs, guarantee{e, r.DeltaList[i]})
		}
		q := questionAbout(gs, r.Delta)
		check(t, r, "epsilon", q.optimal(), r.Value, referenceError/1e3, nil)
		check(t, r, "closed form", q.closedForm(), r.ValueClosedForm, 1e-11, nil)
	}
}

func TestReferenceGroups(t *testing.T) {
	for _, r := range accounttest.Rows[accounttest.Row](t, "group_eps_delta") {
		var g guarantee
		g.Epsilon, g.Delta = numeric.Group(r.Eps0, r.Delta0, r.K)
		check(t, r, "epsilon", g.Epsilon, r.Value, 1e-14, nil)
		check(t, r, "delta", g.Delta, r.ValueDelta, 1e-13, nil)
		if g.Delta > r.ValueDeltaLoose {
			t.Errorf("%s: delta %v, above the loose %v", r.ID, g.Delta, r.ValueDeltaLoose)
		}
	}
}

func TestReferenceShuffle(t *testing.T) {
	for _, r := range accounttest.Rows[accounttest.Row](t, "shuffle") {
		numeric, err := Shuffle(r.Eps0, r.N, r.Delta)
		check(t, r, "numeric", numeric, r.ValueNumeric, referenceError/10, err)
		check(t, r, "delta", shuffleDelta(r.Eps0, r.N, r.ValueNumeric), r.Delta, referenceError, nil)
		if numeric >= r.Value {
			t.Errorf("%s: epsilon %v, not below the closed form of the paper, %v", r.ID, numeric, r.Value)
		}
	}
}
