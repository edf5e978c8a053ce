package train

import (
	"fmt"
	"math"
	"os"

	"dpsgd/accountant"
	"dpsgd/internal/account"
	"dpsgd/internal/claims"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
)

// statement describes a run whose ledger has the given guarantee, in the words of the door that it
// went through.
func (r *Run) statement(status Status, spent account.Claim, together statement.Together) statement.Statement {
	means, choices, entries, dim := r.means(), account.Choices(r.journal.Ledger()), r.journal.Len(), r.records.Coordinates()
	steps := entries - choices - means
	claim := r.plan.Claim(dim, steps, spent.Epsilon)
	s := statement.Statement{
		Run: r.name(), Status: string(status), Unit: claim.Unit, Relation: spent.Relation.String(), Neighbours: claim.Neighbours, Public: claim.Public,
		Answer: spent.Answer(), AddedDelta: claim.AddedDelta,
		Method:  spent.Method,
		Sampler: r.plan.Sampler.Name(), Sampling: claim.Sampling, SamplingProbability: r.plan.SamplingProbability,
		Mechanism: r.plan.Mechanism.Name(), Noise: claim.Noise, NoiseValues: dim * steps, NoiseMultiplier: r.plan.NoiseMultiplier(),
		ClipNorm: r.plan.Policy.Bound(), Clipping: r.plan.Policy.Name(), Bound: claim.Clipping,
		ExpectedBatchSize: r.plan.ExpectedBatchSize, MaxSteps: r.plan.MaxSteps, PlannedSteps: r.plan.Steps, Steps: r.step,
		LedgerEntries: entries, LedgerHead: r.journal.Hash(), Together: together,
		Data: r.source.Name, Examples: r.registered.Data.Examples, Shape: r.registered.Data.Shape, Classes: r.registered.Data.Classes,
		NotPrivate: claims.NotPrivate(r.source.Outline, r.plan.Sampler, r.plan.SamplingProbability, r.config.Data.Vectors != "", r.diagnosed()), Fallbacks: r.plan.Fallbacks,
		Released: spent.Released, Repeated: account.Choices(spent.Ledger) - choices,
		FrozenValues: r.model.FrozenValues(), Extended: r.extended(), Choices: choices,
	}
	if s.Released != nil {
		s.ClaimedEntries = spent.Ledger.Count() - account.Choices(spent.Ledger)
	}
	if r.initial != "" {
		claims.OfWeights(r.config.Model, r.initial, &s)
	}
	if released, divisor, err := account.Seen(spent.Ledger); err == nil {
		if plain, err := accountant.PlainEpsilon(released, spent.Delta/divisor); err == nil && !math.IsInf(plain, 1) {
			s.EpsilonPlain = &plain
		}
	}
	if r.config.Features.Any() {
		s.Features = r.config.Features.Recipe.String()
	}
	if r.config.Training.Augmentation.Any() {
		s.Augmentation = r.config.Training.Augmentation.String()
	}
	if means > 0 {
		width := r.examples.Train.Shape().Values()
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
	claims.OfRecords(r.config, r.source.Outline, r.plan.Mechanism, &s)
	claims.OfRanks(r.ranks, &s)
	return s
}

// times says how often something was done.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// name is that of the run's folder, without where it lies: a statement may be published.
func (r *Run) name() string { return folder.Name(r.Dir) }

// diagnosed says whether the run writes diagnostics, or an earlier part of it did.
func (r *Run) diagnosed() bool {
	_, err := os.Lstat(r.path(folder.Diagnostics))
	return r.diagnoses != nil || err == nil
}
