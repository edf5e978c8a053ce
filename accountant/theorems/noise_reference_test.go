package theorems

import (
	"math"
	"testing"

	"dpsgd/accountant/internal/accounttest"
)

// noiseRow is one line of the shared reference values; its README describes them.
// Fields that a row does not have are nil.
type noiseRow struct {
	ID, Kind           string
	Eps, Delta         *float64
	Sensitivity, Alpha *float64
	Sigma, Scale       *float64
	Noise              *float64
	Buckets, Steps     *int
	Value              float64
	Log                *float64 `json:"ln_value"`
	Pure               *float64 `json:"eps_pure"`
}

// noiseRows returns the rows of one kind, and skips the test where there are none.
func noiseRows(t *testing.T, kind string) []noiseRow {
	t.Helper()
	return accounttest.Rows[noiseRow](t, kind)
}

// check compares a result, and its error, with a reference value: not below it but for the
// rounding of the reference, and at most 2e-14 above. The project asks for 1e-8.
func (r noiseRow) check(t *testing.T, what string, want float64) func(got float64, err error) {
	return func(got float64, err error) {
		t.Helper()
		if err != nil || !(got >= want*(1-0x1p-52) && got <= want*(1+2e-14)) {
			t.Errorf("%s: %s = %v, %v, want %v (relative difference %.1e)", r.ID, what, got, err, want, got/want-1)
		}
	}
}

func TestReferenceGaussian(t *testing.T) {
	for _, row := range noiseRows(t, "gaussian_mechanism") {
		sigma, err := GaussianNoiseMultiplier(*row.Eps, *row.Delta)
		row.check(t, "σ", row.Value)(sigma**row.Sensitivity, err)
	}
	for _, row := range noiseRows(t, "gaussian_eps") {
		row.check(t, "ε", row.Value)(GaussianEpsilon(*row.Sigma, *row.Delta))
	}
	for _, row := range noiseRows(t, "gaussian_delta") {
		row.check(t, "δ", row.Value)(GaussianDelta(*row.Sigma, *row.Eps))
		log := logDelta(*row.Sigma, *row.Eps)
		if math.Abs(log-*row.Log) > 1e-13 {
			t.Errorf("%s: ln δ = %v, want %v", row.ID, log, *row.Log)
		}
	}
}
