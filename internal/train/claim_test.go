package train

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// A run that leaves the range of float32 ends with a word on its learning rate.
func TestTrainingDiverges(t *testing.T) {
	r := create(t, tiny.Parse(t, "optimizer.learning_rate=1000", "optimizer.weight_decay=100"), options(t))
	if _, err := r.Fit(t.Context()); !errors.Is(err, run.ErrDiverged) || !strings.Contains(err.Error(), "expected a smaller optimizer.learning_rate") {
		t.Errorf("found %v, expected run.ErrDiverged", err)
	}
}

// A run that somebody stops claims what all its planned steps cost, in its result, its statement,
// and to whoever asks; what its releases cost stands second. No change of one file makes the claim
// smaller. A run that its budget ends claims what it released.
func TestStoppedRunClaimsItsPlan(t *testing.T) {
	for what, overrides := range map[string][]string{
		"no budget": nil,
		"budget":    {"privacy.epsilon=3", "privacy.noise_multiplier=calibrated"},
		"short":     {"privacy.epsilon=3", "privacy.noise_multiplier=1"},
		"schedule":  {"privacy.noise_schedule=linear", "privacy.noise_final_factor=0.5"},
	} {
		o := options(t)
		plan := mustPlan(t, overrides...)
		planned := tiny.Must(plan.After(plan.MaxSteps))(t)
		now := tiny.Must(plan.After(2))(t)
		stopped := interruptAfter(t, create(t, tiny.Parse(t, overrides...), o), 2)
		if stopped.Epsilon != planned.Epsilon || stopped.Released == nil || stopped.Released.Epsilon != now.Epsilon {
			t.Errorf("%s: claimed are %v (%+v by now), expected %v and %v", what, stopped.Epsilon, stopped.Released, planned.Epsilon, now.Epsilon)
		}
		s, err := statement.Read(stopped.Run)
		if err != nil || s.Epsilon != planned.Epsilon || s.Released.Epsilon != now.Epsilon || s.ClaimedEntries != plan.MaxSteps || s.NoiseValues != 2*111 {
			t.Errorf("%s: the statement is %+v (%v)", what, s, err)
		}
		if text := tiny.Read(t, filepath.Join(stopped.Run, folder.Statement)); !strings.Contains(text, "holds only if no decision to stop looked at a result") || !strings.Contains(text, "This run stopped before all its planned releases were made: 2 of ") {
			t.Errorf("%s: the statement does not say that the run was stopped:\n%s", what, text)
		}
		for _, file := range []string{filepath.Join("..", folder.Datasets), folder.Plan, folder.StatementData, folder.Statement, folder.Metrics} {
			path := filepath.Join(stopped.Run, file)
			content := tiny.Read(t, path)
			tiny.Check(t, os.Remove(path))
			i := tiny.Must(books.Inspect(stopped.Run))(t)
			c := tiny.Must(folder.ReadConfig(stopped.Run))(t)
			if claim, err := i.Claim(c); err != nil || claim.Epsilon < planned.Epsilon*(1-1e-9) {
				t.Errorf("%s: without %s the claim is %v (%v), expected at least %v", what, file, claim.Epsilon, err, planned.Epsilon)
			}
			tiny.Write(t, path, content)
		}
		done := fit(t, open(t, stopped.Run, o))
		if done.Epsilon != planned.Epsilon || done.Released != nil {
			t.Errorf("%s: at its end the run claims %v and %+v, expected %v alone", what, done.Epsilon, done.Released, planned.Epsilon)
		}
	}
}

// A run that is stopped in an extension claims the end of that extension.
func TestStoppedExtensionIsClaimedToItsEnd(t *testing.T) {
	o := options(t)
	first := train(t, o)
	extended := tiny.Must(Extend(first.Run, 0, 20, o))(t)
	stopped := interruptAfter(t, open(t, first.Run, o), 14)
	if stopped.Epsilon != extended.Epsilon || stopped.Released == nil {
		t.Errorf("claimed are %v and %+v, expected %v and what 14 steps cost", stopped.Epsilon, stopped.Released, extended.Epsilon)
	}
	if done := fit(t, open(t, first.Run, o)); done.Epsilon != extended.Epsilon || done.Released != nil {
		t.Errorf("at its end the run claims %v and %+v, expected %v alone", done.Epsilon, done.Released, extended.Epsilon)
	}
}
