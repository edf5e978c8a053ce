package train

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/data"
)

// Cost is a guarantee with what it was computed from.
type Cost struct {
	Epsilon    float64 `json:"epsilon"`
	Delta      float64 `json:"delta"`
	Accountant string  `json:"accountant"`
	Relation   string  `json:"relation"`
	Method     string  `json:"method"`

	// Of steps that are asked about without a run.
	SamplingProbability float64 `json:"sampling_probability,omitempty"`
	NoiseMultiplier     float64 `json:"noise_multiplier,omitempty"`
	Steps               int     `json:"steps,omitempty"`
	TargetEpsilon       float64 `json:"target_epsilon,omitempty"`

	// Of a run.
	Run      string `json:"run,omitempty"`
	Releases *int   `json:"releases,omitempty"` // entries of the ledger
}

// Question asks what DP-SGD with these numbers costs, or would need.
type Question struct {
	SamplingProbability float64
	NoiseMultiplier     float64 // ignored by Calibrate
	Steps               int
	Delta               float64
	Accountant          string
}

// event is what one step releases.
func (q Question) event(noiseMultiplier float64) accountant.Event {
	return data.Poisson{SamplingProbability: q.SamplingProbability}.Sampled(accountant.Gaussian{NoiseMultiplier: noiseMultiplier})
}

// Cost computes ε.
func (q Question) Cost() (Cost, error) {
	account, err := accountant.New(q.Accountant, accountant.AddOrRemoveOne)
	if err != nil {
		return Cost{}, err
	}
	l, err := new(accountant.Ledger).With(q.event(q.NoiseMultiplier), q.Steps)
	if err != nil {
		return Cost{}, err
	}
	c, err := costOf(account, l, q.Delta)
	c.SamplingProbability, c.NoiseMultiplier, c.Steps = q.SamplingProbability, q.NoiseMultiplier, q.Steps
	return c, err
}

// Calibrate finds the least noise multiplier with which the steps stay within ε, and what they cost with it.
func (q Question) Calibrate(epsilon float64) (Cost, error) {
	account, err := accountant.New(q.Accountant, accountant.AddOrRemoveOne)
	if err != nil {
		return Cost{}, err
	}
	target := accountant.Guarantee{Epsilon: epsilon, Delta: q.Delta, Relation: accountant.AddOrRemoveOne}
	if q.NoiseMultiplier, err = accountant.CalibrateNoiseMultiplier(account, q.event, q.Steps, target); err != nil {
		return Cost{}, err
	}
	c, err := q.Cost()
	c.TargetEpsilon = epsilon
	return c, err
}

// SpentBy is what a run has spent by its ledger, at the δ of its configuration or, when delta is not 0, at that one. It
// only reads, so the run may be going on.
func SpentBy(dir string, delta float64) (Cost, error) {
	c, err := readConfig(dir)
	if err != nil {
		return Cost{}, err
	}
	l, _, err := readLedger(dir)
	if err != nil {
		return Cost{}, err
	}
	account, err := accountant.New(c.Privacy.Accountant, accountant.AddOrRemoveOne)
	if err != nil {
		return Cost{}, err
	}
	if delta == 0 {
		delta = c.Privacy.Delta
	}
	cost, err := costOf(account, l, delta)
	releases := l.Count()
	cost.Run, cost.Releases, cost.TargetEpsilon = dir, &releases, c.Privacy.Epsilon
	return cost, err
}

func readLedger(dir string) (*accountant.Ledger, checkpoints.JournalInfo, error) {
	l, info, err := checkpoints.ReadJournal(filepath.Join(dir, ledgerFile))
	return l, info, withoutLedger(dir, err)
}

// withoutLedger says what a missing ledger means.
func withoutLedger(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s holds no %s, expected the folder of a run such as runs/digits-1", ErrNoRun, dir, ledgerFile)
	}
	return err
}

func costOf(account accountant.Accountant, l *accountant.Ledger, delta float64) (Cost, error) {
	g, err := account.Guarantee(l, delta)
	if err == nil && math.IsInf(g.Epsilon, 1) {
		err = fmt.Errorf("%w: epsilon is infinite, expected enough noise for a guarantee", ErrNoGuarantee)
	}
	return Cost{Epsilon: g.Epsilon, Delta: delta, Accountant: account.Name(), Relation: g.Relation.String(), Method: g.Method}, err
}

// ErrNoGuarantee: what was asked about has no guarantee at all.
var ErrNoGuarantee = errors.New("train: no guarantee")
