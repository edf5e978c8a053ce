package train

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// On examples whose gradients are zero, the parameters move in every step by noise of deviation
// σ·c/B̄ with the clip norm c of the step, and the events are those of a clip norm that stays.
// False-failure rates are those of checkFreshNoise.
func TestNoiseFollowsTheClipNorm(t *testing.T) {
	const steps, n, batch, rate, sigma = 60, 200, 30, 0.25, 0.8
	for schedule, factor := range map[string]func(progress float64) float64{
		"linear": func(p float64) float64 { return 1 - 0.9*p },
		"cosine": func(p float64) float64 { return 0.1 + 0.9*(1+math.Cos(math.Pi*p))/2 },
	} {
		for _, clipping := range []string{"flat", "per_layer"} {
			o := options(t)
			o.Given = blackSource(t, n, 5, 5)
			overrides := []string{noBias, "optimizer.name=sgd", fmt.Sprintf("optimizer.learning_rate=%g", rate), fmt.Sprintf("training.batch_size=%d", batch),
				fmt.Sprintf("training.steps=%d", steps), fmt.Sprintf("privacy.noise_multiplier=%g", sigma), "privacy.clip_norm=0.3", "data.mean=[0]", "privacy.clipping=" + clipping}
			r := create(t, tiny.Parse(t, append(slices.Clone(overrides), "privacy.clip_schedule="+schedule, "privacy.clip_final_factor=0.1")...), o)
			path, norms := stepwise(t, r)
			checkFreshNoise(t, schedule, moved(path, func(step int) float64 {
				c := 0.3 * factor(float64(step)/(steps-1))
				if math.Abs(norms[step]/c-1) > 1e-12 {
					t.Fatalf("%s: the clip norm of step %d is %v, expected %v", schedule, step, norms[step], c)
				}
				return sigma * c / batch * rate
			}))
			if entries := r.Books.Ledger().Entries(); len(entries) != 1 || entries[0].Event != mustPlan(t, append(overrides, "training.batch_size=45")...).Event(0) || entries[0].Count != steps {
				t.Errorf("%s: the ledger holds %v, expected one event of a clip norm that stays", schedule, entries)
			}
		}
	}
}

// A learning rate that follows from the noise follows from that of every step: with sgd, the noise
// of all steps leaves the deviation that was asked for.
func TestRateByNoiseKnowsTheClipNorms(t *testing.T) {
	const target = 0.4
	r := prepared(t, "optimizer.name=sgd", "optimizer.learning_rate=by_noise", fmt.Sprintf("optimizer.parameter_noise=%g", target),
		"privacy.clip_schedule=linear", "privacy.clip_final_factor=0.2", "privacy.noise_multiplier=1.5", "training.batch_size=60", "privacy.clip_norm=0.7")
	var variance float64
	for step := range r.plan.Steps {
		c := 0.7 * (1 - 0.8*float64(step)/float64(r.plan.Steps-1))
		variance += math.Pow(r.Schedule.LearningRate(step)*1.5*c/60, 2)
	}
	if found := math.Sqrt(variance); math.Abs(found/target-1) > 1e-9 {
		t.Errorf("the noise leaves %v in every parameter, expected %v", found, target)
	}
}

// The statement and the metrics say which clip norm steps had.
func TestStatementSaysTheClipSchedule(t *testing.T) {
	r := train(t, options(t), "privacy.clip_norm=0.5", "privacy.clip_schedule=linear", "privacy.clip_final_factor=0.5", "training.evaluate_every=11")
	s := tiny.Must(statement.Read(r.Run))(t)
	want := "flat: the clip norm c is 0.5 in the first step, 0.25 in the last of 12, linear between them; contributions are clipped to c and multiplied by C/c, which is undone after the noise; what one example adds to the sum, over all coordinates, has L2 norm at most C = 0.5"
	if s.Bound != want || s.ClipNorm != 0.5 {
		t.Errorf("found    %s\nexpected %s", s.Bound, want)
	}
	if found := tiny.Read(t, filepath.Join(r.Run, folder.Metrics)); !strings.Contains(found, `"clip_norm":0.25`) {
		t.Errorf("the metrics do not say the clip norm:\n%s", found)
	}
}
