package train

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/optimizer"
)

const adaptive = "privacy.clipping=adaptive"

// On examples whose gradients are zero, all of which are shorter than any clip norm, and all of
// which are in every step, the logarithm of the clip norm falls by η·(1-γ) in every step, plus
// η·σ/(2·sin φ·n) times a standard normal number: the count has the noise that is claimed. The
// parameters move by the noise of every step in units of its clip norm. False-failure rates are
// those of checkFreshNoise.
func TestCountHasTheClaimedNoise(t *testing.T) {
	const steps, n, rate, share, sigma = 60, 200, 0.25, 0.01, 3.0
	o := options(t)
	o.Given = blackSource(t, n, 5, 5)
	r := create(t, tiny.Parse(t, noBias, adaptive, "training.sampling=full", "optimizer.name=sgd", fmt.Sprintf("privacy.count_share=%g", share),
		fmt.Sprintf("optimizer.learning_rate=%g", rate), fmt.Sprintf("training.steps=%d", steps), fmt.Sprintf("privacy.noise_multiplier=%g", sigma),
		"privacy.clip_norm=0.3", "data.mean=[0]", "privacy.delta=1e-4"), o)
	path, norms := stepwise(t, r)
	count := make([][]float64, steps)
	for step := range count {
		fall := math.Log(norms[step+1] / norms[step])
		count[step] = []float64{(fall + 0.2*0.5) / (0.2 * sigma / (2 * math.Sqrt(share) * n))}
	}
	checkFreshNoise(t, "count", count)
	checkFreshNoise(t, "gradients", moved(path, func(step int) float64 { return sigma * norms[step] / math.Sqrt(1-share) / n * rate }))
}

// The clip norm of a run goes down where all gradients are shorter, each of its values is in the
// metrics, and the statement says how it came about and counts its coordinate among the noise
// values. The ledger and ε are those of flat clipping. The noisy share of shorter gradients has
// mean 1 and deviation 0.08, by noise and sample; below 0.5 there is hardly a sample: 1e-13.
func TestAdaptiveRunSaysWhatItDid(t *testing.T) {
	overrides := []string{"privacy.clip_norm=1000", "training.evaluate_every=1"}
	flat := train(t, options(t), overrides...)
	found := train(t, options(t), append(overrides, adaptive, "privacy.count_share=0.5")...)
	if found.Epsilon != flat.Epsilon || found.LedgerEntries != flat.LedgerEntries {
		t.Errorf("ε is %v after %d releases, with flat clipping %v after %d", found.Epsilon, found.LedgerEntries, flat.Epsilon, flat.LedgerEntries)
	}
	last := 1000.0
	for _, m := range linesOf[run.Metrics](t, found.Run, folder.Metrics) {
		if !(m.ClipNorm < last) {
			t.Errorf("the metrics say clip norm %v after %v", m.ClipNorm, last)
		}
		last = m.ClipNorm
	}
	if strings.Contains(tiny.Read(t, filepath.Join(flat.Run, folder.Metrics)), "clip_norm") {
		t.Error("the metrics of flat clipping have a clip norm")
	}
	s, f := tiny.Must(statement.Read(found.Run))(t), tiny.Must(statement.Read(flat.Run))(t)
	if s.ClipNorm != 1000 || s.Clipping != "adaptive" || s.NoiseValues != f.NoiseValues+12 {
		t.Errorf("the statement says clip norm %v, clipping %s, %d noise values (%d of flat clipping)", s.ClipNorm, s.Clipping, s.NoiseValues, f.NoiseValues)
	}
	for _, want := range []string{"the 0.5 quantile of their norms at a rate of 0.2", "1000 in the first step", fmt.Sprintf("%.4g after the last", last), "with 0.5 of the squared bound", "at most C = 1000"} {
		if !strings.Contains(s.Bound, want) {
			t.Errorf("the statement says %q, expected %q in it", s.Bound, want)
		}
	}
}

// edited writes another clip norm into the newest checkpoint of a run, under a correct hash.
func edited(t *testing.T, dir string, values []float32) {
	t.Helper()
	state := newest(t, dir)
	if state.Slots[clipNormSlot] = values; values == nil {
		delete(state.Slots, clipNormSlot)
	}
	tiny.Must(checkpoints.Save(filepath.Join(dir, folder.Checkpoints), state))(t)
}

// A clip norm that somebody wrote into a checkpoint changes no bound and no event, so that ε is
// what it would have been; one that nobody could have written is refused.
func TestEditedClipNormChangesNoBound(t *testing.T) {
	stopped := func(o Options) string {
		return interruptAfter(t, create(t, tiny.Parse(t, adaptive), o), 5).Run
	}
	whole := train(t, options(t), adaptive)
	for _, norm := range []float32{1e-9, 1e9} {
		o := options(t)
		dir := stopped(o)
		edited(t, dir, []float32{norm})
		r := open(t, dir, o)
		if r.plan.movingClipNorm(r.Step) != float64(norm) {
			t.Fatalf("the run goes on with clip norm %v, expected %v", r.plan.movingClipNorm(r.Step), norm)
		}
		without, with := clippedSum(t, r, []int{0, 1, 2, 5}), clippedSum(t, r, []int{0, 1, 2, 5, 8})
		var moved float64
		for i := range with {
			moved += (with[i] - without[i]) * (with[i] - without[i])
		}
		if moved = math.Sqrt(moved); moved > 0.5 || moved == 0 {
			t.Errorf("clip norm %v: one example moves the sum by %v, expected at most 0.5", norm, moved)
		}
		if result := fit(t, r); result.Epsilon != whole.Epsilon || result.LedgerEntries != whole.LedgerEntries {
			t.Errorf("clip norm %v: ε is %v after %d releases, expected %v after %d", norm, result.Epsilon, result.LedgerEntries, whole.Epsilon, whole.LedgerEntries)
		}
	}
	for _, values := range [][]float32{nil, {}, {1, 2}, {0}, {-1}, {math.MaxFloat32}} {
		o := options(t)
		dir := stopped(o)
		edited(t, dir, values)
		if _, err := Open(dir, o); err == nil || !strings.Contains(err.Error(), "checkpoint-5.ckpt") {
			t.Errorf("clip norm %v: found error %v, expected one about checkpoint-5.ckpt", values, err)
		}
	}
}

// The slot of the clip norm is none of an update rule.
func TestClipNormHasASlotOfItsOwn(t *testing.T) {
	for _, kind := range optimizer.UpdateRules() {
		for _, slot := range kind.New().Slots() {
			if slot.Name == clipNormSlot {
				t.Errorf("%s has a slot %q", kind.Name, slot.Name)
			}
		}
	}
}

// Diagnostics say what share of the gradients was clipped, whatever scales them: those of the tiny
// network are longer than 1e-6 and shorter than 1000, as are their layers.
func TestDiagnosticsSayWhatWasClipped(t *testing.T) {
	for _, policy := range []string{"privacy.clipping=flat", "privacy.clipping=per_layer", adaptive, "privacy.clip_schedule=linear"} {
		for norm, want := range map[string]float64{"1e-6": 1, "1000": 0} {
			rate := map[string]string{"1e-6": "1", "1000": "1e-9"}[norm] // little changes
			r := train(t, options(t), policy, "privacy.clip_norm="+norm, "optimizer.learning_rate="+rate, "run.private_diagnostics=true")
			for _, d := range linesOf[run.Diagnostics](t, r.Run, folder.Diagnostics) {
				if d.ClippedFraction != want || !(d.MeanNorm > 1e-3) {
					t.Errorf("%s, clip norm %s: found %+v, expected the clipped fraction %v", policy, norm, d, want)
				}
			}
		}
	}
}
