package train

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"text/template"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/data"
)

// Statement is what a run claims about privacy, and everything the claim rests on. Equal ledgers
// and plans give equal statements.
type Statement struct {
	Run                 string   `json:"run"` // the name of its folder
	Status              Status   `json:"status"`
	Unit                string   `json:"unit"`
	Relation            string   `json:"relation"`
	Neighbours          string   `json:"neighbours"`
	Public              string   `json:"public"` // what neighbours have in common
	Epsilon             float64  `json:"epsilon"`
	EpsilonRDP          *float64 `json:"epsilon_rdp,omitempty"`   // the same by RDP, beside another accountant
	EpsilonPlain        *float64 `json:"epsilon_plain,omitempty"` // an upper bound by the formula of accountant.PlainEpsilon
	Delta               float64  `json:"delta"`
	AddedDelta          float64  `json:"added_delta"` // on top, by the laws of sampler and noise; nothing on top of epsilon
	TargetEpsilon       float64  `json:"target_epsilon,omitempty"`
	Accountant          string   `json:"accountant"` // that answered
	Method              string   `json:"method"`
	Sampler             string   `json:"sampler"`
	Sampling            string   `json:"sampling"`
	SamplingProbability float64  `json:"sampling_probability"`
	Mechanism           string   `json:"mechanism"`
	Noise               string   `json:"noise"`
	NoiseValues         int      `json:"noise_values"` // coordinates of all releases
	NoiseMultiplier     float64  `json:"noise_multiplier"`
	ClipNorm            float64  `json:"clip_norm"`
	Clipping            string   `json:"clipping"`
	Bound               string   `json:"bound"`
	ExpectedBatchSize   float64  `json:"expected_batch_size"`
	MaxSteps            int      `json:"max_steps"` // steps that the budget allows of the planned ones, fixed before the first
	PlannedSteps        int      `json:"planned_steps"`
	Steps               int      `json:"steps"`          // updates in the model
	LedgerEntries       int      `json:"ledger_entries"` // releases that are accounted for; more than steps after a crash
	LedgerHead          string   `json:"ledger_head"`    // hash of the ledger after them
	Together                     // of all runs on this data, if there are others
	Data                string   `json:"data"`
	Examples            int      `json:"examples"`
	Shape               string   `json:"shape"` // of one example
	Classes             int      `json:"classes"`
	// NotPrivate lists what the run wrote or treated as public without protection.
	NotPrivate []string `json:"not_private"`
	// Fallbacks are the questions that the configured accountant did not answer and RDP did.
	Fallbacks []Fallback `json:"fallbacks,omitempty"`
}

// statement describes a run whose ledger has the given guarantee, in the words of the door that it
// went through.
func (r *Run) statement(status Status, spent Spent, together Together) Statement {
	releases, dim := r.journal.Len(), len(r.model.Values)
	claim := r.plan.Claim(dim, releases, spent.Epsilon)
	s := Statement{
		Run: r.name(), Status: status, Unit: claim.Unit, Relation: spent.Relation.String(), Neighbours: claim.Neighbours, Public: claim.Public,
		Epsilon: spent.Epsilon, EpsilonRDP: spent.EpsilonRDP, Delta: spent.Delta, AddedDelta: claim.AddedDelta,
		Accountant: spent.Accountant, Method: spent.Method,
		Sampler: r.plan.Sampler.Name(), Sampling: claim.Sampling, SamplingProbability: r.plan.SamplingProbability,
		Mechanism: r.plan.Mechanism.Name(), Noise: claim.Noise, NoiseValues: dim * releases, NoiseMultiplier: r.plan.NoiseMultiplier,
		ClipNorm: r.plan.Policy.Bound(), Clipping: r.plan.Policy.Name(), Bound: claim.Clipping,
		ExpectedBatchSize: r.plan.ExpectedBatchSize, MaxSteps: r.plan.MaxSteps, PlannedSteps: r.plan.Steps, Steps: r.step,
		LedgerEntries: releases, LedgerHead: r.journal.Hash(), Together: together,
		Data: r.registered.Data.Name, Examples: r.registered.Data.Examples, Shape: r.registered.Data.Shape, Classes: r.registered.Data.Classes,
		NotPrivate: notPrivate(r.source, r.diagnosed()), Fallbacks: r.plan.Fallbacks,
	}
	if plain, err := accountant.PlainEpsilon(r.journal.Ledger(), spent.Delta); err == nil && !math.IsInf(plain, 1) {
		s.EpsilonPlain = &plain
	}
	if r.plan.Budget != nil {
		s.TargetEpsilon = r.plan.Budget.Epsilon
	}
	return s
}

// name is that of the run's folder, without where it lies: a statement may be published.
func (r *Run) name() string { return nameOf(r.Dir) }

// diagnosed says whether the run writes diagnostics, or an earlier part of it did.
func (r *Run) diagnosed() bool {
	_, err := os.Lstat(r.path(diagnosticsFile))
	return r.diagnoses != nil || err == nil
}

func notPrivate(source *data.Source, diagnosed bool) []string {
	shape, kept := source.Train.Shape(), "the size and channels of the pictures"
	if shape.IsRow() {
		kept = "the names of the columns"
	}
	list := []string{
		fmt.Sprintf("the number of training examples, %d, which fixes the sampling probability", source.Train.Len()),
		fmt.Sprintf("the names of the classes, %s, and every value of the configuration; if they were chosen by looking at the training %s, that choice is not covered", kept, shape.Noun()),
		"the test " + shape.Noun() + ": the test accuracy and test loss are computed without protection",
		"how long the run and its steps took, and the times of its files: a step takes longer when more examples were drawn. No file of the run holds such a time, but for private diagnostics",
	}
	if diagnosed {
		list = append(list, fmt.Sprintf("%s: training losses, gradient norms, clipped fractions, real batch sizes and times of steps, computed from the training examples without noise. Whoever sees that file has no guarantee", diagnosticsFile))
	}
	return list
}

//go:embed privacy.md.tmpl
var statementText string

var statementTemplate = template.Must(template.New(statementFile).Funcs(template.FuncMap{
	"up":    func(epsilon float64) string { return accountant.RoundUp(epsilon, 3) },
	"below": powerAbove,
}).Parse(statementText))

// powerAbove is a power of ten that is not below x, at least 1e-300.
func powerAbove(x float64) string {
	return fmt.Sprintf("1e%d", max(-300, int(math.Ceil(math.Log10(x)))))
}

// Markdown is the statement as a person reads it.
func (s Statement) Markdown() ([]byte, error) {
	var b bytes.Buffer
	if err := statementTemplate.Execute(&b, s); err != nil {
		return nil, fmt.Errorf("train: privacy statement: %w", err)
	}
	return b.Bytes(), nil
}

// writeStatement writes privacy.json and privacy.md.
func (r *Run) writeStatement(s Statement) error {
	text, err := s.Markdown()
	if err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("train: privacy statement: %w", err)
	}
	if err := checkpoints.WriteFileAtomic(r.path(statementData), append(encoded, '\n'), 0o600); err != nil {
		return err
	}
	return checkpoints.WriteFileAtomic(r.path(statementFile), text, 0o600)
}
