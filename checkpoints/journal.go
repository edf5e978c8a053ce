package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"dpsgd/accountant"
	"dpsgd/internal/disk"
)

// A Journal is the ledger of a run on disk: append-only, one line per released update, written
// ahead of the release. When Append has returned nil, the entry survives a kill and a power loss,
// and only then may the noise of the update be drawn. So the file never holds less than what was
// released; it may hold more, by the steps that were recorded and then interrupted.
//
// Each line carries a hash of the whole file down to it; a checkpoint remembers the number of
// entries and the hash it saw ([Claim]). The hashes detect accidents and restored old copies.
// Whoever may write the file can also compute them anew: against tampering only a copy of the last
// hash kept elsewhere helps.
//
// One process at a time holds a journal open. Its methods may be called from several goroutines.
type Journal struct {
	*ledgerFile
	chain   chain
	missing []byte // a line that counts and is not in the file yet: see Check
}

// CreateJournal creates the ledger of a new run with permissions 0600, and missing directories
// above it with 0700, and locks it. The error matches fs.ErrExist if there is a ledger already. The
// ledger stands alone: no ledger of data sets knows it (CreateRegistered).
func CreateJournal(path string) (*Journal, error) { return createJournal(disk.System, path, "") }

// CreateRegistered is CreateJournal for a run that is to be registered in a ledger of data sets,
// whose identifier the header then names.
func CreateRegistered(path string, d *Datasets) (*Journal, error) {
	return createJournal(d.files, path, d.book.id)
}

func createJournal(files fileSystem, path, datasets string) (*Journal, error) {
	if err := makeDir(files, filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := files.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, filePerm)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("checkpoints: %s: found a file, expected none (a run's ledger is created once): %w", path, fs.ErrExist)
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	j := &Journal{ledgerFile: &ledgerFile{path: path, files: files, f: f}}
	if err = f.Lock(); err == nil {
		err = j.store(j.chain.formatHeader(datasets))
	}
	if err != nil {
		files.Remove(path) // it is ours, and nothing was released
		f.Close()
		return nil, fmt.Errorf("checkpoints: create %s: %w", path, err)
	}
	return j, nil
}

// Present makes sure that the path of the ledger still names the file that is written.
func (j *Journal) Present() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.present(j.size, math.MaxInt64); err != nil {
		return fmt.Errorf("checkpoints: %s: %w", j.path, err)
	}
	return nil
}

// Append records one release: step is the number of the update (counted from 0 or from 1), e the
// event that describes it. It returns nil when the line is on stable storage; before that, nothing
// of the update may leave the mechanism. The step is at most one above the last entry's; it may be
// lower, because steps that are run again after a resume are released again and cost again.
//
// The line is found by the path of the ledger: a file that was deleted, replaced or cut off since
// it was opened takes no line, with an error that matches ErrMoved.
//
// An event or step that is refused changes nothing. After a write or a sync has failed, or
// panicked, the journal is failed for good: what reached the disk is unknown, and asking again can
// get a false "yes" (after a failed fsync the kernel drops the dirty pages). This and every later
// Append return an error that matches ErrJournalFailed; the run has to stop, and [OpenJournal]
// finds out what is there.
func (j *Journal) Append(step int, e accountant.Event) error { return j.AppendWith(nil, step, e) }

// AppendWith is Append that records the release in a ledger of data sets too, in which the run is
// registered. The line is written here first, then there, and both files are synced at the same
// time; it returns nil when both lines are durable. An error of either ends the journal.
func (j *Journal) AppendWith(d *Datasets, step int, e accountant.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.recover(); err != nil {
		return err
	}
	line, r, err := j.chain.format(step, e)
	if err != nil {
		return fmt.Errorf("checkpoints: %s: append entry %d: %w", j.path, j.chain.entries+1, err)
	}
	j.attempt("append", func() error {
		if err := j.appendLine(line, d); err != nil {
			return fmt.Errorf("append entry %d: %w", j.chain.entries+1, err)
		}
		return j.chain.add(r)
	})
	return j.failure()
}

// appendLine makes a line durable, here and in the ledger of data sets.
func (j *Journal) appendLine(line []byte, d *Datasets) error {
	if _, err := j.present(j.size, j.size); err != nil {
		return err
	}
	if err := j.write(line); err != nil {
		return err
	}
	if err := d.release(&j.chain, line, j.sync); err != nil {
		return err
	}
	j.stored(line)
	_, err := j.present(j.size, j.size)
	return err
}

// Ledger returns a copy of the ledger, for an accountant. After a failed Append it does not count
// the entry whose fate is unknown; that entry's update was not released.
func (j *Journal) Ledger() *accountant.Ledger {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.chain.ledger.Clone()
}

// Len returns the number of entries.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.chain.entries
}

// Hash returns the hash of the whole ledger, 32 hexadecimal digits.
func (j *Journal) Hash() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.chain.head.String()
}
