package books

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
)

// Of several processes that make the ledger of a folder, without a lock, one makes it.
func TestEnsureDatasets(t *testing.T) {
	dir := t.TempDir()
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			var err error
			if ids[i], err = EnsureDatasets(dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("found the identifiers %q, expected one", ids)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("found %v (%v), expected the ledger alone", entries, err)
	}
	tiny.Write(t, filepath.Join(dir, folder.Datasets), `{"format":`)
	if id, err := EnsureDatasets(dir); !errors.Is(err, checkpoints.ErrUnfinished) {
		t.Errorf("found %q (%v), expected no ledger without its first line", id, err)
	}
}

// apartRun begins a run apart that releases so many times.
func apartRun(t *testing.T, registry, path string, releases int) *Books {
	t.Helper()
	must(EnsureDatasets(registry))
	b := must(create(filepath.Join(registry, filepath.FromSlash(path)), registry, registered(path), true))
	t.Cleanup(func() { b.Close() })
	for step := range releases {
		must(0, b.Append(step+1, accountant.Gaussian{NoiseMultiplier: 10}))
	}
	return b
}

// alone holds what nobody else works at.
func alone(string) (func() error, error) { return func() error { return nil }, nil }

// A run apart leaves the shared ledger alone, and counts for everybody who reads; collected, it is
// there, and its own ledger is gone. One that is not asked for stays.
func TestCollect(t *testing.T) {
	registry := t.TempDir()
	one, two := apartRun(t, registry, "s/one", 3), apartRun(t, registry, "s/two", 4)
	shared := filepath.Join(registry, folder.Datasets)
	if info, err := checkpoints.ReadDatasets(shared); err != nil || info.Lines != 1 {
		t.Errorf("found %d lines (%v), expected the header alone", info.Lines, err)
	}
	check := func(apart int) {
		t.Helper()
		known, err := ReadDatasets(registry)
		if err != nil || len(known.Members) != 2 || len(known.apart) != apart {
			t.Fatalf("found %+v (%v), expected two runs, %d of them apart", known, err, apart)
		}
		for b, n := range map[*Books]int{one: 3, two: 4} {
			if m, ok := known.Member(b.Info().Run); !ok || m.Entries != n || m.Hash != b.Hash() {
				t.Errorf("found %+v, expected %d entries", m, n)
			}
		}
		if together, err := two.Together(); err != nil || together.DatasetReleases != 7 {
			t.Errorf("found %+v (%v), expected 7 releases together", together, err)
		}
	}
	check(2)
	must(0, one.Close())
	must(0, Collect(registry, []string{filepath.Join(registry, "s", "one")}, func(string) (func() error, error) { return nil, checkpoints.ErrLocked }))
	check(2)
	for range 2 {
		must(0, Collect(registry, []string{filepath.Join(registry, "s", "one")}, alone))
		check(1)
	}
	if there(apartLedger(registry, "s/one")) || !there(apartLedger(registry, "s/two")) {
		t.Error("expected the ledger of the second run alone to be apart")
	}
}

// The ledger apart stays, and counts, where it knows more of a run than its own ledger does.
func TestCollectKeepsWhatItCannotRegister(t *testing.T) {
	registry := t.TempDir()
	must(0, apartRun(t, registry, "s/one", 3).Close())
	own := filepath.Join(registry, "s", "one", folder.Ledger)
	lines := strings.SplitAfter(tiny.Read(t, own), "\n")
	tiny.Write(t, own, strings.Join(lines[:3], ""))
	must(0, Collect(registry, []string{filepath.Join(registry, "s", "one")}, alone))
	if known := must(ReadDatasets(registry)); len(known.Members) != 1 || known.Members[0].Entries != 3 || len(known.apart) != 1 {
		t.Errorf("found %+v, expected 3 releases of one run, of which 2 are collected", known)
	}
	j := must(checkpoints.OpenJournal(own))
	must(0, errors.Join(j.Append(3, gradient), j.Close(), Collect(registry, []string{filepath.Join(registry, "s", "one")}, alone)))
	if !there(apartLedger(registry, "s/one")) {
		t.Error("the ledger apart is gone, which alone knows the first third release")
	}
}

// Ledgers apart of another folder of runs are refused.
func TestLedgersApartOfAnotherFolder(t *testing.T) {
	registry, other := t.TempDir(), t.TempDir()
	apartRun(t, registry, "s/one", 1)
	apartRun(t, other, "s/two", 1)
	must(0, os.Rename(apartLedger(other, "s/two"), apartLedger(registry, "s/two")))
	_, read := ReadDatasets(registry)
	_, opened := OpenDatasets(registry)
	for _, err := range []error{read, opened} {
		if !errors.Is(err, checkpoints.ErrRollback) || !strings.Contains(err.Error(), "two.jsonl") {
			t.Errorf("found error %v, expected ErrRollback that names the ledger", err)
		}
	}
}

// A copy of what a task trained, in another folder, is the same run: it is not brought into the
// shared ledger under the name of the copy, by which the run would never be found again.
func TestCopyOfARunApartIsNotAdopted(t *testing.T) {
	registry := t.TempDir()
	apartRun(t, registry, "one", 3)
	must(0, os.CopyFS(filepath.Join(registry, "two"), os.DirFS(filepath.Join(registry, "one"))))
	d := must(OpenDatasets(registry))
	defer d.Close()
	if m := d.Info().Members; len(m) > 0 {
		t.Errorf("found %+v in the shared ledger, expected nothing", m)
	}
}
