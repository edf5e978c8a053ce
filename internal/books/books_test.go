package books

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
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
