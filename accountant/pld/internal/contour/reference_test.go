package contour

import (
	"math"
	"testing"

	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/internal/pair"
)

// row is one line of the shared reference values; their README describes them.
type row struct {
	ID, Kind      string
	Q, Sigma, Eps float64
	Steps         int
	Phases        [][3]float64 // q, σ, steps
	Value         float64
	Digits        string   `json:"value_digits"`
	Err           float64  `json:"value_err"`
	Delta         float64  `json:"delta"`
	LogValue      float64  `json:"ln_value"`
	LogErr        float64  `json:"ln_value_err"`
	Added         *float64 `json:"value_add"`
}

// rows returns the rows of one kind, and skips the test where there are none.
func rows(t *testing.T, kind string) []row {
	t.Helper()
	return accounttest.Rows[row](t, kind)
}

// parts returns what the row composes, in both directions.
func (r row) parts() (removed, added []pair.Part) {
	phases := r.Phases
	if phases == nil {
		phases = [][3]float64{{r.Q, r.Sigma, float64(r.Steps)}}
	}
	for _, p := range phases {
		removed = append(removed, pair.Part{Pair: pair.Removed(p[0], p[1]), Count: int(p[2])})
		added = append(added, pair.Part{Pair: pair.Removed(p[0], p[1]).Reversed(), Count: int(p[2])})
	}
	return removed, added
}

// Both directions of every composition agree with the reference, which was made with numpy by
// contours of its own, to 1e-9, or to the error that it states.
func TestReferenceEpsilons(t *testing.T) {
	for _, r := range rows(t, "eps_pld") {
		if r.Steps == 1 { // one release has a closed form and needs no contour
			continue
		}
		removed, added := r.parts()
		check := func(direction string, parts []pair.Part, want float64) {
			got, err := Epsilon(parts, r.Delta)
			if err != nil {
				t.Errorf("%s %s: %v", r.ID, direction, err)
				return
			}
			slack := max(r.Err, 1e-9*want)
			if !(math.Abs(got.Upper-want) <= slack) || !(math.Abs(got.Lower-want) <= slack) || !(got.Upper >= want-r.Err) {
				t.Errorf("%s %s: ε in [%v, %v], want %v ± %v", r.ID, direction, got.Lower, got.Upper, want, r.Err)
			}
		}
		check("remove", removed, r.Value)
		if r.Added != nil {
			check("add", added, *r.Added)
		}
	}
}

func TestReferenceDeltas(t *testing.T) {
	for _, r := range rows(t, "delta_at_eps") {
		if r.Steps == 1 {
			continue
		}
		removed, _ := r.parts()
		got, err := LogDelta(removed, r.Eps)
		slack := 1e-8
		if r.Value < 1e-15 && r.Q < 1e-4 {
			// Between the bulk of the loss and the loss of one sampled batch there is next to
			// nothing, and double precision gives this δ to 1 % only; the reference has 0.05 %.
			slack = 0.01
		}
		if err != nil || !(got.Lower-slack <= r.LogValue+r.LogErr) || !(got.Upper+slack >= r.LogValue-r.LogErr) ||
			!(got.Upper-got.Lower <= 2*slack) {
			t.Errorf("%s: log δ in [%v, %v], %v, want %v ± %v", r.ID, got.Lower, got.Upper, err, r.LogValue, r.LogErr)
		}
	}
}
