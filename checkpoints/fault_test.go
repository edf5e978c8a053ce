package checkpoints

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/internal/slow"
)

// Every call to the file system fails once, in every way, while a run that was stopped before
// resumes, records updates and saves. Whatever happens: no acknowledged entry is lost, a
// ledger that failed takes no further entry, checkpoints are whole or absent, and afterwards the
// run resumes.
func TestEveryFaultAtEveryCall(t *testing.T) {
	everyFault(t, "alone", nil, 1)
	for name, together := range orders {
		stride := 3
		if slow.Asked() {
			stride = 1
		}
		everyFault(t, name, together, stride)
	}
}

func everyFault(t *testing.T, name string, together func(a, b func() error) error, stride int) {
	for kind := range faultCount {
		for _, sticky := range []bool{false, true} {
			for failAt := int(kind) % stride; ; failAt += stride {
				run, files := stoppedRun(t, together)
				files.fault, files.failAt, files.sticky = kind, failAt, sticky
				ended, _ := recovering(func() error {
					step, err := run.resume()
					if err != nil {
						return err
					}
					return run.train(step, 5, 2)
				})
				struck := files.calls > failAt
				if files.failAt = -1; run.journal != nil {
					checkFailedForGood(t, run.journal)
				}
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

// checkFailedForGood appends when the disk is well again: a journal that failed must refuse, and
// must not write.
func checkFailedForGood(t *testing.T, j *Journal) {
	t.Helper()
	if j.failed == nil {
		return // the fault hit something else
	}
	before := must(os.ReadFile(j.path))
	wantError(t, j.Append(1, event(1.1)), ErrJournalFailed, j.path)
	if after := must(os.ReadFile(j.path)); len(after) != len(before) {
		t.Errorf("a failed journal wrote %d bytes", len(after)-len(before))
	}
}

// stoppedRun returns a run in a new directory that has recorded step 1, saved nothing, and torn the
// line of step 2 in every ledger.
func stoppedRun(t *testing.T, together func(a, b func() error) error) (*crashRun, *faultyDisk) {
	t.Helper()
	files := &faultyDisk{failAt: -1}
	run := &crashRun{files: files, dir: filepath.Join(t.TempDir(), "runs", "one"), saved: -1, together: together}
	step := must(run.resume())
	must(0, run.train(step, 1, 2))
	must(0, run.journal.write([]byte(`{"step":2,"ev`)))
	if run.datasets != nil {
		must(0, run.datasets.write([]byte(`{"release":{"r`)))
	}
	files.kill()
	files.calls = 0
	run.journal, run.datasets = nil, nil
	return run, files
}

// The journal remembers a failure of the write or of the sync, also one that was a panic and was
// recovered: the disk is well again, but nobody knows what it holds.
func TestAppendAfterFailure(t *testing.T) {
	for kind := range faultCount {
		for written, what := range []string{"write", "sync"} {
			call := 2 + written // after two that look whether the path names the file
			t.Run(faultNames[kind]+" of "+what, func(t *testing.T) {
				files := &faultyDisk{failAt: -1}
				path := filepath.Join(t.TempDir(), "ledger.jsonl")
				j := must(createJournal(files, path, ""))
				must(0, j.Append(1, event(1.1)))
				files.fault, files.failAt = kind, files.calls+call
				if err, panicked := recovering(func() error { return j.Append(2, event(1.1)) }); !panicked {
					wantError(t, err, ErrJournalFailed, path, "append entry 2")
					if kind == faultEIO && !errors.Is(err, errInjected) {
						t.Errorf("error %v does not wrap its cause", err)
					}
				}
				for range 3 {
					wantError(t, j.Append(2, event(1.1)), ErrJournalFailed, path)
				}
				if j.Len() != 1 || j.Ledger().Count() != 1 {
					t.Errorf("%d entries, want the 1 that was acknowledged", j.Len())
				}
				must(0, j.Close())
				j = must(OpenJournal(path))
				defer j.Close()
				if want := 1 + written; j.Len() != want { // a line that did reach the file counts
					t.Errorf("reopened with %d entries, want %d", j.Len(), want)
				}
			})
		}
	}
}
