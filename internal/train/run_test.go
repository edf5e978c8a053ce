package train

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/internal/trained"
)

// A finished run leaves these files and no others, all of them for their owner alone.
func TestRunLeavesItsFiles(t *testing.T) {
	r := train(t, options(t), "training.evaluate_every=4")
	var found []string
	err := filepath.WalkDir(r.Run, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has permissions %o, expected %o", path, info.Mode().Perm(), want)
		}
		name, err := filepath.Rel(r.Run, path)
		if !d.IsDir() {
			found = append(found, filepath.ToSlash(name))
		}
		return err
	})
	tiny.Check(t, err)
	want := []string{"checkpoints/checkpoint-10.ckpt", "checkpoints/checkpoint-12.ckpt", folder.Config, folder.Engines, folder.Ledger, folder.Metrics, folder.MetricsTable, folder.MetricsEvents, folder.Model, folder.Plan, folder.StatementData, folder.Statement}
	slices.Sort(want)
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("found %q, expected %q", found, want)
	}
}

func TestRunReportsItsResult(t *testing.T) {
	o := options(t)
	r := train(t, o, "run.name=mine", "training.steps=60")
	g := tiny.Must(mustPlan(t, "training.steps=60").After(60))(t)
	want := Result{
		Status: run.Done, Steps: 60, Answer: g.Answer(), NoiseMultiplier: 1,
		Test: r.Test, ByClass: r.ByClass, Average: "none", Seconds: r.Seconds, ExamplesPerSecond: r.ExamplesPerSecond, Run: filepath.Join(o.RunsDir, "mine"),
		LedgerEntries: 60, LedgerHead: r.LedgerHead,
	}
	if tiny.JSON(t, r) != tiny.JSON(t, want) || r.LedgerEntries != 60 || len(r.LedgerHead) != 32 {
		t.Errorf("found %+v\nexpected %+v", r, want)
	}
	// Whatever is right in some class is right at all, and an evaluation of the model says the
	// same.
	again := tiny.Must(Evaluate(r.Run, o))(t)
	correct, examples := 0, 0
	for _, c := range r.ByClass {
		correct, examples = correct+c.Correct, examples+c.Examples
	}
	if tiny.JSON(t, again.Classes) != tiny.JSON(t, r.ByClass) || float64(correct)/float64(examples) != float64(r.TestAccuracy) {
		t.Errorf("by class: found %+v, expected %+v", r.ByClass, again.Classes)
	}
	// Three stripes are linearly separable; chance is 1/3.
	if r.TestAccuracy < 0.8 || r.Seconds <= 0 || r.ExamplesPerSecond <= 0 {
		t.Errorf("accuracy %v, seconds %v, examples per second %v", r.TestAccuracy, r.Seconds, r.ExamplesPerSecond)
	}
}

func TestRunsAreNumbered(t *testing.T) {
	o := options(t)
	for _, want := range []string{"tiny-1", "tiny-2", "tiny-3"} {
		if r := train(t, o, "training.steps=1"); filepath.Base(r.Run) != want {
			t.Errorf("found run %s, expected %s", r.Run, want)
		}
	}
}

// The budget is never passed, and not left early either: one more step would have passed it.
func TestBudgetStop(t *testing.T) {
	for _, overrides := range [][]string{
		{"privacy.epsilon=2", "privacy.noise_multiplier=1.1"},
		{"privacy.epsilon=1", "privacy.noise_multiplier=1.5"},
		{"privacy.epsilon=3.5", "privacy.noise_multiplier=2", "training.batch_size=300"},
		{"privacy.epsilon=0.3", "privacy.noise_multiplier=2", "training.batch_size=3"},
	} {
		overrides = append(overrides, "training.steps=100000", "privacy.clip_norm=0.1")
		t.Run(strings.Join(overrides, " "), func(t *testing.T) {
			plan := mustPlan(t, overrides...)
			limit := tiny.Must(accountant.MaxSteps(plan.Accountant, plan.Event(0), *plan.Budget, plan.Steps))(t)
			r := train(t, options(t), overrides...)
			if plan.MaxSteps != limit {
				t.Errorf("%d steps are planned, expected the %d that fit", plan.MaxSteps, limit)
			}
			if r.Status != run.BudgetExhausted || r.Steps != limit || r.Epsilon > plan.Budget.Epsilon {
				t.Errorf("found %s after %d steps with ε = %v, expected budget_exhausted after %d with at most %v", r.Status, r.Steps, r.Epsilon, limit, plan.Budget.Epsilon)
			}
			if tiny.Releases(t, r.Run) != r.Steps {
				t.Errorf("the ledger holds %d releases, expected %d", tiny.Releases(t, r.Run), r.Steps)
			}
			more := tiny.Must(plan.After(r.Steps + 1))(t)
			if more.Epsilon <= plan.Budget.Epsilon {
				t.Errorf("one more step would cost ε = %v, expected more than the budget %v", more.Epsilon, plan.Budget.Epsilon)
			}
		})
	}
}

// A budget that not even one step fits into is refused before anything is written, with what to
// change.
func TestBudgetForNothing(t *testing.T) {
	o := options(t)
	_, err := Create(tiny.Parse(t, "privacy.epsilon=0.001", "privacy.noise_multiplier=0.5"), o)
	want := "one step with privacy.noise_multiplier 0.5 would spend ε = "
	if !errors.Is(err, setup.ErrPlan) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "expected at most privacy.epsilon 0.001 at privacy.delta") {
		t.Errorf("found %v, expected ErrPlan and %q", err, want)
	}
	if _, err := os.Stat(o.RunsDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("found %s (%v), expected that nothing is written", o.RunsDir, err)
	}
}

// A run that was killed before its first checkpoint with its budget spent has nothing to show: it
// is refused, and no model is written.
func TestBudgetSpentOnLostSteps(t *testing.T) {
	o := options(t)
	dir := killAfter(t, create(t, tiny.Parse(t, "privacy.epsilon=2", "privacy.noise_multiplier=calibrated", "run.checkpoint_every=0"), o), 12)
	_, err := open(t, dir, o).Fit(context.Background())
	if want := dir + " has no step in a checkpoint, and its ledger holds 12 releases, after which not one more stays within ε = 1.99"; !errors.Is(err, run.ErrUntrained) || !strings.Contains(err.Error(), want) {
		t.Errorf("found %v, expected run.ErrUntrained and %q", err, want)
	}
	for _, file := range []string{folder.Model, folder.Statement} {
		if _, err := os.Stat(filepath.Join(dir, file)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("found %s (%v), expected none", file, err)
		}
	}
}

// With calibrated noise all steps run, the budget holds, and little of it is left.
func TestCalibratedRun(t *testing.T) {
	for _, epsilon := range []string{"0.5", "3", "8"} {
		r := train(t, options(t), "privacy.epsilon="+epsilon, "privacy.noise_multiplier=calibrated", "training.steps=30")
		target := mustPlan(t, "privacy.epsilon="+epsilon).Budget.Epsilon
		if r.Status != run.Done || r.Steps != 30 || r.Epsilon > target || r.Epsilon < 0.999*target {
			t.Errorf("ε = %s: found %s after %d steps with ε = %v", epsilon, r.Status, r.Steps, r.Epsilon)
		}
	}
}

// An empty batch is a step like any other: noise moves every parameter, and the ledger counts it.
func TestEmptyBatchesAreNoiseOnlySteps(t *testing.T) {
	// q = 1/300: a batch of 300 draws is empty with probability 0.37, and 60 batches are all
	// non-empty with 1e-12.
	r := create(t, tiny.Parse(t, "training.batch_size=1", "training.steps=60", "optimizer.name=sgd"), options(t))
	// A batch is empty where the graph is not asked.
	empty, unmoved, asked := 0, 0, 0
	r.records.Gradients.Observe(func(gradients.Diagnosis) { asked++ })
	before := slices.Clone(r.Model.Values)
	r.watcher.Stepped = func(Progress) {
		if asked == 0 {
			empty++
		}
		asked = 0
		for i, v := range r.Model.Values {
			if v == before[i] {
				unmoved++
			}
		}
		copy(before, r.Model.Values)
	}
	result := fit(t, r)
	if empty == 0 {
		t.Error("no batch was empty, expected some of 60")
	}
	// Noise of standard deviation 0.25 leaves a float32 below 1 as it is with probability 1e-7 at
	// most: one of the 60·111 values now and then (7e-4), four of them with 1e-14.
	if unmoved > 3 {
		t.Errorf("%d values did not move in a step", unmoved)
	}
	if result.Steps != 60 || tiny.Releases(t, r.Dir) != 60 {
		t.Errorf("%d steps, %d releases, expected 60 of each", result.Steps, tiny.Releases(t, r.Dir))
	}
}

// The speed on the screen is that of the expected batch: it tells the time of the steps, and no
// size of a batch.
func TestSpeedIsThatOfTheExpectedBatch(t *testing.T) {
	o, shown := options(t), 0
	o.Stepped = func(p Progress) {
		shown++
		if batch := p.ExamplesPerSecond * p.SecondsPerStep; math.Abs(batch-40) > 1e-9 {
			t.Errorf("step %d: %v examples/s at %v s a step is a batch of %v, expected 40", p.Step, p.ExamplesPerSecond, p.SecondsPerStep, batch)
		}
	}
	train(t, o)
	if shown != 12 {
		t.Errorf("%d steps were shown, expected 12", shown)
	}
}

// metrics.jsonl holds the listed fields and nothing that was computed from training pictures
// without noise.
func TestMetricsArePublic(t *testing.T) {
	r := train(t, options(t), "training.evaluate_every=4", "run.private_diagnostics=true")
	public := []string{"step", "epsilon", "delta", "test_accuracy", "test_loss", "learning_rate"}
	var steps []float64
	for _, found := range linesOf[map[string]float64](t, r.Run, folder.Metrics) {
		steps = append(steps, found["step"])
		for key, value := range found {
			if !slices.Contains(public, key) || math.IsNaN(value) {
				t.Errorf("found %s: %v in the metrics", key, value)
			}
		}
	}
	if want := []float64{4, 8, 12}; !slices.Equal(steps, want) {
		t.Errorf("found lines of steps %v, expected %v", steps, want)
	}
}

// The file that is not private exists only when it was asked for, and says what it should.
func TestDiagnosticsOnlyWhenAsked(t *testing.T) {
	r := train(t, options(t), "run.private_diagnostics=true", "privacy.clip_norm=1e-6")
	lines := linesOf[run.Diagnostics](t, r.Run, folder.Diagnostics)
	if len(lines) != 12 {
		t.Fatalf("found %d lines, expected one for each of 12 steps", len(lines))
	}
	for i, d := range lines {
		// Every gradient is longer than 1e-6. A batch of 40 expected examples is empty with
		// probability 1e-19.
		if d.Step != i+1 || d.BatchSize < 1 || d.ClippedFraction != 1 || d.NotFinite != 0 || !(d.MeanNorm > 1e-6) || !(d.TrainingLoss > 0) {
			t.Errorf("line %d: found %+v", i+1, d)
		}
	}
	quiet := train(t, options(t))
	if _, found := tiny.Snapshot(t, quiet.Run)[filepath.Join(quiet.Run, folder.Diagnostics)]; found {
		t.Error("diagnostics were written although nobody asked for them")
	}
}

// mustPlan may also be a plan that allows no step.
func mustPlan(t testing.TB, overrides ...string) *RunPlan {
	t.Helper()
	return tiny.Must(newPlan(tiny.Parse(t, overrides...), tiny.Examples, Options{}, nil, nil))(t)
}

// What is evaluated and written is the mean of the parameters after the last half of the steps, and
// training goes on from the parameters themselves.
func TestModelIsTheAverage(t *testing.T) {
	o := options(t)
	r := create(t, tiny.Parse(t, "training.average=tail", "training.evaluate_every=5", "training.steps=11"), o)
	path, _ := stepwise(t, r)
	if r.result.Average != "tail" || len(path) != 12 {
		t.Fatalf("found the average %q of %d steps, expected tail of 11", r.result.Average, len(path)-1)
	}
	if !slices.Equal(r.Model.Values, path[11]) {
		t.Error("the last parameters are not those of the last step")
	}
	tensors, _, err := trained.Weights(r.Dir, r.Config)
	tiny.Check(t, err)
	tiny.Check(t, r.Model.Import(tensors))
	for i, v := range r.Model.Values {
		sum := 0.0
		for _, parameters := range path[6:] {
			sum += float64(parameters[i])
		}
		if math.Abs(float64(v)-sum/6) > 1e-6 {
			t.Fatalf("parameter %d of the model is %g, expected the mean %g of the last 6 of 11 steps", i, v, sum/6)
		}
	}
	measured(t, r.result, o)
}
