package accountant

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
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

// referenceRows returns the rows of one kind, and skips the test where the file is
// not there: it lies beside the repository, in ../shared or $DPSGD_SHARED.
func referenceRows(t *testing.T, kind string) []referenceRow {
	t.Helper()
	shared := os.Getenv("DPSGD_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	f, err := os.Open(filepath.Join(shared, "reference", "accounting.jsonl"))
	if err != nil {
		t.Skipf("no reference values (set DPSGD_SHARED to the folder that holds reference/): %v", err)
	}
	defer f.Close()
	var rows []referenceRow
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var head struct{ Kind string }
		if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != kind {
			continue
		}
		var row referenceRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Fatalf("no reference rows of kind %s", kind)
	}
	return rows
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

// Every accountant is an upper bound of the exact epsilon of the composition.
func TestReferenceExactEpsilons(t *testing.T) {
	for _, name := range Names() {
		a, err := New(name, AddOrRemoveOne)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range referenceRows(t, "eps_pld") {
			if got := epsilon(t, a, row.ledger(t), row.Delta); !(got >= row.Value-row.ValueErr) {
				t.Errorf("%s: %s answers %v, below the exact %v", row.ID, name, got, row.Value)
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
		best, err := CalibrateNoiseMultiplier(newRDP(t, DefaultOrders()), event, row.Steps, target)
		if err != nil || best < row.Value || best > got*(1+1e-3) {
			t.Errorf("%s: σ = %v with the default orders, %v, want from the exact %v to about %v", row.ID, best, err, row.Value, got)
		}
	}
}
