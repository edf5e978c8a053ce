package grid

import (
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/internal/pair"
	"dpsgd/internal/slow"
)

// row is one line of the shared reference values; its README describes them.
type row struct {
	ID, Kind             string
	Q, Sigma, Delta, Eps float64
	Steps, K             int
	Phases               [][3]float64 // q, σ, steps
	Terms                [][]any      // kind and numbers
	Value                float64
	ValueErr             float64  `json:"value_err"`
	ValueAdd             *float64 `json:"value_add"`
	Truncation           float64  `json:"truncation_probability"`
	Conditional          float64  `json:"conditional_probability"`
	Scale                float64
	Eps0                 float64
	Delta0               float64
	EpsList              []float64 `json:"eps_list"`
	DeltaList            []float64 `json:"delta_list"`
}

// rows returns the rows of one kind, and skips the test where there are none.
func rows(t *testing.T, kind string) []row {
	t.Helper()
	return accounttest.Rows[row](t, kind)
}

// steps returns the phases of the row, each made by dominating.
func (r row) steps(dominating func(q, sigma float64) pair.Mixtures) []pair.Part {
	phases := r.Phases
	if phases == nil {
		phases = [][3]float64{{r.Q, r.Sigma, float64(r.Steps)}}
	}
	var parts []pair.Part
	for _, p := range phases {
		parts = append(parts, pair.Part{Pair: dominating(p[0], p[1]), Count: int(p[2])})
	}
	return parts
}

// holds fails unless the interval holds the value and its ends are within the parts below
// and above of it.
func holds(t *testing.T, id string, got accountant.Interval, value, slack, below, above float64) {
	t.Helper()
	if !(got.Lower <= value+slack && value-slack <= got.Upper) {
		t.Errorf("%s: %v does not hold %v", id, got, value)
	}
	if !(got.Lower >= value*(1-below)-slack && got.Upper <= value*(1+above)+slack) {
		t.Errorf("%s: %v is wide, the value is %v (%.1e, %+.1e)", id, got, value, got.Lower/value-1, got.Upper/value-1)
	}
}

func epsilonOf(t *testing.T, parts []pair.Part, delta float64) accountant.Interval {
	t.Helper()
	got, err := Epsilon(parts, delta, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func deltaOf(t *testing.T, parts []pair.Part, epsilon float64) accountant.Interval {
	t.Helper()
	got, err := Delta(parts, epsilon, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestReferenceEpsilons(t *testing.T) {
	for i, r := range rows(t, "eps_pld") {
		if i%3 != 0 && !slow.Asked() {
			continue
		}
		holds(t, r.ID, epsilonOf(t, r.steps(pair.Removed), r.Delta), r.Value, r.ValueErr, 1e-3, 1e-3)
		if r.ValueAdd != nil {
			holds(t, r.ID+" added", epsilonOf(t, r.steps(added), r.Delta), *r.ValueAdd, r.ValueErr, 1e-3, 1e-3)
		}
	}
}

func TestReferenceDeltas(t *testing.T) {
	for i, r := range rows(t, "delta_at_eps") {
		if i%3 != 1 && !slow.Asked() { // the tenth and the thirteenth are special
			continue
		}
		got := deltaOf(t, r.steps(pair.Removed), r.Eps)
		slack := r.Value * 1e-10
		switch r.ID {
		case "shared-delta_at_eps-10": // 1e-16 after 1e6 steps, reached by one jump: see Limits of the package
			if !(got.Lower <= r.Value && r.Value <= got.Upper && got.Upper < 1e-9) {
				t.Errorf("%s: %v, want an interval up to 1e-9 around %v", r.ID, got, r.Value)
			}
		case "shared-delta_at_eps-13": // the value is known to 7e-4 only
			holds(t, r.ID, got, r.Value, r.Value*7e-4, 1e-3, 1e-3)
		default:
			holds(t, r.ID, got, r.Value, slack, 1e-3, 1e-3)
		}
	}
}

func TestReferenceReplaceOne(t *testing.T) {
	for _, r := range rows(t, "replace_one_poisson") {
		holds(t, r.ID, epsilonOf(t, r.steps(pair.Replaced), r.Delta), r.Value, r.ValueErr, 1e-3, 1e-3)
	}
}

func TestReferenceGroups(t *testing.T) {
	for _, r := range rows(t, "group_dpsgd") {
		parts := []pair.Part{{Pair: pair.RemovedGroup(r.Q, r.K, r.Sigma), Count: r.Steps}}
		holds(t, r.ID, epsilonOf(t, parts, r.Delta), r.Value, r.ValueErr, 1e-3, 1e-3)
	}
}

func TestReferenceTruncatedPoisson(t *testing.T) {
	for _, r := range rows(t, "truncated_poisson") {
		p := pair.Combination{
			{Weight: 1 - r.Truncation, Pair: pair.Removed(r.Q, r.Sigma)},
			{Weight: r.Truncation, Pair: pair.Replaced(r.Conditional, r.Sigma/2)},
		}
		holds(t, r.ID, epsilonOf(t, []pair.Part{{Pair: p, Count: r.Steps}}, r.Delta), r.Value, r.ValueErr, 5e-3, 1e-3)
	}
}

func TestReferenceMixedCompositions(t *testing.T) {
	for _, r := range rows(t, "mixed_composition") {
		var parts []pair.Part
		for _, term := range r.Terms {
			x := make([]float64, 3)
			for i, v := range term[1:] {
				x[i] = v.(float64)
			}
			switch term[0] {
			case "dpsgd":
				parts = append(parts, pair.Part{Pair: pair.Removed(x[0], x[1]), Count: int(x[2])})
			case "gaussian":
				parts = append(parts, pair.Part{Pair: pair.Gaussian(x[0]), Count: int(x[1])})
			case "laplace":
				parts = append(parts, pair.Part{Pair: pair.Laplace(x[0]), Count: int(x[1])})
			default:
				t.Fatalf("%s: unknown term %v", r.ID, term)
			}
		}
		holds(t, r.ID, epsilonOf(t, parts, r.Delta), r.Value, r.ValueErr, 1e-3, 1e-3)
	}
}

func TestReferenceOptimalComposition(t *testing.T) {
	for _, r := range rows(t, "composition_optimal") {
		parts := []pair.Part{{Pair: pair.ApproxDP(r.Eps0, r.Delta0), Count: r.K}}
		holds(t, r.ID, epsilonOf(t, parts, r.Delta), r.Value, 1e-9, 1e-3, 1e-3)
	}
	for _, r := range rows(t, "composition_heterogeneous") {
		var parts []pair.Part
		for i, epsilon := range r.EpsList {
			parts = append(parts, pair.Part{Pair: pair.ApproxDP(epsilon, r.DeltaList[i]), Count: 1})
		}
		holds(t, r.ID, epsilonOf(t, parts, r.Delta), r.Value, 1e-9, 1e-2, 1e-3)
	}
}

func TestReferenceClosedForms(t *testing.T) {
	for _, r := range rows(t, "gaussian_eps") {
		holds(t, r.ID, epsilonOf(t, []pair.Part{{Pair: pair.Gaussian(r.Sigma), Count: 1}}, r.Delta), r.Value, 1e-12, 1e-3, 1e-3)
	}
	for _, r := range rows(t, "gaussian_delta") {
		holds(t, r.ID, deltaOf(t, []pair.Part{{Pair: pair.Gaussian(r.Sigma), Count: 1}}, r.Eps), r.Value, r.Value*1e-10, 1e-3, 1e-3)
	}
	for _, r := range rows(t, "laplace") {
		if r.Eps > 0 {
			holds(t, r.ID, deltaOf(t, []pair.Part{{Pair: pair.Laplace(r.Scale), Count: 1}}, r.Eps), r.Value, 1e-10, 1e-2, 1e-3)
		}
	}
	for _, r := range rows(t, "randomized_response") {
		if r.Eps > 0 { // k-fold binary randomized response
			parts := []pair.Part{{Pair: pair.ApproxDP(r.Eps0, 0), Count: r.Steps}}
			holds(t, r.ID, deltaOf(t, parts, r.Eps), r.Value, 1e-10, 1e-2, 1e-3)
		}
	}
}

// added is pair.Removed in the other direction.
func added(q, sigma float64) pair.Mixtures { return pair.Removed(q, sigma).Reversed() }
