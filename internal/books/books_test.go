package books

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
)

// A release is durable in both ledgers or in the books of nobody: where either failed, the append
// fails, and so does every later one.
func TestAppendNeedsBothLedgers(t *testing.T) {
	for name, fail := range map[string]func(*Books) error{
		"the run's":  func(b *Books) error { return b.Journal.Close() },
		"the data's": func(b *Books) error { return b.datasets.Close() },
	} {
		dir := t.TempDir()
		run := checkpoints.Registration{
			Path: "run", Delta: 1e-5, Accountant: "rdp",
			Data: checkpoints.Data{Name: "stripes", Examples: 300, Shape: "6x6x1", Classes: 3},
		}
		b, err := Create(dir, dir, run)
		if err != nil {
			t.Fatal(err)
		}
		event := accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1}}
		if err := b.Begin(1, event)(); err != nil {
			t.Fatal(err)
		}
		if err := fail(b); err != nil {
			t.Fatal(err)
		}
		for step := 2; step <= 3; step++ {
			if err := b.Begin(step, event)(); !errors.Is(err, checkpoints.ErrJournalFailed) {
				t.Errorf("%s ledger is closed: release %d is recorded with error %v, expected one that matches %v", name, step, err, checkpoints.ErrJournalFailed)
			}
		}
	}
}

// What all runs cost together is asked at the end of a run, and includes what others released after
// its own last release.
func TestTogetherIncludesWhatOthersReleasedLast(t *testing.T) {
	dir := t.TempDir()
	begin := func(name string) *Books {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		b, err := Create(path, dir, checkpoints.Registration{
			Path: name, Delta: 1e-5, Accountant: "rdp",
			Data: checkpoints.Data{Name: "stripes", Examples: 300, Shape: "6x6x1", Classes: 3},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	release := func(b *Books, step int) {
		event := accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1}}
		if err := b.Append(step, event); err != nil {
			t.Fatal(err)
		}
	}
	first, second := begin("first"), begin("second")
	release(first, 1)
	for step := 1; step <= 2; step++ {
		release(second, step)
	}
	if all, err := first.Together(); err != nil || all.DatasetRuns != 2 || all.DatasetReleases != 3 {
		t.Errorf("found %+v (%v), expected 3 releases of 2 runs", all, err)
	}
}

// A run of the first version on somebody's own data that was stopped before its statement is
// adopted with the number of examples that its releases tell.
func TestExamplesOfAnAdoptedRun(t *testing.T) {
	c, err := configs.Parse("people.yaml", []byte(`
data: {table: people, columns: [age], label: sick, classes: ["no", "yes"], mean: [48], std: [10]}
model: {name: logistic}
privacy: {epsilon: 5, delta: 1e-4}
training: {batch_size: 40, steps: 5}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{41, 997, 60000} {
		l := new(accountant.Ledger)
		event := accountant.PoissonSampled{SamplingProbability: 40 / float64(n), Event: accountant.Gaussian{NoiseMultiplier: 1}}
		if err := l.Add(event, 3); err != nil {
			t.Fatal(err)
		}
		found, err := configuredData(c, t.TempDir(), l)
		if want := (checkpoints.Data{Name: "people", Examples: n, Shape: "1 column", Classes: 2}); err != nil || found != want {
			t.Errorf("found %+v (%v), expected %+v", found, err, want)
		}
	}
}

// A run that is registered for the labels, the persons or the clients of a data set is none of its
// examples, whatever its configuration says now; nor the other way round. Data of one's own may have such
// a name.
func TestOtherUnits(t *testing.T) {
	of := func(unit, folder string) *configs.Config {
		c := configs.DefaultConfig()
		c.Privacy.Unit = unit
		if c.Data.Name = "digits"; folder != "" {
			c.Data.Name, c.Data.Folder = "", folder
		}
		return &c
	}
	for _, test := range []struct {
		c          *configs.Config
		registered string
		other      bool
	}{
		{of(configs.UnitExample, ""), "digits", false},
		{of(configs.UnitExample, ""), "labels of digits", true},
		{of(configs.UnitExample, ""), "persons of digits", true},
		{of(configs.UnitExample, ""), "100 clients of digits", true},
		{of(configs.UnitLabel, ""), "labels of digits", false},
		{of(configs.UnitLabel, ""), "digits", true},
		{of(configs.UnitPerson, ""), "labels of digits", true},
		{of(configs.UnitExample, "/data/labels of trees"), "labels of trees", false},
		{of(configs.UnitExample, "/data/moved"), "labels of trees", false},
	} {
		if ofOtherUnit(test.c, test.registered) != test.other {
			t.Errorf("%s of %s%s, registered for %q: expected another unit: %t", test.c.Privacy.Unit, test.c.Data.Name, test.c.Data.Folder, test.registered, test.other)
		}
	}
}
