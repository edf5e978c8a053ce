package train

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"dpsgd/accountant"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/release"
)

// statement describes a run whose ledger has the given guarantee, in the words of the door that it
// went through.
func (r *Run) statement(status Status, spent account.Spent, together statement.Together) statement.Statement {
	means, choices, entries, dim := r.means(), account.Choices(r.journal.Ledger()), r.journal.Len(), r.coordinates()
	steps := entries - choices - means
	claim := r.plan.Claim(dim, steps, spent.Epsilon)
	s := statement.Statement{
		Run: r.name(), Status: string(status), Unit: claim.Unit, Relation: spent.Relation.String(), Neighbours: claim.Neighbours, Public: claim.Public,
		Answer: spent.Answer(), AddedDelta: claim.AddedDelta,
		Method:  spent.Method,
		Sampler: r.plan.Sampler.Name(), Sampling: claim.Sampling, SamplingProbability: r.plan.SamplingProbability,
		Mechanism: r.plan.Mechanism.Name(), Noise: claim.Noise, NoiseValues: dim * steps, NoiseMultiplier: r.plan.NoiseMultiplier,
		ClipNorm: r.plan.Policy.Bound(), Clipping: r.plan.Policy.Name(), Bound: claim.Clipping,
		ExpectedBatchSize: r.plan.ExpectedBatchSize, MaxSteps: r.plan.MaxSteps, PlannedSteps: r.plan.Steps, Steps: r.step,
		LedgerEntries: entries, LedgerHead: r.journal.Hash(), Together: together,
		Data: r.source.Name, Examples: r.registered.Data.Examples, Shape: r.registered.Data.Shape, Classes: r.registered.Data.Classes,
		NotPrivate: notPrivate(r.source.Outline, r.plan.Sampler, r.config.Data.Vectors != "", r.diagnosed()), Fallbacks: r.plan.Fallbacks,
		FrozenValues: r.model.FrozenValues(), Extended: r.extended(), Choices: choices,
	}
	if r.initial != "" {
		s.InitialWeights = fmt.Sprintf("%s; all weights at the start have the SHA-256 `%s`, declared as trained on %s", filepath.Base(r.config.Model.Init), r.initial, trainedOn[r.config.Model.InitTrainedOn].what)
		s.NotPrivate = append(s.NotPrivate, trainedOn[r.config.Model.InitTrainedOn].notCovered)
	}
	if released, divisor, err := account.Seen(r.journal.Ledger()); err == nil {
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
	ofRecords(r.config, r.source.Outline, r.plan.Mechanism, &s)
	return s
}

// trainedOn is what the statement says of initial weights: what was declared about them, and what
// the guarantee does not cover.
var trainedOn = map[string]struct{ what, notCovered string }{
	"public":  {"public data", "what the initial weights tell of the data that they were trained on, which is declared as public; if training examples of this run were among them, the guarantee does not hold for those"},
	"private": {"PRIVATE data", "what the initial weights tell of the PRIVATE data that they were trained on: the model of this run begins with them and passes that on, and this statement covers the steps of this run alone. If that training was private, its guarantee adds to this one for whoever is in both sets"},
	"nothing": {"nothing", "the initial weights, which are declared as trained on nothing: if they were trained on examples of anybody, the guarantee does not cover what they tell of those"},
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

func notPrivate(source setup.Outline, sampler release.Sampler, vectors, diagnosed bool) []string {
	shape, kept := source.Shape, "the size and channels of the pictures"
	if shape.IsRow() {
		kept = "the names of the columns"
	}
	if vectors {
		kept = "the width of the vectors"
	}
	number, time := "which fixes the sampling probability", "a step takes longer when more examples were drawn"
	if sampler == (data.Full{}) {
		number, time = "all of which are in every step", "arithmetic may take longer for some numbers than for others"
	}
	list := []string{
		fmt.Sprintf("the number of training examples, %d, %s", source.Examples, number),
		fmt.Sprintf("the names of the classes, %s, and every value of the configuration; if they were chosen by looking at the training %s, that choice is not covered", kept, shape.Noun()),
		"the test " + shape.Noun() + ": the test accuracy and test loss are computed without protection",
		"how long the run and its steps took, and the times of its files: " + time + ". No file of the run holds such a time, but for private diagnostics",
	}
	if vectors {
		list = append(list, "what computed the vectors that the network sees: each is taken as a function of one example, and if that function was learnt from the training examples, the guarantee does not cover what it tells of them")
	}
	if diagnosed {
		list = append(list, fmt.Sprintf("%s: training losses, gradient norms, clipped fractions, real batch sizes and times of steps, computed from the training examples without noise. Whoever sees that file has no guarantee", folder.Diagnostics))
	}
	return list
}
