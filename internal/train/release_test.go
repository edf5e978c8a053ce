package train

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/slow"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/optimizer"
)

// blackSource is pictures of nothing: with zero inputs and no biases, every gradient is exactly
// zero.
func blackSource(t testing.TB, n, height, width int) *data.Split {
	t.Helper()
	pictures := func(n int) *data.Images {
		m := tiny.Must(data.NewImages(data.Shape{Height: height, Width: width, Channels: 1}, []string{"a", "b"}, make([]uint8, n), make([]uint8, n*height*width)))(t)
		return m
	}
	return &data.Split{Name: "black", Train: pictures(n), Test: pictures(4)}
}

// A whole run on examples whose gradients are zero moves every coordinate of the parameters, in
// every step, by exactly the noise that its statement claims, and nothing else: for vectors of many
// lengths and for rules with a memory. False-failure rates: those of the squares
// are of [likely], for 10,000 coordinates, twice as many as slow evidence; the others as said.
func TestRunOfZeroGradientsIsTheClaimedNoise(t *testing.T) {
	const steps, n, batch = 60, 200, 30
	const rate = 0.25
	for _, size := range [][2]int{{1, 1}, {1, 2}, {1, 3}, {2, 2}, {1, 5}, {3, 5}, {16, 16}, {1, 257}, {2, 129}, {32, 64}, {33, 63}} {
		rules := []string{"sgd", "momentum"}
		if !slow.Asked() {
			rules = rules[size[1]%2:][:1]
		}
		for _, rule := range rules {
			o := options(t)
			o.Given = blackSource(t, n, size[0], size[1])
			r := create(t, tiny.Parse(t, noBias, "optimizer.name="+rule,
				fmt.Sprintf("optimizer.learning_rate=%g", rate), fmt.Sprintf("training.batch_size=%d", batch), fmt.Sprintf("training.steps=%d", steps),
				"privacy.noise_multiplier=0.8", "privacy.clip_norm=0.3", "data.mean=[0]"), o)
			examples := 0
			r.records.Gradients.Observe(func(d gradients.Diagnosis) { examples += len(d.Losses) })
			path, _ := stepwise(t, r)
			claim := tiny.Must(statement.Read(r.Dir))(t)
			// The noise of each step in claimed standard deviations, with the memory of the rule
			// taken out.
			noise := moved(path, func(int) float64 { return claim.NoiseMultiplier * claim.ClipNorm / claim.ExpectedBatchSize * rate })
			if momentum, ok := r.Config.Optimizer.Rule.(*optimizer.Momentum); ok {
				for step := steps - 1; step > 0; step-- {
					for i := range noise[step] {
						noise[step][i] -= momentum.Momentum * noise[step-1][i]
					}
				}
			}
			checkFreshNoise(t, fmt.Sprintf("%s, pictures of %v", rule, size), noise)

			// Samples: 60·200 coins of probability 0.15; 7.5 standard deviations are 1e-13.
			q := claim.SamplingProbability
			if mean := q * n * steps; q != float64(batch)/n || math.Abs(float64(examples)-mean) > 7.5*math.Sqrt(mean*(1-q)) {
				t.Errorf("%d examples were drawn in %d steps, the statement claims q = %v of %d", examples, steps, q, n)
			}
			l, _, err := checkpoints.ReadJournal(filepath.Join(r.Dir, folder.Ledger))
			want := accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: claim.NoiseMultiplier}}
			if err != nil || !slices.Equal(l.Entries(), []accountant.Entry{{Event: want, Count: steps}}) {
				t.Errorf("the ledger holds %v (%v), the statement claims %d of %v", l.Entries(), err, steps, want)
			}
		}
	}
}

// checkFreshNoise expects steps of independent standard normal numbers.
func checkFreshNoise(t *testing.T, what string, noise [][]float64) {
	t.Helper()
	dim := len(noise[0])
	var all float64
	for i := range dim {
		var squares float64
		for step := range noise {
			squares += noise[step][i] * noise[step][i]
		}
		all += squares
		likely(t, fmt.Sprintf("%s: the noise on coordinate %d of %d", what, i, dim), squares, len(noise))
	}
	likely(t, what+": all noise", all, dim*len(noise))
	// Successive steps: their correlation as Student's t, of 59 products at least, is beyond 9 with a
	// probability of 2e-12. That of the same noise again is above 40.
	var products float64
	for step := 1; step < len(noise); step++ {
		for i, v := range noise[step] {
			products += v * noise[step-1][i]
		}
	}
	correlation := products / all
	if s := correlation * math.Sqrt(float64(dim*len(noise))/max(0, 1-correlation*correlation)); !(math.Abs(s) <= 9) {
		t.Errorf("%s: the noise of a step is correlated with that of the step before, by %.1f standard deviations", what, s)
	}
}

// moves carries a run out and returns how far each step moved the parameters.
func moves(t *testing.T, r *Run) [][]float64 {
	t.Helper()
	path, _ := stepwise(t, r)
	return moved(path, func(int) float64 { return 1 })
}

// noBias is a network whose gradients are zero for black pictures.
const noBias = "model.layers=[flatten, {linear: {out_features: classes, bias: false}}]"

// Noise depends on no seed: two runs of one configuration, and two that go on from copies of one
// folder, have nothing in common but the number of steps. Equal noise would have correlation 1;
// that of independent noise on 3072 coordinates is below 0.15 with probability 1 - 1e-16.
func TestNoiseIsNeverRepeated(t *testing.T) {
	o := options(t)
	o.Given = blackSource(t, 100, 32, 48)
	overrides := []string{noBias, "optimizer.name=sgd", "training.steps=4", "run.checkpoint_every=1", "data.mean=[0]"}
	var all [][]float64
	for range 2 {
		all = append(all, moves(t, create(t, tiny.Parse(t, overrides...), o))...)
	}
	// A third run is stopped after two steps, and its folder copied with all that lies beside it.
	stopped := interruptAfter(t, create(t, tiny.Parse(t, overrides...), o), 2)
	elsewhere := filepath.Join(t.TempDir(), "runs")
	tiny.Check(t, os.CopyFS(elsewhere, os.DirFS(o.RunsDir)))
	for _, dir := range []string{stopped.Run, filepath.Join(elsewhere, filepath.Base(stopped.Run))} {
		all = append(all, moves(t, open(t, dir, o))...)
	}
	if len(all) != 12 {
		t.Fatalf("found %d steps, expected 12", len(all))
	}
	for i, x := range all {
		for j, y := range all[:i] {
			var xy, xx, yy float64
			for k := range x {
				xy, xx, yy = xy+x[k]*y[k], xx+x[k]*x[k], yy+y[k]*y[k]
			}
			if r := xy / math.Sqrt(xx*yy); !(math.Abs(r) < 0.15) {
				t.Errorf("the noise of steps %d and %d is correlated by %.2f", i, j, r)
			}
		}
	}
}

// Step k, counted from 0, is taken with the schedule's rate for k: with equal noise the moves are
// in the ratio of the rates.
func TestEveryStepHasItsLearningRate(t *testing.T) {
	path := func(schedule string) [][]float64 {
		o := options(t)
		o.Given = blackSource(t, 100, 4, 4)
		r := create(t, tiny.Parse(t, noBias, "optimizer.name=sgd", "optimizer.learning_rate=0.5", schedule, "training.steps=8", "data.mean=[0]"), o)
		seedRun(t, r, 5, 1)
		return moves(t, r)
	}
	constant, warm := path("optimizer.schedule.warmup_steps=0"), path("optimizer.schedule.warmup_steps=4")
	for step, want := range []float64{0.25, 0.5, 0.75, 1, 1, 1, 1, 1} {
		for i, v := range warm[step] {
			if math.Abs(v-want*constant[step][i]) > 1e-6 { // float32 parameters below 1
				t.Fatalf("step %d moves parameter %d by %g, expected %g of %g", step, i, v, want, constant[step][i])
			}
		}
	}
}
