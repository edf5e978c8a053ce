package accountant

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"dpsgd/accountant/internal/reference"
)

// referenceRow is one line of the shared reference values; its README describes them.
type referenceRow struct {
	ID, Kind, Name         string
	Q, Sigma, Alpha, Delta float64
	Eps                    float64
	Steps                  int
	Phases                 [][3]float64    // q, σ, steps
	Orders                 json.RawMessage // a list, or the name of one
	Value                  float64
	ValueErr               float64  `json:"value_err"`
	ValueRDP               float64  `json:"value_rdp"`
	ValueReverse           *float64 `json:"value_reverse"`
}

// referenceRows returns the rows of one kind, and skips the test where there are none.
func referenceRows(t *testing.T, kind string) []referenceRow {
	t.Helper()
	return reference.Rows[referenceRow](t, kind)
}

// covered says where the rows of a kind are tested; notCovered which kinds the package
// does not have.
var (
	covered = map[string]string{
		"orders": "lists that other rows name", "rdp_poisson_gaussian": "TestReferenceDivergences",
		"eps_rdp": "TestReferenceEpsilons", "calibrate_sigma": "TestReferenceCalibrations",
		"eps_pld": "TestReferenceExact", "delta_at_eps": "TestReferenceExact", "replace_one_poisson": "TestReferenceExact",
		"group_dpsgd": "TestReferenceExact", "truncated_poisson": "TestReferenceExact", "mixed_composition": "TestReferenceExact",
		"gaussian_eps": "TestReferenceExact", "gaussian_delta": "TestReferenceExact",
		"laplace": "TestReferenceExact, rdp_reference_test.go, mechanism", "published": "TestReferenceExact, rdp_reference_test.go",
		"randomized_response": "TestReferenceExact, rdp_reference_test.go, mechanism, composition",
		"gdp":                 "gdp_test.go", "zcdp": "zcdp_test.go", "rdp_sample_wor": "rdp_reference_test.go",
		"eps_sample_wor": "rdp_reference_test.go", "rdp_tree": "rdp_reference_test.go", "rdp_repeat_select": "rdp_reference_test.go",
		"gaussian_mechanism": "mechanism", "composition_basic": "composition", "composition_advanced": "composition",
		"composition_optimal": "composition", "composition_heterogeneous": "composition", "group_rdp": "composition",
		"group_eps_delta": "composition", "shuffle": "composition",
	}
	notCovered = []string{"pate_gnmax", "pate_lnmax", "pate_threshold"}
)

// Every kind is covered, or known not to be.
func TestReferenceKinds(t *testing.T) {
	rows := 0
	for kind, lines := range reference.Lines(t) {
		switch {
		case slices.Contains(notCovered, kind):
			t.Logf("not covered: %d rows of kind %s (data-dependent bounds of PATE)", len(lines), kind)
		case covered[kind] == "":
			t.Errorf("%d rows of kind %s are tested nowhere", len(lines), kind)
		default:
			rows += len(lines)
		}
	}
	t.Logf("%d rows of %d kinds are covered", rows, len(covered))
}

// ledger returns what the row composes.
func (r referenceRow) ledger(t *testing.T) *Ledger {
	t.Helper()
	phases := r.Phases
	if phases == nil {
		phases = [][3]float64{{r.Q, r.Sigma, float64(r.Steps)}}
	}
	var l Ledger
	for _, p := range phases {
		if err := l.Add(PoissonSampled{p[0], Gaussian{p[1]}}, int(p[2])); err != nil {
			t.Fatal(err)
		}
	}
	return &l
}

// referenceRDP returns the accountants over the named lists of orders.
func referenceRDP(t *testing.T) map[string]*RDP {
	t.Helper()
	accountants := map[string]*RDP{}
	for _, row := range referenceRows(t, "orders") {
		var orders []float64
		if err := json.Unmarshal(row.Orders, &orders); err != nil {
			t.Fatal(err)
		}
		accountants[row.Name] = newRDP(t, orders)
	}
	return accountants
}

func TestReferenceDivergences(t *testing.T) {
	for _, row := range referenceRows(t, "rdp_poisson_gaussian") {
		d, err := renyiDivergence(PoissonSampled{row.Q, Gaussian{row.Sigma}})
		if err != nil {
			t.Fatal(err)
		}
		got := d(row.Alpha)
		if e := relative(got, row.Value); !(e < relativeError) { // the project asks for 1e-9
			t.Errorf("%s: q=%v σ=%v α=%v: %v, want %v (relative error %.1e)", row.ID, row.Q, row.Sigma, row.Alpha, got, row.Value, e)
		}
		if row.ValueReverse != nil && *row.ValueReverse > got {
			t.Errorf("%s: the other direction is larger, %v > %v", row.ID, *row.ValueReverse, got)
		}
	}
}

func TestReferenceEpsilons(t *testing.T) {
	accountants := referenceRDP(t)
	for _, row := range referenceRows(t, "eps_rdp") {
		var name string
		if err := json.Unmarshal(row.Orders, &name); err != nil {
			t.Fatal(err)
		}
		got := epsilon(t, accountants[name], row.ledger(t), row.Delta)
		if e := math.Abs(got - row.Value); !(e <= 1e-10*row.Value) { // the project asks for 1e-6
			t.Errorf("%s: epsilon %v, want %v (difference %.1e)", row.ID, got, row.Value, e)
		}
	}
}

// Every accountant that knows DP-SGD is an upper bound of the exact epsilon of the composition.
func TestReferenceExactEpsilons(t *testing.T) {
	for _, name := range Names() {
		a := newAccountant(t, name)
		for _, row := range referenceRows(t, "eps_pld") {
			g, err := a.Guarantee(row.ledger(t), row.Delta)
			if errors.Is(err, ErrUnsupported) {
				continue
			}
			if err != nil || !(g.Epsilon >= row.Value-row.ValueErr) {
				t.Errorf("%s: %s answers %v, %v, below the exact %v", row.ID, name, g.Epsilon, err, row.Value)
			}
		}
	}
}

func TestReferenceCalibrations(t *testing.T) {
	accountants := referenceRDP(t)
	for _, row := range referenceRows(t, "calibrate_sigma") {
		event := func(sigma float64) Event { return PoissonSampled{row.Q, Gaussian{sigma}} }
		target := Guarantee{Epsilon: row.Eps, Delta: row.Delta}
		got, err := CalibrateNoiseMultiplier(accountants["opacus"], event, row.Steps, target)
		if err != nil || got < row.ValueRDP*(1-1e-9) || got > row.ValueRDP*(1+1e-6) {
			t.Errorf("%s: σ = %v, %v, want %v or up to 1e-6 more", row.ID, got, err, row.ValueRDP)
		}
		exact, err := CalibrateNoiseMultiplier(newAccountant(t, nameExact), event, row.Steps, target)
		if err != nil || !(math.Abs(exact-row.Value) <= 1e-8*row.Value) {
			t.Errorf("%s: σ = %v by the exact accountant, %v, want %v", row.ID, exact, err, row.Value)
		}
		best, err := CalibrateNoiseMultiplier(newRDP(t, DefaultOrders()), event, row.Steps, target)
		if err != nil || best < row.Value || best > got*(1+1e-3) {
			t.Errorf("%s: σ = %v with the default orders, %v, want from the exact %v to about %v", row.ID, best, err, row.Value, got)
		}
	}
}
