package train

import (
	"fmt"
	"math"
	"os"

	"dpsgd/accountant"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/statement"
)

// statement describes a run whose ledger has the given guarantee, with the claim that its plan
// makes.
func (r *Run) statement(status run.Status, spent account.Claim, together statement.Together) statement.Statement {
	means, choices, entries, dim := r.means(), account.Choices(r.Books.Ledger()), r.Books.Len(), r.records.Coordinates()
	steps := entries - choices - means
	claim := r.plan.Claim(dim, steps, spent.Epsilon)
	s := statement.Statement{
		Run: r.Name(), Status: string(status), Unit: claim.Unit, Relation: spent.Relation.String(), Neighbours: claim.Neighbours, Public: claim.Public,
		Answer: spent.Answer(), AddedDelta: claim.AddedDelta,
		Method:  spent.Method,
		Sampler: r.plan.Sampler.Name(), Sampling: claim.Sampling, SamplingProbability: r.plan.SamplingProbability,
		Mechanism: r.plan.Mechanism.Name(), Noise: claim.Noise, NoiseValues: dim * steps, NoiseMultiplier: r.plan.NoiseMultiplier(),
		ClipNorm: r.plan.Policy.Bound(), Clipping: r.plan.Policy.Name(), Bound: claim.Clipping,
		ExpectedBatchSize: r.plan.ExpectedBatchSize, MaxSteps: r.plan.MaxSteps, PlannedSteps: r.plan.Steps, Steps: r.Step,
		LedgerEntries: entries, LedgerHead: r.Books.Hash(), Together: together,
		Data: r.Source.Name, Examples: r.Registered.Data.Examples, Shape: r.Registered.Data.Shape, Classes: r.Registered.Data.Classes,
		NotPrivate: notPrivate(r.Source.Outline, r.plan.Sampler, r.plan.SamplingProbability, r.Config.Data.Vectors != "", r.diagnosed()), Fallbacks: r.plan.Fallbacks,
		Released: spent.Released, Repeated: account.Choices(spent.Ledger) - choices,
		FrozenValues: r.Model.FrozenValues(), Extended: r.extended(), Choices: choices,
	}
	if s.Released != nil {
		s.ClaimedEntries = spent.Ledger.Count() - account.Choices(spent.Ledger)
	}
	if r.Initial != "" {
		ofWeights(r.Config.Model, r.Initial, &s)
	}
	if released, divisor, err := account.Seen(spent.Ledger); err == nil {
		if plain, err := accountant.PlainEpsilon(released, spent.Delta/divisor); err == nil && !math.IsInf(plain, 1) {
			s.EpsilonPlain = &plain
		}
	}
	if r.Config.Features.Any() {
		s.Features = r.Config.Features.Recipe.String()
	}
	if r.Config.Training.Augmentation.Any() {
		s.Augmentation = r.Config.Training.Augmentation.String()
	}
	if means > 0 {
		width := r.Examples.Train.Shape().Values()
		ahead := r.plan.Mean.Claim(width, means, spent.Epsilon)
		s.FeatureMean = fmt.Sprintf("the sum of the features of all examples, %s: one example adds at most C = %g; %s", times(means), r.plan.Mean.Policy.Bound(), ahead.Noise)
		s.AddedDelta = min(1, s.AddedDelta+ahead.AddedDelta)
		s.NoiseValues += width * means
	}
	if r.plan.Budget != nil {
		s.TargetEpsilon = r.plan.Budget.Epsilon
	}
	if folder.OfHiddenNumber(r.Dir) {
		s.Hidden, s.Together = true, statement.Together{}
	}
	ofRecords(r.Config, r.Source.Outline, r.plan.Mechanism, &s)
	ofRanks(r.together.ranks, &s)
	return s
}

// times says how often something was done.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// diagnosed reports whether the run writes diagnostics, or an earlier part of it did.
func (r *Run) diagnosed() bool {
	_, err := os.Lstat(r.Path(folder.Diagnostics))
	return r.diagnoses != nil || err == nil
}
