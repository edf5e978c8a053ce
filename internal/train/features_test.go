package train

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/trained"
)

func featureOptions(t *testing.T) Options {
	o := options(t)
	o.Given = tiny.Large(t)
	return o
}

// The mean is released ahead of the first step, is in the ledger with its noise, and is paid for by
// the noise of the steps: together they spend the budget and no more.
func TestMeanIsReleasedAndPaidFor(t *testing.T) {
	r := create(t, tiny.Parse(t, tiny.Features...), featureOptions(t))
	result := fit(t, r)
	entries := ledgerOf(t, result.Run).Entries()
	noise := accountant.Gaussian{NoiseMultiplier: r.plan.NoiseMultiplier()}
	if len(entries) != 2 || entries[0] != (accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 40}, Count: 1}) || entries[1] != (accountant.Entry{Event: noise, Count: 12}) {
		t.Fatalf("found %v, expected the mean with noise 40 and 12 full batches with %v", entries, noise)
	}
	// Gaussians compose: one with σ, where 1/σ² is the sum of the steps' (Dong, Roth, Su,
	// arXiv:1905.02383, Corollary 3.3).
	alone := tiny.Must(NewPlan(tiny.Parse(t, append(tiny.Features, "features.mean_noise=none")...), tiny.Examples))(t)
	whole, split := 12/math.Pow(alone.NoiseMultiplier(), 2), 12/math.Pow(noise.NoiseMultiplier, 2)+1./1600
	if math.Abs(whole-split) > 1e-6*whole {
		t.Errorf("the steps and the mean spend µ² = %v, expected the budget's %v", split, whole)
	}
	s, dim, width := tiny.Must(statement.Read(result.Run))(t), r.records.Coordinates(), r.Examples.Train.Shape().Values()
	steps, mean := r.plan.Claim(dim, 12, s.Epsilon).AddedDelta, r.plan.Mean.Claim(width, 1, s.Epsilon).AddedDelta
	if s.NoiseValues != 12*dim+width || s.AddedDelta != steps+mean || s.AddedDelta == steps {
		t.Errorf("%d noise values add %g to δ, expected %d of steps, which add %g, and %d of the mean, which add %g", s.NoiseValues, s.AddedDelta, 12*dim, steps, width, mean)
	}
	if result.Epsilon > 3 || result.Epsilon < 2.999 || result.Status != run.Done {
		t.Errorf("found %s with ε %v, expected done with the budget of 3 spent", result.Status, result.Epsilon)
	}
}

// A mean keeps the share of its squares that is not noise: of 100 values of 0.5 with noise of
// deviation 0.3, 1 - 98·0.09/25. What may be noise alone becomes 0, and two values stay.
func TestShrunkMean(t *testing.T) {
	of := func(n int, deviation float64) []float32 {
		mean := slices.Repeat([]float32{0.5}, n)
		shrink(mean, deviation)
		return mean
	}
	if got, want := of(100, 0.3)[99], 0.5*(1-98*0.09/25); math.Abs(float64(got)-want) > 1e-6 {
		t.Errorf("found %v, expected %v", got, want)
	}
	if got := of(100, 0.51)[0]; got != 0 {
		t.Errorf("found %v of what is noise alone, expected 0", got)
	}
	if got := of(2, 9); got[0] != 0.5 || got[1] != 0.5 {
		t.Errorf("found %v, expected two values as they were", got)
	}
	zero := []float32{0, 0, 0}
	if shrink(zero, 1); zero[0] != 0 {
		t.Errorf("found %v of a mean of 0", zero[0])
	}
}

// A run that was interrupted goes on with the mean that it has, and releases no other.
func TestResumedRunKeepsItsMean(t *testing.T) {
	o := featureOptions(t)
	stopped := interruptAfter(t, create(t, tiny.Parse(t, tiny.Features...), o), 5)
	before := newest(t, stopped.Run).Slots[trained.MeanOfFeatures]
	result := fit(t, open(t, stopped.Run, o))
	after := newest(t, stopped.Run).Slots[trained.MeanOfFeatures]
	if tiny.Releases(t, result.Run) != 13 || result.Status != run.Done {
		t.Errorf("found %s after %d releases, expected done after 13", result.Status, tiny.Releases(t, result.Run))
	}
	if !slices.Equal(before, after) || before == nil {
		t.Errorf("the mean was %v and is %v", before, after)
	}
}

// Killed when the mean is in the ledger and nowhere else, a run releases it once more, counts both,
// and ends within its budget.
func TestMeanThatWasLostIsCountedTwice(t *testing.T) {
	o := featureOptions(t)
	r := create(t, tiny.Parse(t, tiny.Features...), o)
	tiny.Check(t, r.releaseMean())
	r.Close()
	result := fit(t, open(t, r.Dir, o))
	entries := ledgerOf(t, r.Dir).Entries()
	if entries[0].Count != 2 || result.Epsilon > 3 || result.LedgerEntries != result.Steps+2 {
		t.Errorf("found %v with ε %v after %d steps, expected the mean twice and at most 3", entries, result.Epsilon, result.Steps)
	}
	if result.Status != run.BudgetExhausted {
		t.Errorf("found %s, expected that the second mean is paid for by a step", result.Status)
	}
	tiny.Says(t, result.Run, "the sum of the features of all examples, 2 times: one example adds")
}

// Where not even the mean fits the budget, or no step beside it, nothing is started.
func TestMeanBeyondTheBudgetIsNotReleased(t *testing.T) {
	for _, budget := range [][]string{{"privacy.epsilon=0.01", "features.mean_noise=5"}, {"privacy.epsilon=0.5", "features.mean_noise=20"}} {
		_, err := Create(tiny.Parse(t, append(append(tiny.Features, "privacy.noise_multiplier=1"), budget...)...), featureOptions(t))
		if want := "the mean of the features and one step with privacy.noise_multiplier 1 would spend ε = "; !errors.Is(err, setup.ErrPlan) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: found %v, expected ErrPlan and %q", budget, err, want)
		}
	}
}

// Where the mean alone takes more than the budget, no noise of the steps can help, and the message
// names the key.
func TestMeanThatLeavesNothing(t *testing.T) {
	_, err := NewPlan(tiny.Parse(t, append(tiny.Features, "features.mean_noise=5", "privacy.epsilon=0.2")...), tiny.Examples)
	if !errors.Is(err, accountant.ErrUnreachable) || !strings.Contains(err.Error(), "features.mean_noise 5 takes its part of the budget") {
		t.Errorf("found %v, expected ErrUnreachable that names features.mean_noise", err)
	}
}

// The second run takes its rows from the cache, which its owner alone can read, and a damaged cache
// is computed anew.
func TestFeaturesAreCached(t *testing.T) {
	o := featureOptions(t)
	computed := 0
	o.Computed = func(done, total int) { computed = max(computed, done) }
	first := create(t, tiny.Parse(t, tiny.Features...), o)
	if computed != tiny.Examples+90 {
		t.Errorf("found %d pictures computed, expected %d", computed, tiny.Examples+90)
	}
	dir := filepath.Join(o.RunsDir, folder.Features)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("found %v (%v), expected two files", files, err)
	}
	computed = 0
	second := create(t, tiny.Parse(t, tiny.Features...), o)
	if computed != 0 {
		t.Errorf("found %d pictures computed again", computed)
	}
	for i := range tiny.Examples {
		if !slices.Equal(first.Examples.Train.(*data.Features).Halves(i), second.Examples.Train.(*data.Features).Halves(i)) {
			t.Fatalf("row %d differs", i)
		}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v)", f.Name(), info.Mode(), err)
		}
		tiny.Check(t, os.Truncate(path, 100))
	}
	create(t, tiny.Parse(t, tiny.Features...), o)
	if computed != tiny.Examples+90 {
		t.Errorf("found %d pictures computed beside a damaged cache, expected %d", computed, tiny.Examples+90)
	}
}

// Another picture changes its own row alone: what one example adds to a release stays its own.
func TestRowsAreIsolated(t *testing.T) {
	c := tiny.Parse(t, tiny.Features...)
	o := featureOptions(t)
	before := create(t, c, o).Examples.Train.(*data.Features)
	images := o.Given.Train.(*data.Images)
	for i := range images.Pixels(7) {
		images.Pixels(7)[i] ^= 0xff
	}
	after := create(t, c, o).Examples.Train.(*data.Features)
	for i := range before.Len() {
		if same := slices.Equal(before.Halves(i), after.Halves(i)); same != (i != 7) {
			t.Errorf("row %d: same is %v", i, same)
		}
	}
}

// The statement says what was computed and what else was released.
func TestStatementTellsOfFeatures(t *testing.T) {
	result := train(t, featureOptions(t), tiny.Features...)
	tiny.Says(t, result.Run, "24 strokes drawn from seed 1", "once: one example adds at most C = 1; Gaussian noise of standard deviation σ·C on every coordinate of the sum, σ = 40", "12x12x1")
}

// A run that is stopped before it begins pays for no mean.
func TestMeanIsNotPaidForNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	result, err := create(t, tiny.Parse(t, tiny.Features...), featureOptions(t)).Fit(ctx)
	if err != nil || result.Status != run.Interrupted || result.LedgerEntries != 0 {
		t.Errorf("found %s with %d releases (%v), expected interrupted with none", result.Status, result.LedgerEntries, err)
	}
}

// A mean with the noise of a step is refused: statement and resume tell the two apart by it.
func TestMeanIsNoStep(t *testing.T) {
	_, err := NewPlan(tiny.Parse(t, append(tiny.Features, "privacy.noise_multiplier=40")...), tiny.Examples)
	if err == nil || !strings.Contains(err.Error(), "features.mean_noise is 40, the noise multiplier of a step") {
		t.Errorf("found error %v", err)
	}
}

// A model is measured on the features that it was trained on, or not at all.
func TestEvaluationNeedsTheSameFeatures(t *testing.T) {
	o := featureOptions(t)
	result := train(t, o, tiny.Features...)
	measured(t, result, o)
	edit(t, filepath.Join(result.Run, folder.Config), "groups: 27", "groups: 9")
	if _, err := Evaluate(result.Run, o); err == nil || !strings.Contains(err.Error(), "was trained on features") {
		t.Errorf("found error %v", err)
	}
}

// A run that is resumed and stopped at once is measured on what it was trained on: the rows less
// their mean.
func TestStoppedAtOnceIsMeasuredOnCentredRows(t *testing.T) {
	o := featureOptions(t)
	stopped := interruptAfter(t, create(t, tiny.Parse(t, tiny.Features...), o), 5)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := open(t, stopped.Run, o)
	again, err := r.Fit(ctx)
	if err != nil || again.Status != run.Interrupted || again.TestAccuracy != stopped.TestAccuracy || !r.features.subtracted {
		t.Errorf("found %s with accuracy %v (%v), expected interrupted with %v on centred rows", again.Status, again.TestAccuracy, err, stopped.TestAccuracy)
	}
}
