package accounttest

import (
	"encoding/json"
	"testing"

	"dpsgd/accountant"
)

// Row is one line of the shared reference values; its README describes them.
type Row struct {
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

// Ledger returns what the row composes.
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

// RenyiRow holds the fields of the reference rows whose answer has to do with Rényi
// divergences.
type RenyiRow struct {
	ID, Kind           string
	Q, Sigma, Scale    float64
	Alpha              *float64
	Steps, N, Batch, K int
	MaxBatch           int `json:"max_batch"`
	Buckets            int
	Delta, Noise, Rho  float64
	Mean               float64
	Shape, Orders      json.RawMessage
	StepCounts         json.RawMessage `json:"step_counts"`
	Value, Value2, Mu  float64
	ValueErr           float64  `json:"value_err"`
	MuUniform          float64  `json:"mu_uniform"`
	ValueUniform       float64  `json:"value_uniform"`
	ValueGaussian      float64  `json:"value_gaussian"`
	ExactPoisson       float64  `json:"exact_poisson"`
	CheckImproved      *float64 `json:"check_rdp_improved"`
	TruncationChance   float64  `json:"truncation_probability"`
	ConditionalChance  float64  `json:"conditional_probability"`
}
