package books

import (
	"errors"
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
