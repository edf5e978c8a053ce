package train

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/internal/account"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
)

// statement describes a run whose ledger has the given guarantee, with the claim that its plan
// makes.
func (r *Run) statement(status run.Status, spent account.Claim, together statement.Together) statement.Statement {
	l, dim := r.Books.Ledger(), r.records.Coordinates()
	means, choices, steps := r.plan.meansIn(l), account.Choices(l), r.plan.stepsIn(l)
	claim := r.plan.Claim(dim, steps, spent.Epsilon)
	s := r.Statement(status, spent, together)
	s.Data, s.Unit, s.Neighbours, s.Public, s.AddedDelta = r.Source.Name, claim.Unit, claim.Neighbours, claim.Public, claim.AddedDelta
	s.Sampler, s.Sampling, s.SamplingProbability = r.plan.Sampler.Name(), claim.Sampling, r.plan.SamplingProbability
	s.Mechanism, s.Noise, s.NoiseValues, s.NoiseMultiplier = r.plan.Mechanism.Name(), claim.Noise, dim*steps, r.plan.NoiseMultiplier()
	s.ClipNorm, s.Clipping, s.Bound = r.plan.Policy.Bound(), r.plan.Policy.Name(), claim.Clipping
	s.ExpectedBatchSize, s.MaxSteps, s.PlannedSteps, s.Steps = r.plan.ExpectedBatchSize, r.plan.MaxSteps, r.plan.Steps, r.Step
	s.NotPrivate = notPrivate(r.Source.Outline, r.plan.Sampler, r.plan.SamplingProbability, r.Config.Data.Vectors != "", r.diagnosed())
	s.Fallbacks, s.FrozenValues, s.Trained, s.Extended, s.Choices = r.plan.Fallbacks, r.Model.FrozenValues(), setup.Trained(r.Config), r.extended(), choices
	if r.Initial != "" {
		setup.OfWeights(r.Config.Model, r.Initial, &s)
	}
	if released, divisor, err := account.Seen(spent.Ledger); err == nil {
		if plain, err := accountant.PlainEpsilon(released, spent.Delta/divisor); err == nil && !math.IsInf(plain, 1) {
			s.EpsilonPlain = &plain
		}
	}
	r.Source.Sees(r.Config, &s)
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
	ofLoss(r.Config, &s)
	ofRecords(r.Config, r.Source.Outline, r.plan.Mechanism, &s)
	ofRanks(r.together.ranks, &s)
	return s
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// diagnosed reports whether the run writes diagnostics, or an earlier part of it did.
func (r *Run) diagnosed() bool {
	_, err := disk.Lstat(r.Path(folder.Diagnostics))
	return r.diagnoses != nil || err == nil
}
