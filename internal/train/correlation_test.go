package train

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/clip"
	"dpsgd/internal/random"
	"dpsgd/internal/run"
	"dpsgd/internal/tiny"
	"dpsgd/release"
)

var bands = append(cyclicBudget, "privacy.correlation=banded", "privacy.bands=3")

// A run with correlated noise costs what it does with independent noise and the same blocks, also
// where it was stopped in the middle of a band and went on, which begins the band anew.
func TestCorrelatedRunCostsNoMore(t *testing.T) {
	independent := train(t, options(t), cyclicBudget...)
	whole := train(t, options(t), bands...)
	if whole.Epsilon != independent.Epsilon || whole.NoiseMultiplier != independent.NoiseMultiplier {
		t.Errorf("ε %v with noise multiplier %v, expected %v with %v", whole.Epsilon, whole.NoiseMultiplier, independent.Epsilon, independent.NoiseMultiplier)
	}
	tiny.Says(t, whole.Run, "σ·‖c‖·C")
	for _, cut := range []int{1, 4, 7, 11} {
		o := options(t)
		stopped := interruptAfter(t, create(t, tiny.Parse(t, bands...), o), cut)
		resumed := fit(t, open(t, stopped.Run, o))
		if resumed.Status != run.Done || resumed.Epsilon != whole.Epsilon || tiny.Releases(t, stopped.Run) != 12 {
			t.Errorf("cut at %d: %s with ε %v, expected done with %v", cut, resumed.Status, resumed.Epsilon, whole.Epsilon)
		}
		killed := func(overrides []string) Result {
			o := options(t)
			return fit(t, open(t, killAfter(t, create(t, tiny.Parse(t, append(overrides, "privacy.epsilon=none", "privacy.noise_multiplier=2", "run.checkpoint_every=2")...), o), cut), o))
		}
		if found, want := killed(slices.Clip(bands)), killed(slices.Clip(cyclicBudget)); found.Epsilon != want.Epsilon || tiny.Releases(t, found.Run) != tiny.Releases(t, want.Run) {
			t.Errorf("killed at %d: ε %v after %d releases, expected %v as of independent noise", cut, found.Epsilon, tiny.Releases(t, found.Run), want.Epsilon)
		}
	}
}

// witness keeps a copy of every sum that the mechanism gets.
type witness struct {
	*release.Correlated
	sums [][]int64
}

func (w *witness) Privatize(step int, sum *clip.Sum, src *random.Source, consume func(release.Noisy)) error {
	err := sum.Merge(func(values []int64) error { w.sums = append(w.sums, slices.Clone(values)); return nil })
	return errors.Join(err, w.Correlated.Privatize(step, sum, src, consume))
}

// No file of a run holds a sum that the mechanism remembers, in any of the forms in which one could
// be stored: none of its values, as an integer or as a number of any width, is in any file. (Sums of
// 25 bits and more are looked for: chance has none of them in these few bytes, but for about 1e-5 a
// value in 4 bytes and 1e-14 in 8, of which one in a hundred values is looked at.)
func TestNoSumIsOnDisk(t *testing.T) {
	o := options(t)
	r := create(t, tiny.Parse(t, append(bands, "run.checkpoint_every=1")...), o)
	seen := &witness{Correlated: r.plan.Mechanism.(*release.Correlated)}
	r.plan.Mechanism = seen
	tiny.Check(t, r.openDoor())
	interruptAfter(t, r, 8)
	if len(seen.sums) != 8 {
		t.Fatalf("%d sums were seen, expected 8", len(seen.sums))
	}
	sums := seen.sums
	unit := r.plan.Policy.Bound()
	var all []byte
	tiny.Check(t, filepath.WalkDir(filepath.Dir(r.Dir), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			content, failed := os.ReadFile(path)
			all, err = append(append(all, content...), '\n'), failed
		}
		return err
	}))
	looked := 0
	for _, sum := range sums {
		for i := 0; i < len(sum); i += 101 {
			v := sum[i]
			if max(v, -v) < 1<<25 {
				continue
			}
			looked++
			number := float64(v) * unit
			for _, form := range [][]byte{
				binary.LittleEndian.AppendUint64(nil, uint64(v)), binary.BigEndian.AppendUint64(nil, uint64(v)),
				binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(v))), binary.LittleEndian.AppendUint64(nil, math.Float64bits(number)),
			} {
				if bytes.Contains(all, form) {
					t.Errorf("the value %d of a sum is on disk", v)
				}
			}
		}
	}
	if looked < 3 || !bytes.Contains(all, []byte("cyclic_sampled")) {
		t.Errorf("%d values were looked for", looked)
	}
}

// The number of bands that auto chooses is that of the least predicted error, which beats
// independent noise, and the run that goes on keeps it.
func TestAutoChoosesBands(t *testing.T) {
	auto := []string{"training.sampling=cyclic", "privacy.correlation=auto", "privacy.epsilon=8", "privacy.noise_multiplier=calibrated", "training.batch_size=15", "training.steps=120"}
	p := tiny.Must(NewPlan(tiny.Parse(t, auto...), tiny.Examples))(t)
	c := tiny.Must(p.Correlation(100))(t)
	if c.Bands < 2 || !(c.Error < 0.9) || len(c.Coefficients) != c.Bands || c.Bytes != (2*c.Bands-1)*800 {
		t.Errorf("found %+v", c)
	}
	for _, bands := range []string{"2", "4", "8", "16"} {
		other := tiny.Must(NewPlan(tiny.Parse(t, append(auto, "privacy.correlation=banded", "privacy.bands="+bands, "training.blocks="+bands)...), tiny.Examples))(t)
		if o := tiny.Must(other.Correlation(100))(t); o.Error < c.Error*(1-1e-9) {
			t.Errorf("%s bands have the error %v, below the %v of those that were chosen", bands, o.Error, c.Error)
		}
	}
	one := append(slices.Clip(auto), "training.batch_size=160", "training.steps=9") // a half of the examples is less than a batch, and so is an eighth, the default of training.blocks
	for steps, overrides := range map[int][]string{120: auto, 9: one} {
		o := options(t)
		stopped := interruptAfter(t, create(t, tiny.Parse(t, overrides...), o), 7)
		if resumed := fit(t, open(t, stopped.Run, o)); resumed.Status != run.Done || resumed.Epsilon > 8 || tiny.Releases(t, stopped.Run) != steps {
			t.Errorf("%v: found %+v", overrides, resumed)
		}
	}
}

// What correlated noise does not go with is refused by name.
func TestCorrelationRefusals(t *testing.T) {
	_, err := NewPlan(tiny.Parse(t, "privacy.correlation=banded"), tiny.Examples)
	if err == nil || !strings.Contains(err.Error(), "training.sampling is poisson") {
		t.Errorf("Poisson samples of all records: found %v", err)
	}
	for key, override := range map[string]string{
		"privacy.clipping": "privacy.clipping=adaptive", "privacy.noise_schedule": "privacy.noise_schedule=linear",
		"privacy.bands": "privacy.bands=4",
	} {
		_, err := NewPlan(tiny.Parse(t, append(bands, override)...), tiny.Examples)
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: found %v", override, err)
		}
	}
	if _, err := NewPlan(tiny.Parse(t, append(bands, "privacy.clip_schedule=linear")...), tiny.Examples); err == nil {
		t.Error("a clip norm that moves is accepted")
	}
	if _, err := NewPlan(tiny.Parse(t, append(cyclicBudget[:2:2], "privacy.correlation=auto", "privacy.noise_multiplier=1")...), tiny.Examples); err == nil || !strings.Contains(err.Error(), "privacy.noise_multiplier") {
		t.Errorf("auto with given noise: found %v", err)
	}
}
