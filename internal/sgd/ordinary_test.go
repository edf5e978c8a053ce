package sgd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/trained"
	"dpsgd/optimizer"
	"dpsgd/release"
)

func options(t *testing.T) Options {
	t.Helper()
	return Options{Options: run.Options{Request: setup.Request{Given: tiny.Source(t, tiny.Examples)}, RunsDir: filepath.Join(t.TempDir(), "runs"), Name: "tiny"}}
}

var (
	none     = []string{"privacy.none=true", "optimizer.learning_rate=0.05", "training.steps=40", "run.checkpoint_every=7"}
	ofLabels = []string{"privacy.unit=label", "privacy.epsilon=2", "privacy.noise_multiplier=calibrated", "optimizer.learning_rate=0.05", "training.steps=40", "run.checkpoint_every=7"}
	stages   = append(slices.Clone(ofLabels), "privacy.label_stages=2")
)

// fit makes a run with these overrides and carries it out, or as far as step after, if that is not
// 0.
func fit(t *testing.T, o Options, after int, overrides ...string) (Result, Options) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o.Stepped = func(p Progress) {
		if p.Step == after {
			stop()
		}
	}
	r := tiny.Must(Create(tiny.Parse(t, overrides...), o))(t)
	defer r.Close()
	result := tiny.Must(r.Fit(ctx))(t)
	return result, o
}

func resume(t *testing.T, dir string, o Options) (Result, error) {
	t.Helper()
	r, err := Open(dir, o)
	if err != nil {
		return Result{}, err
	}
	defer r.Close()
	return r.Fit(t.Context())
}

// A baseline says that it is not private wherever its result shows, and has no ledger to hide
// behind.
func TestBaselineIsMarkedNotPrivate(t *testing.T) {
	r, o := fit(t, options(t), 0, append(slices.Clone(none), "training.batch_size=400")...)
	if r.Private || r.Epsilon != nil || r.Delta != nil || r.Status != run.Done || r.TestAccuracy < 0.9 {
		t.Errorf("found %+v, expected a good result that is not private", r)
	}
	tiny.Says(t, r.Run, "is NOT PRIVATE", "There is no guarantee", "minibatches of 300 examples, momentum at a learning rate of 0.025") // 0.05 times clip_norm
	s, err := statement.Read(r.Run)
	if err != nil || s.Private() || s.Epsilon != statement.NoGuarantee {
		t.Errorf("privacy.json: %+v, %v", s, err)
	}
	_, about, err := checkpoints.ReadModel(filepath.Join(r.Run, folder.Model))
	if err != nil || about["privacy"] != "NOT PRIVATE" {
		t.Errorf("the model says %v, %v", about, err)
	}
	if folder.HoldsAny(r.Run, folder.Ledger) || folder.HoldsAny(filepath.Dir(r.Run), folder.Datasets) {
		t.Error("there is a ledger")
	}
	if _, err := books.Inspect(r.Run); !errors.Is(err, books.ErrNotPrivate) {
		t.Errorf("asked for its ledger: %v, expected that it is not private", err)
	}
	forged := s
	forged.System, forged.Epsilon = "", 1
	tiny.Check(t, forged.Write(r.Run))
	if _, err := trained.Open(r.Run); !errors.Is(err, checkpoints.ErrCorrupt) || !strings.Contains(err.Error(), "found a guarantee") {
		t.Errorf("its model beside a statement of a private run: found %v, expected a refusal", err)
	}
	if _, err := books.Inspect(r.Run); !errors.Is(err, folder.ErrNoRun) || errors.Is(err, books.ErrNotPrivate) {
		t.Errorf("beside a statement of a private run: found %v, expected that its ledger is missing", err)
	}
	tiny.Check(t, s.Write(r.Run))
	tiny.Must(checkpoints.Save(filepath.Join(r.Run, folder.Checkpoints), &checkpoints.State{Step: 99, LedgerEntries: 99}))(t)
	if _, err := books.Inspect(r.Run); !errors.Is(err, folder.ErrNoRun) || errors.Is(err, books.ErrNotPrivate) {
		t.Errorf("beside a checkpoint of a private run: found %v, expected that its ledger is missing", err)
	}
	tiny.Write(t, filepath.Join(r.Run, folder.Ledger), "") // of a run that was none
	if _, err := resume(t, r.Run, o); !errors.Is(err, books.ErrOtherPlan) || !strings.Contains(err.Error(), "holds a ledger") {
		t.Errorf("beside a ledger: found %v, expected a refusal", err)
	}
}

// Interrupted and resumed, a baseline ends with the parameters of an uninterrupted one, bit for
// bit.
func TestResumedBaselineIsTheUninterruptedOne(t *testing.T) {
	whole, _ := fit(t, options(t), 0, none...)
	want := tiny.Read(t, filepath.Join(whole.Run, folder.Model))
	for _, cut := range []int{1, 7, 13, 39} {
		stopped, o := fit(t, options(t), cut, none...)
		if stopped.Status != run.Interrupted || stopped.Steps != cut {
			t.Fatalf("found %s after %d steps, expected interrupted after %d", stopped.Status, stopped.Steps, cut)
		}
		more := o
		more.Given = tiny.Source(t, tiny.Examples+1)
		if _, err := resume(t, stopped.Run, more); !errors.Is(err, books.ErrOtherPlan) {
			t.Errorf("on one example more: found %v, expected a refusal", err)
		}
		if r, err := resume(t, stopped.Run, o); err != nil || r.Status != run.Done || tiny.Read(t, filepath.Join(r.Run, folder.Model)) != want {
			t.Errorf("cut at %d: %s, %v, or another model", cut, r.Status, err)
		}
	}
}

// Labels are asked once: one entry that costs ε, whatever the stages and however often the run was
// stopped, and the answers stay what they were.
func TestLabelsAreAskedOnce(t *testing.T) {
	for _, test := range []struct {
		overrides []string
		steps     int
		entries   int
	}{{ofLabels, 40, 1}, {stages, 80, 2}} {
		for _, cut := range []int{0, 5, 39, 40, 41, 60} {
			if cut >= test.steps {
				continue
			}
			r, o := fit(t, options(t), cut, test.overrides...)
			told := tiny.Read(t, filepath.Join(r.Run, folder.Labels))
			if cut > 0 {
				r = tiny.Must(resume(t, r.Run, o))(t)
			}
			if r.Status != run.Done || r.Steps != test.steps || !r.Private || *r.Epsilon > 2 || *r.Epsilon < 1.99 {
				t.Errorf("cut at %d: %s after %d steps, ε %v, expected done after %d and ε = 2", cut, r.Status, r.Steps, *r.Epsilon, test.steps)
			}
			i, err := books.Inspect(r.Run)
			if err != nil || i.Ledger.Count() != test.entries {
				t.Errorf("cut at %d: %d entries in the ledger, %v, expected %d", cut, i.Ledger.Count(), err, test.entries)
			}
			later := tiny.Read(t, filepath.Join(r.Run, folder.Labels))
			for at, answer := range []byte(told) {
				if now := later[at]; answer != untold && now != answer || now == untold {
					t.Fatalf("cut at %d: answer %d was %d and is %d", cut, at, answer, now)
				}
			}
		}
	}
	for when, until := range map[string]func(r *Run) error{
		"the first stage was saved": func(r *Run) error { r.Books.Close(); return r.Next(t.Context()) },
		"all was asked":             func(r *Run) error { return errors.Join(r.tellRest(), r.Close()) },
	} {
		stopped, o := fit(t, options(t), 39, instead(stages, "run.checkpoint_every=8")...)
		killed := tiny.Must(Open(stopped.Run, o))(t)
		err := until(killed)
		killed.Close()
		if r, resumed := resume(t, stopped.Run, o); resumed != nil || r.Steps != 80 || tiny.Releases(t, r.Run) != 2 {
			t.Errorf("killed when %s (%v): found %+v, %v", when, err, r, resumed)
		}
	}
}

// Training sees the answers and nothing else of the labels: with other labels and the same answers
// the model is the same, bit for bit.
func TestTrainingSeesTheAnswersAlone(t *testing.T) {
	r, o := fit(t, options(t), 3, ofLabels...)
	other := filepath.Join(filepath.Dir(r.Run), "..", "copy", filepath.Base(r.Run))
	tiny.Check(t, os.CopyFS(filepath.Dir(other), os.DirFS(filepath.Dir(r.Run))))
	tiny.Must(resume(t, r.Run, o))(t)
	o.Given = tiny.Source(t, tiny.Examples)
	o.Given.Train = shifted{o.Given.Train}
	o.RunsDir = filepath.Dir(other)
	tiny.Must(resume(t, other, o))(t)
	if tiny.Read(t, filepath.Join(r.Run, folder.Model)) != tiny.Read(t, filepath.Join(other, folder.Model)) {
		t.Error("the models differ, expected one that is a function of the answers")
	}
}

// The last stage is a training of its own: it learns all answers from the initial parameters, with
// its own batches, rates and mean, wherever the run was stopped.
func TestLastStageBeginsAnew(t *testing.T) {
	for _, cut := range []int{0, 40, 60} {
		stopped, o := fit(t, options(t), cut, instead(stages, "training.average=ema", "optimizer.schedule.name=cosine", "training.evaluate_every=25", "training.seed=3")...)
		r := tiny.Must(Open(stopped.Run, o))(t)
		defer r.Close()
		tiny.Must(r.Fit(t.Context()))(t)
		m := tiny.Must(setup.Model(r.Config, r.Source.Shape, 3))(t)
		alone := tiny.Must(NewTrainer(r.Config, m, r.Examples.Train, r.Source.Shape, r.Config.Optimizer.Rule, r.batch, r.Pool))(t)
		mean, batches := tiny.Must(optimizer.NewMean(r.Config.Training.Average, m.Values, 40))(t), NewBatches(r.whole, 40, 3+1)
		alone.Learn(r.told)
		for step := range 40 {
			tiny.Check(t, alone.Step(batches.At(step), 40+step, r.Schedule.LearningRate(step)))
			mean.Add(m.Values, step+1)
		}
		same := func() error {
			if !slices.Equal(m.Values, r.Model.Values) {
				t.Errorf("stopped at %d: other parameters or another mean of them", cut)
			}
			return nil
		}
		tiny.Check(t, errors.Join(same(), r.Mean.InPlaceOf(r.Model.Values, func() error { return mean.InPlaceOf(m.Values, same) })))
		lines, err := run.ReadMetrics(r.Dir)
		if line := lines[len(lines)-2]; err != nil || line.Step != 40+25 || line.LearningRate != r.Schedule.LearningRate(24) || line.Epsilon != *stopped.Epsilon {
			t.Errorf("found %+v (%v), expected a line of step 65 with its rate and ε = %v", line, err, *stopped.Epsilon)
		}
	}
}

// Answers that are gone, or older than the ledger says, are not asked for again.
func TestLostAnswersAreNotAskedAgain(t *testing.T) {
	r, o := fit(t, options(t), 5, ofLabels...)
	tiny.Check(t, os.Remove(filepath.Join(r.Run, folder.Labels)))
	if _, err := resume(t, r.Run, o); !errors.Is(err, release.ErrBudget) || folder.HoldsAny(r.Run, folder.Labels) {
		t.Errorf("found %v, expected that asking again passes the budget", err)
	}

	first, o := fit(t, options(t), 5, stages...)
	older := tiny.Read(t, filepath.Join(first.Run, folder.Labels))
	if !bytes.Contains([]byte(older), []byte{untold}) {
		t.Fatal("the first stage asked all labels")
	}
	tiny.Must(resume(t, first.Run, o))(t)
	tiny.Check(t, os.WriteFile(filepath.Join(first.Run, folder.Labels), []byte(older), 0o600))
	if _, err := resume(t, first.Run, o); !errors.Is(err, checkpoints.ErrCorrupt) {
		t.Errorf("an older copy of the answers: found %v, expected a refusal", err)
	}
	for _, plan := range [][]string{ofLabels, stages} {
		r, o := fit(t, options(t), 5, plan...)
		told := tiny.Read(t, filepath.Join(r.Run, folder.Labels))
		for _, wrong := range []string{"\x03" + told[1:], "\xff" + told[1:], told[:len(told)-1] + "\x03", told + "\x00"} { // of three classes
			tiny.Write(t, filepath.Join(r.Run, folder.Labels), wrong)
			if _, err := resume(t, r.Run, o); !errors.Is(err, checkpoints.ErrCorrupt) || !strings.Contains(err.Error(), folder.Labels) {
				t.Errorf("no class among the answers, or one answer more: found %v, expected a refusal", err)
			}
		}
	}
}

// The statement, the result and whoever watches are told what a run with private labels did, and
// what it began with.
func TestRunOfLabelsSaysWhatItDid(t *testing.T) {
	before, o := fit(t, options(t), 0, none...)
	var started, finished int
	var phases []string
	o.Started = func(w Overview) {
		started++
		if w.Unit != setup.Label || w.Epsilon != 2 || math.Abs(w.Truth-0.787) > 1e-4 || w.Steps != 80 || w.ResumedAt != 0 {
			t.Errorf("found %+v", w)
		}
	}
	o.Stepped = func(p Progress) {
		if p.Step%40 == 1 {
			phases = append(phases, fmt.Sprint(p.Phase, ", ", p.Steps))
		}
	}
	o.Finished = func(Result) { finished++ }
	c := tiny.Parse(t, append(slices.Clone(stages), "model.freeze=[biases]",
		"model.init="+filepath.Join(before.Run, folder.Model), "model.init_trained_on=private")...)
	run := tiny.Must(Create(c, o))(t)
	defer run.Close()
	r := tiny.Must(run.Fit(t.Context()))(t)
	s, err := statement.Read(r.Run)
	if err != nil || s.PlannedSteps != 80 || s.MaxSteps != 80 || s.FrozenValues != 3 || s.TargetEpsilon != 2 || s.LedgerEntries != 2 || s.LedgerHead == "" || *r.Delta != 1e-4 || s.Relation != "replace the label of one" || !strings.Contains(s.InitialWeights, "declared as trained on PRIVATE") {
		t.Errorf("found %+v (%v)", s, err)
	}
	if _, about, err := checkpoints.ReadModel(filepath.Join(r.Run, folder.Model)); err != nil || !strings.HasPrefix(about["privacy"], "epsilon 1.99") {
		t.Errorf("the model says %v (%v)", about, err)
	}
	tiny.Says(t, r.Run, "told truly with probability 0.7870 for the first half", "- what the initial weights tell of the PRIVATE data")
	if started != 1 || finished != 1 || fmt.Sprint(phases) != "[stage 1 of 2, 80 stage 2 of 2, 80]" || r.Accountant != s.Accountant || !(r.TestAccuracy > 0.8) {
		t.Errorf("told %d times of the start and %d of the end, of %q; found %+v", started, finished, phases, r)
	}
}

// The identity of a run has the initial weights and the recipe of features, and its statement tells
// what the network sees. A large clip norm makes no step larger.
func TestIdentityOfABaseline(t *testing.T) {
	r := tiny.Must(Create(tiny.Parse(t, instead(none, "privacy.clip_norm=2")...), options(t)))(t)
	defer r.Close()
	r.Initial, r.Config.Features = "00", tiny.Parse(t, "features.name=scattering").Features
	if s := r.Identity(); !strings.Contains(s, "initial weights 00") || !strings.Contains(s, r.Config.Features.Recipe.String()) || r.Schedule.Peak != 0.05 {
		t.Errorf("found the rate %v and %s", r.Schedule.Peak, s)
	}
	r.Config.Data.Vectors = "vectors"
	if s, err := r.statement(run.Done); err != nil || !strings.Contains(fmt.Sprint(s.NotPrivate), "what computed the vectors") || s.Features != r.Config.Features.Recipe.String() {
		t.Errorf("found %+v (%v)", s, err)
	}
}

// What cannot be carried out is refused with nothing left behind.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		overrides []string
		says      string
	}{
		{append(slices.Clone(ofLabels), "privacy.epsilon=31"), "epsilon is 31, expected a number from 1e-09 to 30"},
		{append(slices.Clone(ofLabels), "privacy.delta=0.01"), "expected less than 1/n"},
		{[]string{none[0], "training.epochs=1", "optimizer.schedule.warmup_steps=8"}, "optimizer.schedule.warmup_steps is 8, expected less than the number of steps"},
	} {
		o := options(t)
		if _, err := Create(tiny.Parse(t, test.overrides...), o); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v: found %v, expected %q", test.overrides, err, test.says)
		}
		if _, err := os.Stat(o.RunsDir); err == nil {
			t.Errorf("%v: a folder was left behind", test.overrides)
		}
	}
}

// shifted is a set whose labels are others.
type shifted struct{ data.Set }

func (s shifted) Label(i int) int { return (s.Set.Label(i) + 1) % 3 }

// Answers that another run paid for are not taken: the ledger of this one counts none, and its ε
// would be 0.
func TestAnswersWithoutAnEntryAreRefused(t *testing.T) {
	told, o := fit(t, options(t), 5, ofLabels...)
	killed := tiny.Must(Create(tiny.Parse(t, ofLabels...), o))(t)
	killed.Close()
	answers := tiny.Read(t, filepath.Join(told.Run, folder.Labels))
	tiny.Check(t, os.WriteFile(filepath.Join(killed.Dir, folder.Labels), []byte(answers), 0o600))
	if r, err := resume(t, killed.Dir, o); !errors.Is(err, checkpoints.ErrCorrupt) {
		t.Errorf("found %+v, %v, expected a refusal", r, err)
	}
}

// A ledger whose entries are not those of the configuration has been told with another ε, which is
// then not asked for what is left.
func TestEntriesOfAnotherEpsilonAreRefused(t *testing.T) {
	r, o := fit(t, options(t), 5, stages...)
	config := strings.Replace(tiny.Read(t, filepath.Join(r.Run, folder.Config)), "epsilon: 2", "epsilon: 20", 1)
	tiny.Check(t, os.WriteFile(filepath.Join(r.Run, folder.Config), []byte(config), 0o600))
	if r, err := resume(t, r.Run, o); !errors.Is(err, books.ErrOtherPlan) {
		t.Errorf("found %+v, %v, expected a refusal", r, err)
	}
}

// What runs with private labels cost together is said to be that, and not what all runs cost: those
// with private examples tell of labels, too, and pictures are not protected.
func TestTotalOfLabelsSaysWhatItIs(t *testing.T) {
	_, o := fit(t, options(t), 0, ofLabels...)
	second, _ := fit(t, o, 0, ofLabels...)
	tiny.Says(t, second.Run, "All 2 runs on this data", "have the same unit of privacy")
	totals, err := books.Show(o.RunsDir)
	if err != nil || len(totals.Datasets) != 1 || !strings.Contains(totals.Datasets[0].Note, "Only the labels are protected") {
		t.Errorf("found %+v, %v, expected one total that says what it is not about", totals.Datasets, err)
	}
}

// A run does not go on with the answers of another one, which may have been told with a larger ε.
func TestAnswersOfAnotherRunAreRefused(t *testing.T) {
	for _, plan := range [][]string{ofLabels, stages} {
		loud, o := fit(t, options(t), 0, append(slices.Clone(plan), "privacy.epsilon=20")...)
		stopped, _ := fit(t, o, 5, plan...)
		answers := tiny.Read(t, filepath.Join(loud.Run, folder.Labels))
		tiny.Check(t, os.WriteFile(filepath.Join(stopped.Run, folder.Labels), []byte(answers), 0o600))
		if r, err := resume(t, stopped.Run, o); !errors.Is(err, books.ErrOtherPlan) {
			t.Errorf("found %+v, %v, expected a refusal", r, err)
		}

		for _, steps := range []int{0, 40} { // when it had asked, or had asked the rest
			killed := tiny.Must(Create(tiny.Parse(t, instead(plan, "run.checkpoint_every=9")...), o))(t)
			tiny.Check(t, killed.Start(t.Context()))
			for range steps {
				tiny.Check(t, killed.Next(t.Context()))
			}
			tiny.Check(t, killed.Close())
			told := []byte(tiny.Read(t, killed.Path(folder.Labels)))
			other := &told[steps/40*(len(told)-1)] // the first answer, or the last
			*other = (*other + 1) % 3
			tiny.Write(t, killed.Path(folder.Labels), string(told))
			if r, err := resume(t, killed.Dir, o); !errors.Is(err, books.ErrOtherPlan) {
				t.Errorf("killed behind step %d: found %+v, %v, expected a refusal", steps, r, err)
			}
		}
	}
}
