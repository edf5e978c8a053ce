package train

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
)

// edit puts a text in the place of the first of another in a file, which has it.
func edit(t *testing.T, path, old, new string) {
	t.Helper()
	content := tiny.Read(t, path)
	if !strings.Contains(content, old) {
		t.Fatalf("%s does not contain %q:\n%s", path, old, content)
	}
	tiny.Write(t, path, strings.Replace(content, old, new, 1))
}

// What a run reports is fixed when it begins: with another configuration in its folder, none of the
// commands that read it answers, whether the ledger of the data is there to be asked or not.
func TestReportIsFixedAtTheBeginning(t *testing.T) {
	for _, test := range []struct{ old, new string }{
		{"accountant: rdp", "accountant: exact"}, {"delta: 0.0001", "delta: 0.001"}, {"clip_norm: 0.5", "clip_norm: 0.25"},
		{"noise_multiplier: 1", "noise_multiplier: 2"}, {"batch_size: 40", "batch_size: 20"}, {"steps: 12", "steps: 6"},
		{"privacy:\n", "privacy:\n  epsilon: 30\n"}, {"privacy:\n", "privacy:\n  unit: label\n"}, {"name: digits", "name: mnist"},
	} {
		for _, alone := range []bool{false, true} {
			o := options(t)
			r := train(t, o)
			edit(t, filepath.Join(r.Run, folder.Config), test.old, test.new)
			if alone {
				tiny.Check(t, os.Remove(filepath.Join(o.RunsDir, folder.Datasets)))
			}
			_, inspected := books.Inspect(r.Run)
			_, measured := Evaluate(r.Run, o)
			_, shown := books.Show(o.RunsDir)
			for what, err := range map[string]error{"its ledger": inspected, "its model": measured, "all runs": shown} {
				if !errors.Is(err, books.ErrOtherPlan) && !errors.Is(err, configs.ErrInvalid) && !(alone && errors.Is(err, checkpoints.ErrRollback)) {
					t.Errorf("%q in place of %q (alone %t): %s answers with error %v, expected ErrOtherPlan", test.new, test.old, alone, what, err)
				}
			}
		}
	}
}

// Runs that must not go on (RELIABILITY R6): each is refused with its own error in one line, and no
// file changes.
func TestResumeRefuses(t *testing.T) {
	edit := func(name, old, new string) func(t *testing.T, dir string, o *Options) {
		return func(t *testing.T, dir string, _ *Options) { edit(t, filepath.Join(dir, name), old, new) }
	}
	remove := func(name string) func(t *testing.T, dir string, o *Options) {
		return func(t *testing.T, dir string, _ *Options) {
			tiny.Check(t, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string, o *Options)
		match error
		want  string
	}{
		{"other learning rate", edit(folder.Config, "learning_rate: 0.5", "learning_rate: 0.25"), books.ErrOtherPlan, "was made with optimizer.learning_rate 0.5, found 0.25; expected "},
		{"other noise", edit(folder.Config, "noise_multiplier: 1", "noise_multiplier: 2"), books.ErrOtherPlan, "was made with privacy.noise_multiplier 1, found 2; expected "},
		{"other clip norm", edit(folder.Config, "clip_norm: 0.5", "clip_norm: 5"), books.ErrOtherPlan, "was made with privacy.clip_norm 0.5, found 5; expected "},
		{"more steps", edit(folder.Config, "steps: 12", "steps: 120"), books.ErrOtherPlan, "was made with training.steps 12, found 120; expected "},
		{"with views", edit(folder.Config, "training:\n", "training:\n  augmentation: {views: 2}\n"), books.ErrOtherPlan, "training.augmentation.views none, found 2"},
		{"one example more", func(t *testing.T, _ string, o *Options) { o.Given = tiny.Source(t, tiny.Examples+1) }, books.ErrOtherPlan, "was made with examples 300 6x6x1"},
		{"other classes", func(t *testing.T, _ string, o *Options) {
			again := func(s data.Set) *data.Images {
				return remade(t, s, []string{"a", "b", "c"}, func(int, *uint8, []uint8) {})
			}
			o.Given = &data.Split{Name: o.Given.Name, Train: again(o.Given.Train), Test: again(o.Given.Test)}
		}, books.ErrOtherPlan, `found 300 6x6x1 ["a" "b" "c"]`},
		{"other learning rate than in a run of an earlier version", func(t *testing.T, dir string, o *Options) {
			edit(folder.Config, "learning_rate: 0.5", "learning_rate: 0.25")(t, dir, o)
			remove(folder.Plan)(t, dir, o)
		}, books.ErrOtherPlan, "made with another configuration or other data"},
		{"config that is none", edit(folder.Config, "clip_norm", "clip"), configs.ErrInvalid, "clip"},
		{"no config", remove(folder.Config), folder.ErrNoRun, "holds no config.yaml, expected the folder of a run"},
		{"no ledger", remove(folder.Ledger), folder.ErrNoRun, "holds no ledger.jsonl, expected the folder of a run"},
		{"no checkpoints", remove(folder.Checkpoints), checkpoints.ErrNoCheckpoint, folder.Checkpoints},
		{"ledger with another noise", edit(folder.Ledger, `"noise_multiplier":1}`, `"noise_multiplier":9}`), checkpoints.ErrCorrupt, "line 2"},
		{"ledger without a line", func(t *testing.T, dir string, _ *Options) {
			lines := strings.SplitAfter(tiny.Read(t, filepath.Join(dir, folder.Ledger)), "\n")
			tiny.Write(t, filepath.Join(dir, folder.Ledger), strings.Join(slices.Delete(lines, 3, 4), ""))
		}, checkpoints.ErrCorrupt, "line 4"},
		{"ledger rolled back", func(t *testing.T, dir string, _ *Options) {
			lines := strings.SplitAfter(tiny.Read(t, filepath.Join(dir, folder.Ledger)), "\n")
			tiny.Write(t, filepath.Join(dir, folder.Ledger), strings.Join(lines[:5], ""))
		}, checkpoints.ErrRollback, "found 4 ledger entries, expected at least the 12"},
		{"ledger of another run", func(t *testing.T, dir string, o *Options) {
			other := train(t, *o)
			tiny.Write(t, filepath.Join(dir, folder.Ledger), tiny.Read(t, filepath.Join(other.Run, folder.Ledger)))
		}, checkpoints.ErrRollback, ""},
		{"checkpoints of a run with another network", func(t *testing.T, dir string, o *Options) {
			other := train(t, *o, "model.name=mlp")
			remove(folder.Checkpoints)(t, dir, o)
			tiny.Check(t, os.CopyFS(filepath.Join(dir, folder.Checkpoints), os.DirFS(filepath.Join(other.Run, folder.Checkpoints))))
		}, checkpoints.ErrRollback, ""},
		{"checkpoint of steps that are no releases", func(t *testing.T, dir string, _ *Options) {
			s, _, err := checkpoints.Latest(filepath.Join(dir, folder.Checkpoints))
			tiny.Check(t, err)
			s.Unreleased = true
			tiny.Must(checkpoints.Save(filepath.Join(dir, folder.Checkpoints), s))(t)
		}, books.ErrOtherPlan, "whose steps are no releases"},
		{"all checkpoints damaged", func(t *testing.T, dir string, _ *Options) {
			found, err := filepath.Glob(filepath.Join(dir, folder.Checkpoints, "*"))
			if err != nil || len(found) != 2 {
				t.Fatalf("found checkpoints %q (%v), expected two", found, err)
			}
			for _, path := range found {
				tiny.Check(t, os.Truncate(path, 100))
			}
		}, checkpoints.ErrNoCheckpoint, ""},
		{"in use", func(t *testing.T, dir string, o *Options) {
			r := open(t, dir, *o)
			t.Cleanup(func() { r.Close() })
		}, checkpoints.ErrLocked, folder.Ledger},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := options(t)
			r := train(t, o)
			test.spoil(t, r.Run, &o)
			before := tiny.Snapshot(t, r.Run)
			_, err := Open(r.Run, o)
			if !errors.Is(err, test.match) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("found error %v\nexpected one line that matches %v and says %q", err, test.match, test.want)
			}
			if !maps.Equal(before, tiny.Snapshot(t, r.Run)) {
				t.Error("the refused run changed on disk")
			}
		})
	}
}

// remade is a set of pictures with these names of classes, in which change may change the label and
// the pixels of each.
func remade(t testing.TB, s data.Set, classes []string, change func(i int, label *uint8, pixels []uint8)) *data.Images {
	t.Helper()
	m := s.(*data.Images)
	var labels, pixels []uint8
	for i := range m.Len() {
		label, picture := uint8(m.Label(i)), slices.Clone(m.Pixels(i))
		change(i, &label, picture)
		labels, pixels = append(labels, label), append(pixels, picture...)
	}
	return tiny.Must(data.NewImages(m.Shape(), classes, labels, pixels))(t)
}

// A run that cannot start says why in one line and leaves nothing behind.
func TestCreateRefuses(t *testing.T) {
	tests := []struct {
		name      string
		overrides []string
		prepare   func(t *testing.T, o *Options)
		match     error
		want      string
	}{
		{"batch above the data", []string{"training.batch_size=301"}, nil, setup.ErrPlan, "training.batch_size is 301, expected at most the 300 training examples"},
		{"delta of one example", []string{"privacy.delta=0.0033333333333333335"}, nil, setup.ErrPlan, "privacy.delta is 0.0033333333333333335, expected less than 1/n = 0.00333 for n = 300 training examples"},
		{"no noise to speak of", []string{"privacy.noise_multiplier=1e-170"}, nil, setup.ErrPlan, "privacy.noise_multiplier is 1e-170, expected enough noise"},
		{"noise beyond all bounds", []string{"privacy.noise_multiplier=calibrated", "privacy.epsilon=1e-6", "privacy.delta=1e-10", "privacy.accountant=exact"}, nil, setup.ErrPlan, "privacy.epsilon is 1e-06, which takes too much noise, expected a larger one: release: noise multiplier is "},
		{"warm-up in all steps", []string{"training.epochs=1", "optimizer.schedule.warmup_steps=8"}, nil, setup.ErrPlan, "optimizer.schedule.warmup_steps is 8, expected less than the number of steps, 8"},
		{"layers that do not fit", []string{"model.layers=[{linear: {out_features: classes}}]"}, nil, setup.ErrPlan, "layer 0: its input has shape [6 6 1] per example, expected a vector"},
		{"network for larger pictures", []string{"model.layers=[{conv2d: {out_channels: 2, kernel_size: 9}}, flatten, {linear: {out_features: classes}}]"}, nil, setup.ErrPlan, "layer 0"},
		{"views that move the picture away", []string{"training.augmentation.shift=6"}, nil, setup.ErrPlan, "training.augmentation.shift is 6, expected less than the 6 pixels of a picture's shorter side"},
		{"data that is not there", []string{"data.name=mnist", "model.name=mnist-cnn"}, func(t *testing.T, o *Options) {
			o.Given, o.DataDir = nil, t.TempDir()
		}, data.ErrMissing, "mnist"},
		{"runs below a file", nil, func(t *testing.T, o *Options) {
			file := filepath.Join(t.TempDir(), "file")
			tiny.Write(t, file, "")
			o.RunsDir = filepath.Join(file, "runs")
		}, folder.ErrNoRun, "lies below a file, expected a folder of runs"},
		{"name that is taken", []string{"run.name=mine"}, func(t *testing.T, o *Options) {
			train(t, *o, "run.name=mine")
		}, folder.ErrRunExists, "mine, expected a name that is free; go on with it by `train resume"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := options(t)
			if test.prepare != nil {
				test.prepare(t, &o)
			}
			parent := filepath.Dir(filepath.Dir(o.RunsDir))
			before := tiny.Snapshot(t, parent)
			_, err := Create(tiny.Parse(t, test.overrides...), o)
			if err == nil || test.match != nil && !errors.Is(err, test.match) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("found error %v\nexpected one line that matches %v and says %q", err, test.match, test.want)
			}
			if !maps.Equal(before, tiny.Snapshot(t, parent)) {
				t.Error("the refused run left something behind")
			}
		})
	}
}

// A ledger that cannot be written stops the run before the step's update.
func TestNoUpdateAfterAFailedLedger(t *testing.T) {
	r := create(t, tiny.Parse(t), options(t))
	before := slices.Clone(r.Model.Values)
	tiny.Check(t, r.Books.Close())
	if _, err := r.Fit(t.Context()); err == nil {
		t.Error("the run went on without a ledger")
	}
	if !slices.Equal(before, r.Model.Values) || r.Step != 0 || tiny.Releases(t, r.Dir) != 0 {
		t.Error("a step was made that the ledger does not know")
	}
}
