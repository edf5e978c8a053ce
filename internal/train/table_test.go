package train_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/internal/speed"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// people writes a table of two classes that a line separates: who is sick is older and has less
// pay.
func people(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "people")
	tiny.Check(t, os.Mkdir(folder, 0o700))
	src := random.Seeded(1)
	for part, n := range map[string]int{"train": 400, "test": 100} {
		var b strings.Builder
		b.WriteString("id,age,pay,city,sick\n")
		for i := range n {
			age, pay, sick := 30+int(src.Uint64()%20), 40000+int(src.Uint64()%20000), "no"
			if i%2 == 1 {
				age, pay, sick = age+15, pay-15000, "yes"
			}
			fmt.Fprintf(&b, "%d,%d,%d,\"A, B\",%s\n", i, age, pay, sick)
		}
		tiny.Write(t, filepath.Join(folder, part+".csv"), b.String())
	}
	return folder
}

// tableConfig is a small MLP on that table.
func tableConfig(t testing.TB, folder string, overrides ...string) *configs.Config {
	t.Helper()
	c := tiny.Must(configs.Parse("people.yaml", fmt.Appendf(nil, `
data: {table: %q, columns: [age, pay], label: sick, classes: ["no", "yes"], mean: [48, 45000], std: [10, 10000]}
model: {layers: [flatten, linear: {out_features: 8}, tanh, linear: {out_features: classes}]}
privacy: {epsilon: 5, delta: 1e-3, clip_norm: 0.5, accountant: rdp}
optimizer: {name: momentum, learning_rate: 0.5, momentum: 0.9}
training: {batch_size: 50, physical_batch_size: 16, steps: 40}
performance: {threads: 2}
`, folder), overrides))(t)
	return c
}

// reading returns the options of a run that reads its data.
func reading(t testing.TB) train.Options {
	o := tinyrun.Options(t)
	o.Given = nil
	return o
}

// A table is trained on privately, described, recorded and measured like pictures, under names that
// are true of it.
func TestPrivateTrainingOnATable(t *testing.T) {
	table := people(t)
	c := tableConfig(t, table)
	d := tiny.Must(train.Describe(c, 0))(t)
	const parameters = 2*8 + 8 + 8*2 + 2
	if d.Data.Name != "people" || d.Data.Examples != 400 || d.Data.Tests != 100 || d.Data.Shape.String() != "2 columns" || d.Parameters != parameters {
		t.Errorf("described as %+v with %d parameters", d.Data, d.Parameters)
	}
	o := reading(t)
	r := tinyrun.Fit(t, tinyrun.Create(t, c, o))
	if r.TestAccuracy < 0.8 || r.Epsilon > 5 || r.Steps != 40 {
		t.Errorf("test accuracy is %v, epsilon %v after %d steps; expected above 0.8 where chance is 0.5, at most 5 after 40", r.TestAccuracy, r.Epsilon, r.Steps)
	}
	s, err := train.Evaluate(r.Run, o)
	if err != nil || s.TestAccuracy != r.TestAccuracy || s.Noun != "rows" {
		t.Errorf("measured as %+v, %v; expected what the run reported, %v", s, err, r.TestAccuracy)
	}
	shown, err := books.Show(o.RunsDir)
	if want := (checkpoints.Data{Name: "people", Examples: 400, Shape: "2 columns", Classes: 2, Unit: checkpoints.Unit{Kind: checkpoints.Example}}); err != nil || len(shown.Datasets) != 1 || shown.Datasets[0].Data != want {
		t.Errorf("recorded as %+v (%v), expected %+v", shown.Datasets, err, want)
	}
	tiny.Says(t, r.Run, "with respect to one training example.", "| Training data | people, 400 examples of 2 columns in 2 classes |",
		"- the names of the classes, the names of the columns, and every value", "- the test rows: the test accuracy")
	if text := tiny.Read(t, filepath.Join(r.Run, folder.Statement)); strings.Contains(text, "picture") {
		t.Errorf("the statement speaks of pictures:\n%s", text)
	}
}

// Whoever chooses among models on several columns of a table has asked the same people each time:
// their costs add up, in the ledger and in the statement of every later run.
func TestRunsOnOtherColumnsAddUp(t *testing.T) {
	table := people(t)
	o := reading(t)
	views := [][]string{
		nil,
		{"data.columns=[age]", "data.mean=[48]", "data.std=[10]"},
		{"data.columns=[id, age]", "data.classes=[\"no\", \"yes\", unknown]"},
	}
	alone := 0.0
	for i, view := range views {
		r := tinyrun.Fit(t, tinyrun.Create(t, tableConfig(t, table, append(view, "training.steps=4")...), o))
		alone = max(alone, r.Epsilon)
		if i > 0 && (r.DatasetRuns != i+1 || r.DatasetReleases != 4*(i+1) || r.DatasetEpsilon <= alone) {
			t.Errorf("run %d says that %d runs with %d releases cost ε = %v, expected %d with %d and more than the %v of one",
				i, r.DatasetRuns, r.DatasetReleases, r.DatasetEpsilon, i+1, 4*(i+1), alone)
		}
	}
	shown, err := books.Show(o.RunsDir)
	if err != nil || len(shown.Datasets) != 1 || shown.Datasets[0].Releases != 4*len(views) || len(shown.Datasets[0].Runs) != len(views) {
		t.Errorf("found %+v, %v; expected one total of %d runs", shown.Datasets, err, len(views))
	}
}

func TestTableRefuses(t *testing.T) {
	table := people(t)
	for says, c := range map[string]*configs.Config{
		"layer 0: its input has shape [2] per example, expected an image": tableConfig(t, table, "model.name=mnist-cnn"),
		`train.csv:1:1: found no column "height"`:                         tableConfig(t, table, "data.columns=[age, height]"),
		"there is no file " + filepath.Join(table, "none", "train.csv"):   tableConfig(t, filepath.Join(table, "none")),
	} {
		o := reading(t)
		_, err := train.Create(c, o)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("found error %v, expected one line that says %q", err, says)
		}
		if _, err := os.Stat(o.RunsDir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a refused run left something behind: %v", err)
		}
	}
	if _, err := train.Describe(tableConfig(t, filepath.Join(table, "none")), 0); !errors.Is(err, data.ErrMissing) {
		t.Errorf("found error %v, expected one that matches %v", err, data.ErrMissing)
	}
}

// Rows are measured like pictures.
func TestBenchmarkOfRows(t *testing.T) {
	b, err := speed.Measure(t.Context(), tableConfig(t, people(t)), "private", 20*time.Millisecond)
	if err != nil || b.Batch != 50 || b.Steps < 1 {
		t.Errorf("found %+v (%v)", b, err)
	}
}

// A run whose data lies elsewhere now is measured on it and goes on with it, and counts on, under
// the name that it had; other data there is another plan. A set with a name has no such folder.
func TestRunGoesOnWithDataThatHasMoved(t *testing.T) {
	table := people(t)
	o := reading(t)
	r := tinyrun.Fit(t, tinyrun.Create(t, tableConfig(t, table), o))
	moved := filepath.Join(t.TempDir(), "elsewhere")
	tiny.Check(t, os.Rename(table, moved))
	if _, err := train.Open(r.Run, o); !errors.Is(err, data.ErrMissing) {
		t.Errorf("without its data a run is opened with error %v, expected one that matches %v", err, data.ErrMissing)
	}
	if _, err := train.Evaluate(r.Run, o); !errors.Is(err, data.ErrMissing) {
		t.Errorf("without its data a run is measured with error %v, expected one that matches %v", err, data.ErrMissing)
	}
	o.DataFolder = moved
	counted := errors.New("the examples were counted")
	if err := o.Fit(tableConfig(t, table), func(*configs.Config, setup.Outline) error { return counted }); err != counted {
		t.Errorf("memory for data that has moved: found %v, expected a check of how much there is", err)
	}
	if s, err := train.Evaluate(r.Run, o); err != nil || s.TestAccuracy != r.TestAccuracy || s.Classes[1].Name != "yes" || s.Warning != "" {
		t.Errorf("measured as %+v (%v), expected the accuracy %v", s, err, r.TestAccuracy)
	}
	tiny.Write(t, filepath.Join(moved, "test.csv"), strings.ReplaceAll(tiny.Read(t, filepath.Join(moved, "test.csv")), "yes", "no"))
	if s, err := train.Evaluate(r.Run, o); err != nil || !strings.Contains(s.Warning, "the test examples are others than the run's") {
		t.Errorf("other test examples are measured with the warning %q (%v)", s.Warning, err)
	}
	tiny.Must(train.Extend(r.Run, 100, 2*r.Steps, o))(t)
	longer := tinyrun.Fit(t, tinyrun.Open(t, r.Run, o))
	if longer.Steps != 2*r.Steps {
		t.Errorf("%d steps, expected %d", longer.Steps, 2*r.Steps)
	}
	totals, err := books.Show(o.RunsDir)
	if err != nil || len(totals.Datasets) != 1 || totals.Datasets[0].Data.Name != "people" {
		t.Errorf("%+v (%v), expected one data set, people", totals, err)
	}
	tiny.Says(t, r.Run, "| Training data | people,")
	content := tiny.Read(t, filepath.Join(moved, "train.csv"))
	tiny.Write(t, filepath.Join(moved, "train.csv"), content[:strings.LastIndexByte(strings.TrimSpace(content), '\n')+1])
	if _, err := train.Open(r.Run, o); !errors.Is(err, books.ErrOtherPlan) {
		t.Errorf("with one record less a run is opened with error %v, expected one that matches %v", err, books.ErrOtherPlan)
	}
	digits := tinyrun.Options(t)
	named := tinyrun.Train(t, digits)
	digits.DataFolder, digits.Given = moved, nil
	_, opened := train.Open(named.Run, digits)
	_, evaluated := train.Evaluate(named.Run, digits)
	if !errors.Is(opened, setup.ErrPlan) || !errors.Is(evaluated, setup.ErrPlan) {
		t.Errorf("a folder for a data set with a name is %v and %v, expected errors that match %v", opened, evaluated, setup.ErrPlan)
	}
}
