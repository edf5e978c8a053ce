package composition

import (
	"math"
	"testing"

	"dpsgd/accountant/internal/accounttest"
)

// referenceRow is one line of the shared reference values; its README describes them.
type referenceRow struct {
	ID, Kind         string
	Alpha, RDP       float64
	Eps, Delta       float64
	Eps0, Delta0     float64
	DeltaSlack       float64   `json:"delta_slack"`
	EpsList          []float64 `json:"eps_list"`
	DeltaList        []float64 `json:"delta_list"`
	K, C, N, Steps   int
	ConditionHolds   bool `json:"condition_holds"`
	Value, Value2    float64
	ValueAlpha       float64 `json:"value_alpha"`
	ValueDelta       float64 `json:"value_delta"`
	ValueDeltaLoose  float64 `json:"value_delta_loose"`
	ValueClosedForm  float64 `json:"value_closed_form"`
	ValueNumeric     float64 `json:"value_numeric"`
	DPAccountingGrid any     `json:"dp_accounting_grid"`
}

// referenceRows returns the rows of one kind, and skips the test where there are none.
func referenceRows(t *testing.T, kind string) []referenceRow {
	t.Helper()
	return accounttest.Rows[referenceRow](t, kind)
}

// referenceError is what the project asks for; most values are met to 1e-12.
const referenceError = 1e-8

// check compares with a reference value: never below it but for its own rounding,
// and never more than tolerance above.
func (r referenceRow) check(t *testing.T, name string, got, want, tolerance float64, err error) {
	t.Helper()
	if err != nil || !(got >= want*(1-4e-15) && got <= want*(1+tolerance)) {
		t.Errorf("%s: %s is %.17g, %v, want %.17g (relative difference %.1e)", r.ID, name, got, err, want, got/want-1)
	} else if testing.Verbose() {
		t.Logf("%s: %s %.17g, relative difference %.1e", r.ID, name, got, got/want-1)
	}
}

func TestReferenceBasic(t *testing.T) {
	for _, r := range referenceRows(t, "composition_basic") {
		gs := make([]Guarantee, r.K)
		for i := range gs {
			gs[i] = Guarantee{r.Eps0, r.Delta0}
		}
		g, err := Basic(gs...)
		r.check(t, "epsilon", g.Epsilon, r.Value, 1e-14, err)
		r.check(t, "delta", g.Delta, r.ValueDelta, 1e-14, err)
	}
}

func TestReferenceAdvanced(t *testing.T) {
	for _, r := range referenceRows(t, "composition_advanced") {
		g0 := Guarantee{r.Eps0, r.Delta0}
		g, err := AdvancedDworkRothblumVadhan(g0, r.K, r.DeltaSlack)
		r.check(t, "epsilon", g.Epsilon, r.Value, 1e-14, err)
		r.check(t, "delta", g.Delta, r.ValueDelta, 1e-14, err)
		g, err = AdvancedRefined(g0, r.K, r.DeltaSlack)
		r.check(t, "refined epsilon", g.Epsilon, r.Value2, 1e-14, err)
		r.check(t, "delta", g.Delta, r.ValueDelta, 1e-14, err)
		if best, err := Advanced(g0, r.K, r.DeltaSlack); err != nil || best.Epsilon > r.Value2*(1+1e-11) {
			t.Errorf("%s: best epsilon %v, %v, above the refined %v", r.ID, best.Epsilon, err, r.Value2)
		}
	}
}

func TestReferenceOptimal(t *testing.T) {
	for _, r := range referenceRows(t, "composition_optimal") {
		g := Guarantee{r.Eps0, r.Delta0}
		epsilon, err := Optimal(g, r.K, r.Delta)
		r.check(t, "epsilon", epsilon, r.Value, referenceError/1e3, err)
		if grid, ok := r.DPAccountingGrid.(float64); ok && epsilon > grid*(1+1e-15) {
			t.Errorf("%s: epsilon %v, above the answer %v on the paper's grid", r.ID, epsilon, grid)
		}
		delta, err := OptimalDelta(g, r.K, r.Value)
		r.check(t, "delta", delta, r.Delta, referenceError/1e2, err)
	}
	for _, r := range referenceRows(t, "randomized_response") {
		if r.Steps == 0 {
			continue // one release by itself is not about composition
		}
		delta, err := OptimalDelta(Guarantee{Epsilon: r.Eps0}, r.Steps, r.Eps)
		r.check(t, "delta", delta, r.Value, referenceError/1e3, err)
	}
}

func TestReferenceHeterogeneous(t *testing.T) {
	for _, r := range referenceRows(t, "composition_heterogeneous") {
		var gs []Guarantee
		for i, e := range r.EpsList {
			gs = append(gs, Guarantee{e, r.DeltaList[i]})
		}
		epsilon, err := OptimalHeterogeneous(gs, r.Delta)
		r.check(t, "epsilon", epsilon, r.Value, referenceError/1e3, err)
		epsilon, err = ClosedForm(gs, r.Delta)
		r.check(t, "closed form", epsilon, r.ValueClosedForm, 1e-11, err)
	}
}

func TestReferenceGroups(t *testing.T) {
	for _, r := range referenceRows(t, "group_eps_delta") {
		g, err := Group(Guarantee{r.Eps0, r.Delta0}, r.K)
		r.check(t, "epsilon", g.Epsilon, r.Value, 1e-14, err)
		r.check(t, "delta", g.Delta, r.ValueDelta, 1e-13, err)
		if g.Delta > r.ValueDeltaLoose {
			t.Errorf("%s: delta %v, above the loose %v", r.ID, g.Delta, r.ValueDeltaLoose)
		}
	}
	for _, r := range referenceRows(t, "group_rdp") {
		alpha, rdp, err := GroupRDP(r.Alpha, r.RDP, r.C)
		r.check(t, "order", alpha, r.ValueAlpha, 0, err)
		r.check(t, "divergence", rdp, r.Value, 1e-14, err)
	}
}

func TestReferenceShuffle(t *testing.T) {
	for _, r := range referenceRows(t, "shuffle") {
		closed, err := ShuffleClosedForm(r.Eps0, r.N, r.Delta)
		if (err == nil) != r.ConditionHolds {
			t.Errorf("%s: error %v, but the condition holds: %v", r.ID, err, r.ConditionHolds)
		}
		r.check(t, "closed form", closed, r.Value, 1e-14, err)
		// value2 is the formula of the program published with the paper; it is the
		// larger of the two, not the smaller as the README of the file says.
		r.check(t, "published program", programClosedForm(r.Eps0, r.N, r.Delta), r.Value2, referenceError, nil)
		numeric, err := Shuffle(r.Eps0, r.N, r.Delta)
		r.check(t, "numeric", numeric, r.ValueNumeric, referenceError/10, err)
		delta, err := ShuffleDelta(r.Eps0, r.N, r.ValueNumeric)
		r.check(t, "delta", delta, r.Delta, referenceError, err)
		if !(numeric < closed && closed < r.Value2) {
			t.Errorf("%s: numeric %v, closed %v, published program %v: want ascending", r.ID, numeric, closed, r.Value2)
		}
	}
}

// programClosedForm is closedformanalysis in computeamplification.py of
// github.com/apple/ml-shuffling-amplification (993d285).
func programClosedForm(local float64, n int, delta float64) float64 {
	spread := 8*math.Sqrt(math.Exp(local)*math.Log(4/delta)/float64(n)) + 8*math.Exp(local)/float64(n)
	return math.Log1p(-math.Expm1(-local) / (1 + math.Exp(-local)/(1+spread)) * spread)
}
