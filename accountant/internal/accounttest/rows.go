package accounttest

import (
	"encoding/json"
	"testing"

	"dpsgd/accountant"
)

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
