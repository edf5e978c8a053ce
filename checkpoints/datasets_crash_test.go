package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"dpsgd/internal/slow"
)

// crashBooks is a run reduced to its two ledgers, as the crash tests drive it.
type crashBooks struct {
	files    fileSystem
	dir      string // of the runs
	together func(a, b func() error) error

	journal      *Journal
	datasets     *Datasets
	acknowledged int // releases that both ledgers must hold from now on
}

func (r *crashBooks) ledgerPath() string   { return filepath.Join(r.dir, "one", "ledger.jsonl") }
func (r *crashBooks) datasetsPath() string { return filepath.Join(r.dir, "datasets.jsonl") }

// The order in which the two files become durable is not fixed: it is tested both ways.
var orders = map[string]func(a, b func() error) error{
	"the run first": inOrder,
	"its data first": func(a, b func() error) error {
		return inOrder(b, a)
	},
}

func inOrder(a, b func() error) error {
	if err := a(); err != nil {
		return err
	}
	return b()
}

var testRegistration = Registration{Path: "one", Data: Data{Name: "digits", Examples: 20, Shape: "2x2x1", Classes: 2}, Delta: 1e-5, Accountant: "rdp"}

// resume opens or creates both ledgers as a run does: everything is checked before anything is
// written.
func (r *crashBooks) resume() (err error) {
	r.journal, err = openJournal(r.files, r.ledgerPath())
	unborn := errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUnfinished)
	if err != nil && !unborn {
		return err
	}
	r.datasets, err = openDatasets(r.files, r.datasetsPath())
	if unborn && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUnfinished)) {
		r.datasets, err = createDatasets(r.files, r.datasetsPath())
	}
	if err != nil {
		return err
	}
	r.datasets.together = r.together
	if unborn {
		if _, err := r.files.Lstat(r.ledgerPath()); err == nil {
			if err := r.files.Remove(r.ledgerPath()); err != nil {
				return err
			}
		}
		if r.journal, err = createJournal(r.files, r.ledgerPath(), r.datasets.Info().ID); err != nil {
			return err
		}
	}
	if m, ok := r.datasets.Info().Member(r.journal.Info().Run); ok {
		if err := r.journal.Check(m.Claim("datasets.jsonl")); err != nil {
			return err
		}
	}
	if err := r.journal.Recover(); err != nil {
		return err
	}
	if err := r.datasets.Register(r.journal, testRegistration); err != nil {
		return err
	}
	r.acknowledged = r.journal.Len()
	return nil
}

func (r *crashBooks) train(steps int) error {
	for range steps {
		if err := r.journal.AppendWith(r.datasets, r.journal.Info().LastStep+1, event(1.1)); err != nil {
			return err
		}
		r.acknowledged = r.journal.Len()
	}
	return nil
}

// check looks at what a crash left on files, first as it lies there, and then as the run goes on
// with it.
func (r *crashBooks) check(files fileSystem) error {
	own, shared := r.counts(files)
	if own < r.acknowledged || shared < r.acknowledged {
		return fmt.Errorf("found %d releases in the run's ledger and %d in that of its data, expected the %d that were made in both", own, shared, r.acknowledged)
	}
	after := crashBooks{files: files, dir: r.dir, together: r.together}
	if err := after.resume(); err != nil {
		return fmt.Errorf("the run does not resume: %w", err)
	}
	defer after.journal.Close()
	defer after.datasets.Close()
	if n := after.journal.Len(); n < r.acknowledged || n > r.acknowledged+1 {
		return fmt.Errorf("found %d releases, expected the %d that were made or one more", n, r.acknowledged)
	}
	if err := after.train(1); err != nil {
		return fmt.Errorf("the resumed run cannot go on: %w", err)
	}
	if own, shared := r.counts(files); own != after.journal.Len() || shared != own {
		return fmt.Errorf("found %d releases in the run's ledger and %d in that of its data, expected as many", own, shared)
	}
	return nil
}

// counts reads how many releases each file holds.
func (r *crashBooks) counts(files fileSystem) (own, shared int) {
	var c chain
	if f, _, err := openRegular(files, r.ledgerPath()); err == nil {
		c.read(content(f), -1)
		f.Close()
	}
	var b book
	if f, _, err := openRegular(files, r.datasetsPath()); err == nil {
		b.read(content(f))
		f.Close()
	}
	for _, m := range b.order {
		shared += m.chain.entries
	}
	return c.entries, shared
}

func booksDisk() *lossyDisk { return newLossyDisk("runs", filepath.Join("runs", "one")) }

// A power loss before every change and every sync, and from each of the contents it may leave:
// neither ledger holds less than what was released, and the run goes on with both of them equal.
func TestPowerLossOfBothLedgers(t *testing.T) {
	for name, together := range orders {
		t.Run(name, func(t *testing.T) {
			d, states := booksDisk(), 0
			run := &crashBooks{files: d, dir: "runs", together: together}
			d.before = func() {
				for _, after := range d.afterPowerLoss() {
					states++
					if err := run.check(after); err != nil {
						t.Fatal(err)
					}
				}
			}
			must(0, run.resume())
			must(0, run.train(10))
			if states < 100 {
				t.Errorf("%d states were checked, expected more", states)
			}
		})
	}
}

// A power loss while a run recovers from an earlier one.
func TestPowerLossDuringRecoveryOfBothLedgers(t *testing.T) {
	for name, together := range orders {
		t.Run(name, func(t *testing.T) {
			first := booksDisk()
			run := &crashBooks{files: first, dir: "runs", together: together}
			first.before = func() {
				for i, second := range first.afterPowerLoss() {
					if i%3 != 0 && !slow.Asked() {
						continue
					}
					again := &crashBooks{files: second, dir: "runs", together: together, acknowledged: run.acknowledged}
					second.before = func() {
						for _, after := range second.afterPowerLoss() {
							if err := again.check(after); err != nil {
								t.Fatal(err)
							}
						}
					}
					must(0, again.resume())
					must(0, again.train(1))
				}
			}
			must(0, run.resume())
			must(0, run.train(2))
		})
	}
}

// The tests above can fail: without syncs of files, or of directories, they find violations.
func TestPowerLossOfBothLedgersFindsMissingSyncs(t *testing.T) {
	for name, break_ := range map[string]func(*lossyDisk){
		"file":      func(d *lossyDisk) { d.blindSync = true },
		"directory": func(d *lossyDisk) { d.blindSyncDir = true },
	} {
		d, violations := booksDisk(), 0
		run := &crashBooks{files: d, dir: "runs", together: inOrder}
		break_(d)
		d.before = func() {
			for _, after := range d.afterPowerLoss() {
				if run.check(after) != nil {
					violations++
				}
			}
		}
		must(0, run.resume())
		must(0, run.train(1))
		if violations == 0 {
			t.Errorf("without syncs of the %s nothing was found", name)
		}
	}
}

// Every call to the file system fails once, in every way, while a run resumes and records three
// releases.
func TestEveryFaultOfBothLedgers(t *testing.T) {
	for name, together := range orders {
		for kind := range faultCount {
			for _, sticky := range []bool{false, true} {
				stride := 1
				if !slow.Asked() {
					stride = 3
				}
				for failAt := int(kind) % stride; ; failAt += stride {
					files := &faultyDisk{failAt: -1}
					run := &crashBooks{files: files, dir: filepath.Join(t.TempDir(), "runs"), together: together}
					must(0, run.resume())
					must(0, run.train(1))
					must(0, writeSyncedAt(run.journal.f, []byte(`{"step":2,"ev`), run.journal.size))
					must(0, writeSyncedAt(run.datasets.f, []byte(`{"release":{"r`), run.datasets.size))
					files.kill()
					files.calls, files.fault, files.failAt, files.sticky = 0, kind, failAt, sticky
					ended, _ := recovering(func() error {
						if err := run.resume(); err != nil {
							return err
						}
						return run.train(3)
					})
					struck := files.calls > failAt
					files.failAt = -1
					files.kill()
					if err := run.check(&faultyDisk{failAt: -1}); err != nil {
						t.Errorf("%s, %s at call %d, sticky %v: %v (the run ended with: %v)", name, faultNames[kind], failAt, sticky, err, ended)
					}
					if !struck {
						break // every call has had its turn
					}
				}
			}
		}
	}
}
