package run

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/disk"
	"dpsgd/internal/disk/disktest"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// A written model with another value anywhere, a frozen parameter that changed and a trained one
// that did not are found.
func TestWrittenModelDiffers(t *testing.T) {
	fresh := func() *model.Model {
		m := tiny.Must(model.New(model.Sequential{model.Linear{Out: 32}, model.Tanh, model.Linear{Out: 2}}, model.Input{Channels: 4}, 2, 1))(t)
		tiny.Check(t, m.Adapt(model.LoRA{Rank: 2, Alpha: 2}, 1))
		tiny.Check(t, m.TrainOnly(nil))
		return m
	}
	begin, step := BeginningOf(fresh()), func(m *model.Model) {
		for i := range m.Values {
			m.Values[i]++
		}
	}
	for name, test := range map[string]struct {
		trained, written func(m *model.Model) // what happens to the model, and then to the file alone
		quiet            bool                 // a run without noise
		want             string
	}{
		"same":                      {step, func(*model.Model) {}, false, ""},
		"nothing moved":             {func(*model.Model) {}, func(*model.Model) {}, false, "still the model"},
		"coarse values that stay":   {func(m *model.Model) { m.Values[len(m.Values)-1]++ }, func(*model.Model) {}, false, "still 2.weight"},
		"nothing learnt, no noise":  {func(*model.Model) {}, func(*model.Model) {}, true, ""},
		"another value in the file": {step, func(m *model.Model) { m.Values[0] *= 1.0000001 }, false, "found other values of 2.weight than those that were trained"},
		"frozen value in the file":  {step, func(m *model.Model) { change(t, m, "0.weight") }, false, "found other values of 0.weight than those that were trained"},
		"frozen value in training":  {func(m *model.Model) { step(m); change(t, m, "0.weight") }, func(*model.Model) {}, false, "found other values of 0.weight than it began with, expected the same: it is frozen"},
		"frozen value, no noise":    {func(m *model.Model) { step(m); change(t, m, "0.bias") }, func(*model.Model) {}, true, "0.bias than it began with"},
		"factor that stays":         {func(m *model.Model) { step(m); clear(m.Values[len(m.Values)-64:]) }, func(*model.Model) {}, false, "found the values of 0.lora_B.weight that it began with"},
		"few values that return":    {func(m *model.Model) { step(m); clear(m.Values[len(m.Values)-4:]) }, func(*model.Model) {}, false, ""},
	} {
		trained, loaded := fresh(), fresh()
		test.trained(trained)
		tiny.Check(t, loaded.Import(trained.Export()))
		test.written(loaded)
		still, err := differs(trained, loaded, begin, !test.quiet)
		if still != "" && err == nil {
			err = errors.New("still " + still)
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, expected %q", name, err, test.want)
		}
	}
}

// change changes the first value of a tensor.
func change(t *testing.T, m *model.Model, name string) {
	t.Helper()
	tensors := m.Export()
	for _, tensor := range tensors {
		if tensor.Name == name {
			tensor.Data[0]++
		}
	}
	tiny.Check(t, m.Import(tensors))
}

// Whatever a power loss leaves of a run that is being discarded, its ledger is there while anything
// else shows that there was one, and its configuration while the ledger is.
func TestDiscardedInOrder(t *testing.T) {
	dir := filepath.FromSlash("/runs/one")
	d := disktest.New(dir)
	for _, name := range []string{folder.Config, folder.Ledger, "a", "z"} {
		d.Put(filepath.Join(dir, name), nil)
	}
	d.Before = func(op *disktest.Operation) error {
		for set := range 1 << len(d.Pending()) {
			var written []disktest.Change
			for i, c := range d.Pending() {
				if set>>i&1 == 1 {
					written = append(written, c)
				}
			}
			left := d.AfterPowerLoss(written)
			holds := func(name string) bool { return left.Holds(filepath.Join(dir, name)) }
			if ledger := holds(folder.Ledger); !ledger && (holds("a") || holds("z")) || ledger && !holds(folder.Config) {
				t.Errorf("ahead of %s %s a power loss leaves %v", op.Name, op.Path, left.Names())
			}
		}
		return nil
	}
	disk.System = d
	defer func() { disk.System = disk.Real{} }()
	if err := discard(dir); err != nil || d.Holds(dir) {
		t.Errorf("found %v, %v", d.Names(), err)
	}
}
