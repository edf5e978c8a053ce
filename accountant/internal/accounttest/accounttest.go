// Package accounttest has what the tests of the accountants share: ledgers, questions, and the
// values of other implementations, in a file that lies beside the repository.
package accounttest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dpsgd/accountant"
)

// Ledger returns the ledger of these entries.
func Ledger(t testing.TB, entries ...accountant.Entry) *accountant.Ledger {
	t.Helper()
	var l accountant.Ledger
	for _, e := range entries {
		if err := l.Add(e.Event, e.Count); err != nil {
			t.Fatal(err)
		}
	}
	return &l
}

// Composed returns the composition of these events.
func Composed(t testing.TB, events ...accountant.Event) accountant.Composed {
	t.Helper()
	c, err := accountant.Compose(events...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Epsilon returns epsilon at delta. It fails the test if the answer is refused or malformed.
func Epsilon(t testing.TB, a accountant.Accountant, l *accountant.Ledger, delta float64) float64 {
	t.Helper()
	e, ok := SupportedEpsilon(t, a, l, delta)
	if !ok {
		t.Fatalf("%s does not support %v under %v", a.Name(), l.Entries(), a.Relation())
	}
	return e
}

// SupportedEpsilon returns epsilon at delta and true, or false where the accountant refuses the
// events. It fails the test at any other error.
func SupportedEpsilon(t testing.TB, a accountant.Accountant, l *accountant.Ledger, delta float64) (float64, bool) {
	t.Helper()
	g, err := a.Guarantee(l, delta)
	if errors.Is(err, accountant.ErrUnsupported) && g == (accountant.Guarantee{}) {
		return 0, false
	}
	if err != nil {
		t.Fatalf("%v at delta %v: %v", l.Entries(), delta, err)
	}
	if math.IsNaN(g.Epsilon) || g.Epsilon < 0 || g.Delta != delta || g.Method == "" || g.Relation != a.Relation() {
		t.Fatalf("%v at delta %v: %+v", l.Entries(), delta, g)
	}
	return g.Epsilon, true
}

// Relative returns the error of got, divided by want, both as absolute values.
func Relative(got, want float64) float64 { return math.Abs(got-want) / math.Abs(want) }

// Row is one line of the shared reference values; their README describes the fields. What a kind
// does not have is zero.
type Row struct {
	ID, Kind, Name                string
	Q, Sigma, Scale, Alpha        float64
	Eps, Delta, Eps0, Delta0      float64
	Steps, K, N, Batch, Buckets   int
	Noise, Rho, Mean, Sensitivity float64
	Phases                        [][3]float64 // q, σ, steps
	Terms                         []json.RawMessage
	Orders, Shape                 json.RawMessage // a list or the name of one; a number or a word
	Value, Value2, Mu             float64
	MaxBatch                      int             `json:"max_batch"`
	StepCounts                    json.RawMessage `json:"step_counts"`
	EpsList                       []float64       `json:"eps_list"`
	DeltaList                     []float64       `json:"delta_list"`
	Pure                          float64         `json:"eps_pure"`
	ValueErr                      float64         `json:"value_err"`
	LnValue                       float64         `json:"ln_value"`
	LnValueErr                    float64         `json:"ln_value_err"`
	ValueRDP                      float64         `json:"value_rdp"`
	ValueAdd                      float64         `json:"value_add"`
	ValueReverse                  float64         `json:"value_reverse"`
	ValueDelta                    float64         `json:"value_delta"`
	ValueDeltaLoose               float64         `json:"value_delta_loose"`
	ValueClosedForm               float64         `json:"value_closed_form"`
	ValueNumeric                  float64         `json:"value_numeric"`
	ValueUniform                  float64         `json:"value_uniform"`
	ValueGaussian                 float64         `json:"value_gaussian"`
	MuUniform                     float64         `json:"mu_uniform"`
	ExactPoisson                  float64         `json:"exact_poisson"`
	CheckExact                    float64         `json:"check_exact"`
	CheckImproved                 float64         `json:"check_rdp_improved"`
	TruncationChance              float64         `json:"truncation_probability"`
	ConditionalChance             float64         `json:"conditional_probability"`
	DPAccountingGrid              any             `json:"dp_accounting_grid"` // a number, or why there is none
}

// Ledger returns the row's Poisson-sampled Gaussians: its phases, or else Steps of Q and Sigma.
func (r Row) Ledger(t *testing.T) *accountant.Ledger {
	t.Helper()
	phases := r.Phases
	if phases == nil {
		phases = [][3]float64{{r.Q, r.Sigma, float64(r.Steps)}}
	}
	var entries []accountant.Entry
	for _, p := range phases {
		step := accountant.PoissonSampled{SamplingProbability: p[0], Event: accountant.Gaussian{NoiseMultiplier: p[1]}}
		entries = append(entries, accountant.Entry{Event: step, Count: int(p[2])})
	}
	return Ledger(t, entries...)
}

// Lines returns the reference values for accounting by their kind: rows of JSON with the parameters
// of a mechanism and the answer that an accountant should come to. It skips the test where the file
// is not there: in $DPSGD_SHARED, or else in the folder shared beside the repository.
func Lines(t testing.TB) map[string][]json.RawMessage {
	t.Helper()
	shared := cmp.Or(os.Getenv("DPSGD_SHARED"), filepath.Join(root(t), "..", "shared"))
	data, err := os.ReadFile(filepath.Join(shared, "reference", "accounting.jsonl"))
	if err != nil {
		t.Skipf("no reference values (set DPSGD_SHARED to the folder that holds reference/): %v", err)
	}
	rows := map[string][]json.RawMessage{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var head struct{ Kind string }
		if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		rows[head.Kind] = append(rows[head.Kind], slices.Clone(lines.Bytes()))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// Rows returns the rows of one kind, of which there must be some. See Lines.
func Rows[R any](t testing.TB, kind string) []R {
	t.Helper()
	var rows []R
	for _, line := range Lines(t)[kind] {
		var row R
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatalf("no reference rows of kind %s", kind)
	}
	return rows
}

// root returns the folder of the repository: the one above the test that holds go.mod.
func root(t testing.TB) string {
	t.Helper()
	for dir := "."; len(dir) < 40; dir = filepath.Join("..", dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Skip("no reference values: the test does not run in the repository")
	return ""
}
