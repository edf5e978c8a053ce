package train_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/kernel"
	"dpsgd/internal/run"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
	"dpsgd/internal/trained"
)

// taskTable writes a table of 400 and 200 rows, whose columns a, b and n follow from x and y.
func taskTable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src := rand.New(rand.NewPCG(1, 2))
	for part, rows := range map[string]int{"train": 400, "test": 200} {
		var b strings.Builder
		b.WriteString("x,y,a,b,n\n")
		for range rows {
			x, y := src.NormFloat64(), src.NormFloat64()
			bit := func(v float64) int { return map[bool]int{true: 1}[v > 0] }
			fmt.Fprintf(&b, "%.4f,%.4f,%d,%d,%.4f\n", x, y, bit(x), bit(x-y), 50+10*x-5*y)
		}
		tiny.Check(t, os.WriteFile(filepath.Join(dir, part+".csv"), []byte(b.String()), 0o600))
	}
	return dir
}

// Labels and numbers are learnt privately, measured, written down, listed and predicted.
func TestTasksOfTables(t *testing.T) {
	dir := taskTable(t)
	for name, c := range map[string]struct {
		learnt, loss string
		check        func(r train.Result, measures map[string]float64, a trained.Answer) bool
	}{
		"labels": {"labels: [a, b]", "binary", func(r train.Result, m map[string]float64, a trained.Answer) bool {
			return r.TestAccuracy > 0.85 && m["auroc"] > 0.95 && m["balanced_accuracy"] > 0.85 && m["f1"] > 0.85 && len(r.ByClass) == 2 && len(a.Classes) == 2
		}},
		"number": {"label: n, bounds: [10, 90]", "huber", func(r train.Result, m map[string]float64, a trained.Answer) bool {
			return r.TestAccuracy.None() && r.TestError > 0 && r.TestError < 4 && m["mean_absolute_error"] == float64(r.TestError) && m["mean_squared_error"] > 0 && a.Number != nil && math.Abs(*a.Number-60) < 10
		}},
	} {
		t.Run(name, func(t *testing.T) {
			yaml := fmt.Sprintf(`
data: {table: %q, columns: [x, y], %s}
model: {layers: [flatten, linear: {out_features: classes}]}
privacy: {epsilon: 8, delta: 1.0e-4, clip_norm: 0.5}
optimizer: {name: momentum, learning_rate: by_noise, parameter_noise: 0.05}
training: {loss: %s, sampling: full, steps: 40, physical_batch_size: 64}
`, dir, c.learnt, c.loss)
			config := tiny.Must(configs.Parse("task.yaml", []byte(yaml), nil))(t)
			o := train.Options{Options: run.Options{RunsDir: t.TempDir()}}
			r := tinyrun.Fit(t, tinyrun.Create(t, config, o))
			s := tiny.Must(train.Evaluate(r.Run, o))(t)
			measures := map[string]float64{}
			for _, m := range s.Measures {
				if measures[m.Name] = m.Value; !(m.Low <= m.Value && m.Value <= m.High) {
					t.Errorf("found %+v, expected a value in its interval", m)
				}
			}
			pool := kernel.NewPool(1)
			defer pool.Close()
			p := tiny.Must(trained.New(tiny.Must(trained.Open(r.Run))(t), pool))(t)
			rows := filepath.Join(t.TempDir(), "rows.csv")
			tiny.Check(t, os.WriteFile(rows, []byte("x,y\n1,0\n"), 0o600))
			var answer trained.Answer
			tiny.Check(t, p.Table(t.Context(), rows, func(a trained.Answer) error { answer = a; return nil }))
			tiny.Says(t, r.Run, "400 examples of 2 columns with ", "| Loss | "+c.loss)
			if s.Test.String() != r.Test.String() || !c.check(r, measures, answer) {
				t.Errorf("found %+v, measured %+v, answered %+v", r, s, answer)
			}
		})
	}
}

// A private network learns sentences, in which a bag of words sees nothing; a text is predicted as
// the test examples were, alone and in a file.
func TestSentencesAreLearnt(t *testing.T) {
	config := tiny.Must(configs.Load("sentences", []string{"privacy.epsilon=none", "privacy.noise_multiplier=0.5", "training.steps=60", "training.batch_size=512"}))(t)
	o := train.Options{Options: run.Options{RunsDir: t.TempDir()}}
	r := tinyrun.Fit(t, tinyrun.Create(t, config, o))
	e := tiny.Must(train.Examine(r.Run, o))(t)
	if r.TestAccuracy < 0.9 || e.Test != r.Test || e.Text == nil || e.Noun != "texts" {
		t.Errorf("found %+v, measured %+v of %s; expected above 0.9, where a bag of words has 0.5", r, e.Test, e.Noun)
	}
	pool := kernel.NewPool(1)
	defer pool.Close()
	p := tiny.Must(trained.New(tiny.Must(trained.Open(r.Run))(t), pool))(t)
	predicted := func(lines string) (answers []trained.Answer) {
		file := filepath.Join(t.TempDir(), "texts.txt")
		tiny.Check(t, os.WriteFile(file, []byte(lines), 0o600))
		tiny.Check(t, p.Texts(t.Context(), file, func(a trained.Answer) error {
			answers = append(answers, a)
			return nil
		}))
		return answers
	}
	answers := predicted(e.Text(0) + "\n\n" + e.Text(1) + "\n")
	if len(answers) != 2 {
		t.Fatalf("found %d answers, expected 2", len(answers))
	}
	for i, a := range answers {
		alone, examined := predicted(e.Text(i))[0], e.Predictions[i]
		if a.Class != e.Matrix.Names[examined.Class] || a.Probability != alone.Probability || math.Abs(a.Probability-examined.Probability) > 1e-6 {
			t.Errorf("text %d: found %+v, alone %+v, in the examination %+v", i, a, alone, examined)
		}
	}
	tiny.Says(t, r.Run, "12 tokens of 31", "- the test texts", "how texts are cut into tokens")
}
