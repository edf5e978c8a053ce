package votes_test

import (
	"math"
	"testing"

	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/votes"
)

// row is a reference value: from TensorFlow Privacy 0.9.0, research/pate_2018/core.py, held against
// 40 digits where the file says so.
type row struct {
	ID               string
	Votes            []int
	Sigma, Scale     float64
	Threshold        float64
	Alphas, Value    []float64
	ValueIndependent []float64 `json:"value_independent"`
	PureEps          float64   `json:"pure_eps"`
	LogQ             *float64
	LogPassed        *float64 `json:"logpr_answered"`
}

// The six rows of the reference values agree to nine digits. The divergences at q below 1e-250 have
// cancelled there: a sum of 1 and 1e-258 is 1.
func TestReferenceRows(t *testing.T) {
	rows := 0
	for _, kind := range []string{"pate_gnmax", "pate_lnmax", "pate_threshold"} {
		for _, r := range accounttest.Rows[row](t, kind) {
			rows++
			var m votes.Mechanism
			var logQ float64
			switch kind {
			case "pate_gnmax":
				g := votes.GaussianMax{Sigma: r.Sigma}
				m, logQ = g, g.LogQ(r.Votes)
			case "pate_lnmax":
				l := votes.LaplaceMax{Scale: r.Scale}
				m, logQ = l, l.LogQ(r.Votes)
			case "pate_threshold":
				h := votes.Threshold{At: r.Threshold, Sigma: r.Sigma}
				m, logQ = h, h.LogPassed(r.Votes)
			}
			for _, want := range []*float64{r.LogQ, r.LogPassed} {
				if want != nil && !(accounttest.Relative(logQ, *want) <= 1e-9) {
					t.Errorf("%s: log q = %v, want %v", r.ID, logQ, *want)
				}
			}
			for i, alpha := range r.Alphas {
				if got := m.Divergence(r.Votes, alpha); !(accounttest.Relative(got, r.Value[i]) <= 1e-9) {
					t.Errorf("%s: order %v: %v, want %v", r.ID, alpha, got, r.Value[i])
				}
				want := min(r.PureEps, r.PureEps*r.PureEps*alpha/2)
				if r.ValueIndependent != nil {
					want = r.ValueIndependent[i]
				}
				if got := m.Independent(alpha); !(math.Abs(got-want) <= 1e-12*want) {
					t.Errorf("%s: order %v for all votes: %v, want %v", r.ID, alpha, got, want)
				}
			}
		}
	}
	if rows != 6 {
		t.Errorf("found %d rows, expected 6", rows)
	}
}

// Checks and answers whose results are lost cost what they cost for the worst votes, each of them
// once.
func TestLostChecksAndAnswersCost(t *testing.T) {
	check, most := votes.Threshold{At: 7, Sigma: 3}, votes.GaussianMax{Sigma: 2}
	for _, a := range []votes.Aggregation{{Max: most, Check: &check}, {Max: most}} {
		for _, alpha := range []float64{1.5, 8, 200} {
			want := 3 * most.Independent(alpha)
			if a.Check != nil {
				want += 5 * alpha / (2 * 3 * 3) // Mironov 2017, Proposition 7, for one vote in a deviation of 3
			}
			if got := a.Lost(5, 3, alpha); !(math.Abs(got/want-1) <= 1e-12) {
				t.Errorf("with check %v, order %v: %v, want %v", a.Check, alpha, got, want)
			}
		}
	}
	unanswered := votes.Question{Votes: []int{9, 1}}
	if got := (votes.Aggregation{Max: most, Check: &check}).Divergence([]votes.Question{unanswered}, 8); got <= check.Divergence(unanswered.Votes, 8) {
		t.Errorf("a check costs %v, expected a hair more than it does", got)
	}
	lost := votes.Aggregation{Max: most, Check: &check}.NewAccount()
	nothing, _ := lost.Epsilon(1e-3)
	lost.AddLost(20, 0)
	lost.AddLost(10, 0)
	// The least of 30·α/18 + log(1-1/α) - log(1e-3·α)/(α-1) over α is the ε of 30 Gaussian events
	// of σ = 3.
	want := math.Inf(1)
	for alpha := 1.001; alpha < 500; alpha *= 1.001 {
		want = min(want, 30*alpha/18+math.Log1p(-1/alpha)-math.Log(1e-3*alpha)/(alpha-1))
	}
	if got, _ := lost.Epsilon(1e-3); !(got >= want*(1-1e-12) && got <= want*1.01) || nothing >= got {
		t.Errorf("30 lost checks cost %v, expected %v up to a hundredth more", got, want)
	}
}
