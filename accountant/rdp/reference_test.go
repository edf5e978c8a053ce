package rdp

import (
	"encoding/json"
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/pld"
)

// covered says where the rows of a kind are tested.
var covered = map[string]string{
	"orders": "lists that other rows name", "rdp_poisson_gaussian": "rdp",
	"eps_rdp": "rdp", "calibrate_sigma": "rdp",
	"eps_pld": "pld", "delta_at_eps": "pld", "replace_one_poisson": "pld",
	"group_dpsgd": "pld", "truncated_poisson": "pld", "mixed_composition": "pld",
	"gaussian_eps": "pld", "gaussian_delta": "pld",
	"laplace": "pld, rdp, mechanism", "published": "pld, rdp",
	"randomized_response": "pld, rdp, mechanism, composition",
	"gdp":                 "gdp", "zcdp": "zcdp", "rdp_sample_wor": "rdp",
	"eps_sample_wor": "rdp", "rdp_tree": "rdp", "rdp_repeat_select": "rdp",
	"gaussian_mechanism": "mechanism", "composition_basic": "composition", "composition_advanced": "composition",
	"composition_optimal": "composition", "composition_heterogeneous": "composition", "group_rdp": "composition",
	"group_eps_delta": "composition", "shuffle": "composition",
	"pate_gnmax": "pate", "pate_lnmax": "pate", "pate_threshold": "pate",
}

// Every kind is covered.
func TestReferenceKinds(t *testing.T) {
	rows := 0
	for kind, lines := range accounttest.Lines(t) {
		if covered[kind] == "" {
			t.Errorf("%d rows of kind %s are tested nowhere", len(lines), kind)
		}
		rows += len(lines)
	}
	t.Logf("%d rows of %d kinds are covered", rows, len(covered))
}

// referenceRDP returns the accountants over the named lists of orders.
func referenceRDP(t *testing.T) map[string]*Accountant {
	t.Helper()
	accountants := map[string]*Accountant{}
	for _, row := range accounttest.Rows[accounttest.Row](t, "orders") {
		var orders []float64
		if err := json.Unmarshal(row.Orders, &orders); err != nil {
			t.Fatal(err)
		}
		accountants[row.Name] = newRDP(t, orders)
	}
	return accountants
}

func TestReferenceDivergences(t *testing.T) {
	for _, row := range accounttest.Rows[accounttest.Row](t, "rdp_poisson_gaussian") {
		d, err := divergenceOf(accountant.PoissonSampled{SamplingProbability: row.Q, Event: accountant.Gaussian{NoiseMultiplier: row.Sigma}}, accountant.AddOrRemoveOne, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := d(row.Alpha)
		if e := accounttest.Relative(got, row.Value); !(e < relativeError) { // the project asks for 1e-9
			t.Errorf("%s: q=%v σ=%v α=%v: %v, want %v (relative error %.1e)", row.ID, row.Q, row.Sigma, row.Alpha, got, row.Value, e)
		}
		if row.ValueReverse > got {
			t.Errorf("%s: the other direction is larger, %v > %v", row.ID, row.ValueReverse, got)
		}
	}
}

func TestReferenceEpsilons(t *testing.T) {
	accountants := referenceRDP(t)
	for _, row := range accounttest.Rows[accounttest.Row](t, "eps_rdp") {
		var name string
		if err := json.Unmarshal(row.Orders, &name); err != nil {
			t.Fatal(err)
		}
		got := accounttest.Epsilon(t, accountants[name], row.Ledger(t), row.Delta)
		if e := math.Abs(got - row.Value); !(e <= 1e-10*row.Value) { // the project asks for 1e-6
			t.Errorf("%s: epsilon %v, want %v (difference %.1e)", row.ID, got, row.Value, e)
		}
	}
}

func TestReferenceCalibrations(t *testing.T) {
	accountants := referenceRDP(t)
	for _, row := range accounttest.Rows[accounttest.Row](t, "calibrate_sigma") {
		event := func(sigma float64) accountant.Event {
			return accountant.PoissonSampled{SamplingProbability: row.Q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}
		}
		target := accountant.Guarantee{Epsilon: row.Eps, Delta: row.Delta}
		got, err := accountant.CalibrateNoiseMultiplier(accountants["opacus"], event, row.Steps, target)
		if err != nil || got < row.ValueRDP*(1-1e-9) || got > row.ValueRDP*(1+1e-6) {
			t.Errorf("%s: σ = %v, %v, want %v or up to 1e-6 more", row.ID, got, err, row.ValueRDP)
		}
		exact, err := accountant.CalibrateNoiseMultiplier(newExact(t), event, row.Steps, target)
		if err != nil || !(math.Abs(exact-row.Value) <= 1e-8*row.Value) {
			t.Errorf("%s: σ = %v by the exact accountant, %v, want %v", row.ID, exact, err, row.Value)
		}
		best, err := accountant.CalibrateNoiseMultiplier(newRDP(t, DefaultOrders()), event, row.Steps, target)
		if err != nil || best < row.Value || best > got*(1+1e-3) {
			t.Errorf("%s: σ = %v with the default orders, %v, want from the exact %v to about %v", row.ID, best, err, row.Value, got)
		}
	}
}

func newExact(t testing.TB) *pld.Accountant {
	t.Helper()
	a, err := pld.NewExact(accountant.AddOrRemoveOne)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
