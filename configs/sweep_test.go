package configs

import (
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dpsgd/internal/random"
	"dpsgd/internal/slow"
)

func mustSweep(t *testing.T, src string) *Sweep {
	t.Helper()
	return must(ParseSweep("test.yaml", []byte(src)))(t)
}

func mustTrials(t *testing.T, s *Sweep) []Trial {
	t.Helper()
	return must(s.Trials(Draw{}))(t)
}

// names are those of trials.
func names(trials []Trial) string {
	var all []string
	for _, trial := range trials {
		all = append(all, trial.Name)
	}
	return strings.Join(all, "; ")
}

func TestTrialsAreTheGridTimesTheSeeds(t *testing.T) {
	for src, want := range map[string]string{
		"name: s\nbase: digits\ngrid: {privacy.clip_norm: [1, 2]}\n": "clip_norm=1; clip_norm=2",
		"name: s\nbase: digits\nseeds: [1, 2, 3]\n":                  "seed=1; seed=2; seed=3",
	} {
		trials := mustTrials(t, mustSweep(t, src))
		if seed := trials[len(trials)-1].Config.Training.Seed; names(trials) != want || seed != map[byte]uint64{'c': 1, 's': 3}[want[0]] {
			t.Errorf("%s: found %s, the last with seed %d, expected %s", src, names(trials), seed, want)
		}
	}
	trials := mustTrials(t, mustSweep(t, `
name: small
base: digits
set: {privacy.epsilon: none, training.steps: 50}
grid:
  privacy.clip_norm: [0.1, 1.0]
  privacy.noise_multiplier: [1, 2e0]
seeds: [3, 4]
`))
	if want := "clip_norm=0.1,noise_multiplier=1,seed=3; clip_norm=0.1,noise_multiplier=1,seed=4; clip_norm=0.1,noise_multiplier=2,seed=3; clip_norm=0.1,noise_multiplier=2,seed=4; " +
		"clip_norm=1,noise_multiplier=1,seed=3; clip_norm=1,noise_multiplier=1,seed=4; clip_norm=1,noise_multiplier=2,seed=3; clip_norm=1,noise_multiplier=2,seed=4"; names(trials) != want {
		t.Errorf("found %s, expected %s", names(trials), want)
	}
	last := trials[7]
	if c := last.Config; c.Privacy.ClipNorm != 1 || c.Privacy.NoiseMultiplier != 2 || c.Privacy.HasBudget() || c.Training.Seed != 4 || c.Training.Steps != 50 || c.Training.Epochs != 0 {
		t.Errorf("the last trial is\n%s", c.YAML())
	}
	settings := []Setting{{"privacy.clip_norm", "clip_norm", "1"}, {"privacy.noise_multiplier", "noise_multiplier", "2"}, {"training.seed", "seed", "4"}}
	if !reflect.DeepEqual(last.Settings, settings) {
		t.Errorf("settings are %v, want %v", last.Settings, settings)
	}
}

func TestTrialIsItsOverridesOnTheBase(t *testing.T) {
	s := mustSweep(t, `
name: all-kinds
base: digits
grid:
  data.mean: [[0], [0.25]]
  model.layers: [[flatten, linear: {out_features: classes}], [residual: {body: [relu]}]]
  optimizer.name: [sgd, adam]
  optimizer.schedule.name: [cosine]
  run.private_diagnostics: [true]
  privacy.epsilon: [none, 3]
  privacy.noise_multiplier: [1.5]
`)
	for _, trial := range mustTrials(t, s) {
		c, err := Load(trial.Base, trial.Overrides)
		if err != nil || !reflect.DeepEqual(c, trial.Config) {
			t.Errorf("%s: Load(%s, %q) = %+v, %v; want %+v", trial.Name, trial.Base, trial.Overrides, c, err, trial.Config)
		}
	}
}

var safeName = regexp.MustCompile(`^[A-Za-z0-9._+=,-]{1,255}$`)

func TestTrialNamesAreSafeDistinctAndStable(t *testing.T) {
	s := mustSweep(t, `
name: names
base: digits
grid:
  data.folder: [a/b, a:b, "../..", "ü", "`+strings.Repeat("x", 300)+`", "`+strings.Repeat("x", 301)+`"]
  data.classes: [[a, b], ["1", "2"]]
  data.size: [28, [28, 32]]
  data.channels: [1]
  optimizer.name: [sgd, momentum]
  optimizer.schedule.name: [constant, cosine]
`)
	trials := mustTrials(t, s)
	seen := map[string]bool{}
	for _, trial := range trials {
		if !safeName.MatchString(trial.Name) || seen[strings.ToLower(trial.Name)] {
			t.Errorf("the name %q is unsafe or comes twice", trial.Name)
		}
		seen[strings.ToLower(trial.Name)] = true
	}
	if want := 6 * 2 * 2 * 2 * 2; len(trials) != want {
		t.Errorf("%d trials, want %d", len(trials), want)
	}
	// The digits are the first of sha256sum of a/b and of [a, b].
	// Renaming a trial would make a sweep repeat what it has finished: this name must not change.
	want := "folder=a_b-c14cddc0,classes=a_b-5af6c271,size=28,channels=1,optimizer.name=sgd,optimizer.schedule.name=constant"
	if trials[0].Name != want {
		t.Errorf("the first name is %s, want %s", trials[0].Name, want)
	}
	label := strings.Repeat("x", 250) // of many keys
	if a, b := trialName([]Setting{{Label: label, Value: "1"}}), trialName([]Setting{{Label: label, Value: "2"}}); !safeName.MatchString(a) || len(a) > 209 || a == b {
		t.Errorf("found the names %q and %q, expected short ones that differ", a, b)
	}
}

func TestBaseIsRelativeToTheSweepFile(t *testing.T) {
	dir := folderOf(t, map[string]string{"base.yaml": smallest, "sweep.yaml": "name: s\nbase: base.yaml\nseeds: [1]\n"})
	s := must(LoadSweep(filepath.Join(dir, "sweep.yaml")))(t)
	if trials := mustTrials(t, s); trials[0].Base != filepath.Join(dir, "base.yaml") {
		t.Errorf("the base is %s", trials[0].Base)
	}
}

func TestShippedSweeps(t *testing.T) {
	for _, p := range Sweeps() {
		s := must(LoadSweep(p.Name))(t)
		d := Draw{}
		if s.Number != nil {
			d = s.Draw(random.New())
		}
		if trials, err := s.Trials(d); err != nil || p.Description == "" || s.Name != p.Name || len(trials) == 0 {
			t.Errorf("%s: description %q, name %q, %d trials (%v)", p.Name, p.Description, s.Name, len(trials), err)
		}
	}
}

func TestBadSweeps(t *testing.T) {
	head := "name: s\nbase: digits\n"
	tests := []struct{ src, want string }{
		{"", "s.yaml:1:1: found nothing, expected a mapping with the keys name, base, set, grid, random, trials, seeds, parallel, tan"},
		{"{}", `s.yaml:1:1: name: found nothing, expected ` + sweepName.What + `
s.yaml:1:1: base: found nothing, expected a preset or the path of a configuration
s.yaml:1:1: grid: found nothing, expected a mapping from keys to lists of values, or random, or seeds`},
		{"name: ../s\nbase: digits\nseeds: [1]", "s.yaml:1:7: name: found ../s, expected " + sweepName.What},
		{head + "grids: {}\nseeds: [1]", "s.yaml:3:1: grids: found an unknown key, expected one of name, base, set, grid, random, trials, seeds, parallel, tan (did you mean grid?)"},
		{head + "grid:\n  privacy.sigma: [1]", "s.yaml:4:3: grid.privacy.sigma: found an unknown key, expected a full key such as privacy.clip_norm (did you mean privacy.noise_multiplier?)"},
		{head + "grid:\n  privacy: {clip_norm: [1]}", "s.yaml:4:3: grid.privacy: found an unknown key, expected a full key such as privacy.clip_norm"},
		{head + "grid:\n  privacy.clip_norm: 1", "s.yaml:4:22: grid.privacy.clip_norm: found 1, expected a list of values (write [1])"},
		{head + "grid:\n  privacy.clip_norm: []", "s.yaml:4:22: grid.privacy.clip_norm: found an empty list, expected a list of values"},
		{head + "grid:\n  privacy.clip_norm: [1, 0, ~]", `s.yaml:4:26: grid.privacy.clip_norm[1]: found 0, expected a number from 1e-12 to 1000000
s.yaml:4:29: grid.privacy.clip_norm[2]: found ~, expected a number from 1e-12 to 1000000`},
		{head + "grid:\n  privacy.clip_norm: [1, 1.0]", "s.yaml:4:26: grid.privacy.clip_norm[1]: found 1 twice, expected values that differ"},
		{head + "grid:\n  run.name: [a, b]", "s.yaml:4:3: grid.run.name: found a key that cannot be set, expected none: each trial is named after its values"},
		{head + "grid:\n  training.seed: [1]\nseeds: [1]", "s.yaml:4:19: grid.training.seed: found together with seeds, expected one of the two"},
		{head + "set: {privacy.clip_norm: 1}\ngrid: {privacy.clip_norm: [1]}", "s.yaml:4:28: grid.privacy.clip_norm: found together with set, expected one of the two"},
		{head + "set: [1]\nseeds: [1]", "s.yaml:3:6: set: found a list of 1, expected a mapping from keys such as training.epochs to values"},
		{head + "set: {training.epochs: 0.5}\nseeds: [1]", "s.yaml:3:24: set.training.epochs: found 0.5, expected a whole number from 1 to 1000000"},
		{head + "grid: 3", "s.yaml:3:7: grid: found 3, expected a mapping from keys such as privacy.clip_norm to lists of values"},
		{head + "seeds: 3.5", "s.yaml:3:8: seeds: found 3.5, expected a list of whole numbers, or how many: a whole number from 1 to 1000"},
		{head + "seeds: [1, 1]", "s.yaml:3:12: seeds[1]: found 1 twice, expected seeds that differ"},
		{head + "seeds: [1, -1]", "s.yaml:3:12: seeds[1]: found -1, expected a whole number from 0 to 9007199254740991"},
		{head + "grid:\n  training.steps: [" + hundred + "]\n  training.batch_size: [" + hundred + "]\nseeds: [1, 2]", "s.yaml:1:1: grid: found more than 10000 trials, expected at most 10000"},
	}
	for _, tt := range tests {
		_, err := ParseSweep("s.yaml", []byte(tt.src))
		wrong(t, tt.src, err, tt.want)
	}
}

// hundred is 1, 2, … 100.
var hundred = func() string {
	values := make([]string, 100)
	for i := range values {
		values[i] = strconv.Itoa(i + 1)
	}
	return strings.Join(values, ", ")
}()

// Values that are fine alone may not go together; that is found before anything runs.
func TestTrialsAreValidatedTogether(t *testing.T) {
	tests := []struct{ src, want string }{
		{"name: s\nbase: digits\ngrid: {optimizer.name: [adam], optimizer.momentum: [0.9]}",
			"configs: trial name=adam,momentum=0.9 of test.yaml: test.yaml:3:53: optimizer.momentum: found without effect, expected it only with optimizer.name momentum or nesterov"},
		{"name: s\nbase: digits\ngrid: {training.epochs: [1], training.steps: [1]}",
			"configs: trial epochs=1,steps=1 of test.yaml: test.yaml:3:47: training.steps: found together with training.epochs, expected one of the two"},
		{"name: s\nbase: digits\nset: {model.init_trained_on: public}\ngrid: {model.init: [a.safetensors, A.safetensors]}",
			"configs: invalid configuration: test.yaml: found two trials with the name init=A.safetensors, expected values that differ in more than case"},
	}
	for _, tt := range tests {
		_, err := mustSweep(t, tt.src).Trials(Draw{})
		wrong(t, tt.src, err, tt.want)
	}
	_, err := mustSweep(t, "name: s\nbase: digit\nseeds: [1]").Trials(Draw{})
	if err == nil || !strings.Contains(err.Error(), "did you mean digits?") {
		t.Errorf("unknown base: %v", err)
	}
}

func FuzzParseSweep(f *testing.F) {
	seeds := [][]byte{[]byte(drawingSweep), []byte("name: s\nbase: digits\ngrid: {model.layers: [[relu], [flatten]], data.mean: [[0]]}\nset: {run.name: x}\n")}
	for _, p := range Sweeps() {
		seeds = append(seeds, p.Source)
	}
	slow.Inputs(f, seeds, func(t testing.TB, src []byte) int64 {
		s, err := ParseSweep("fuzz.yaml", src)
		if err != nil {
			return 0
		}
		s.Base = "digits" // no files while fuzzing
		d := Draw{}
		if s.Number != nil && s.Number.Fixed < 100 {
			d = s.Draw(random.ForTest(1))
		}
		trials, err := s.Trials(d)
		for _, trial := range trials[:min(len(trials), 10)] {
			c, err := Load(trial.Base, trial.Overrides)
			if err != nil || !reflect.DeepEqual(c, trial.Config) || !safeName.MatchString(trial.Name) {
				t.Fatalf("%q: trial %q: %v", src, trial.Name, err)
			}
		}
		_ = err
		return 0
	})
}
