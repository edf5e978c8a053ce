package checkpoints

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"dpsgd/internal/disk"
)

// Datasets is the ledger of everything that was released about the data of a folder of runs. Every
// run in the folder registers in it and records each release in it, beside its own ledger: what
// several runs on the same data cost together is a question about this file, and a run whose folder
// is gone still counts.
//
// A release is written ahead in both files ([Journal.AppendWith]), so each of them holds at least
// what was released. Neither can be shortened, or put back to an older copy, without the other one
// telling.
//
// Several processes may have the file open; each append takes its lock, and reads first what others
// have appended. The methods may be called from several goroutines.
type Datasets struct {
	*ledgerFile
	book book
	// together calls a and b, which sync a run's ledger and this one; tests choose an order.
	together func(a, b func() error) error
}

// CreateDatasets opens the ledger at a path and makes it first if there is none, with permissions
// 0600.
func CreateDatasets(path string) (*Datasets, error) { return createDatasets(disk.System, path) }

func createDatasets(files fileSystem, path string) (*Datasets, error) {
	if err := makeDir(files, filepath.Dir(path)); err != nil {
		return nil, err
	}
	return openBook(files, path, os.O_RDWR|os.O_CREATE, "create ", func(d *Datasets) error { return d.locked(d.begin) })
}

// OpenDatasets opens an existing ledger and reads it. It changes nothing. A line that is just being
// appended, or that a crash tore, is left out; other damage is refused as by [OpenJournal].
func OpenDatasets(path string) (*Datasets, error) { return openDatasets(disk.System, path) }

func openDatasets(files fileSystem, path string) (*Datasets, error) {
	return openBook(files, path, os.O_RDWR, "", (*Datasets).refresh)
}

// openBook opens a file with that flag and calls read for it. what begins the text of an error.
func openBook(files fileSystem, path string, flag int, what string, read func(*Datasets) error) (*Datasets, error) {
	l, err := openLedger(files, path, flag)
	if err != nil {
		return nil, err
	}
	d := &Datasets{ledgerFile: l, together: inParallel}
	if err := read(d); err != nil {
		l.f.Close()
		return nil, fmt.Errorf("checkpoints: %s%s: %w", what, path, err)
	}
	return d, nil
}

// begin writes the header of a file that has none. Nothing can have been registered in such a file.
func (d *Datasets) begin() error {
	err := d.refresh()
	if !errors.Is(err, ErrUnfinished) {
		return err
	}
	if err := d.f.Truncate(0); err != nil {
		return err
	}
	return d.add(d.book.formatHeader())
}

// refresh reads what was appended since this process last read the file.
func (d *Datasets) refresh() error {
	size, err := d.present(0, math.MaxInt64)
	switch {
	case err != nil:
		return err
	case size < d.size-1: // a last line may lack its newline
		return fmt.Errorf("found %d bytes, expected at least the %d that were there: %w", size, d.size, ErrMoved)
	}
	if err := d.holdsHead(); err != nil {
		return err
	}
	if size <= d.size && d.size > 0 {
		d.torn = 0
		return nil
	}
	return d.readOn(d.book.read)
}

// holdsHead makes sure that the last line which this process has read is where it was: an older
// copy may have been written over the file, and have grown since.
func (d *Datasets) holdsHead() error {
	if d.book.lines < 2 {
		return nil
	}
	end := []byte(d.book.head.String() + recordEnd)
	found := make([]byte, len(end))
	if _, err := d.f.ReadAt(found, d.size-1-int64(len(end))); err != nil {
		return err
	}
	if !bytes.Equal(found, end) {
		return fmt.Errorf("found %q at the end of line %d, expected the %q that was there: %w", found, d.book.lines, end, ErrMoved)
	}
	return nil
}

// lockPatience bounds the wait of an append for other processes, which hold the lock for one line
// each.
const lockPatience = time.Minute

// locked calls f while this process holds the lock of the file, for which it may have to wait.
func (d *Datasets) locked(f func() error) (err error) {
	if err := d.lock(lockPatience); err != nil {
		return err
	}
	defer func() {
		unlocked := d.f.Unlock()
		if unlocked != nil {
			_ = d.f.Close() // which ends the lock: others wait for it
		}
		err = cmp.Or(err, unlocked)
	}()
	return f()
}

// append locks and reads the file, calls format, and appends the line that it returns. Where that
// is nil it makes the last lines of others durable, on which its caller will rely. After a failed
// write or sync nothing more is accepted, as in a [Journal].
func (d *Datasets) append(format func() ([]byte, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failure(); err != nil {
		return err
	}
	err := d.locked(func() error {
		if err := d.refresh(); err != nil {
			return err
		}
		line, err := format()
		switch {
		case err != nil || line == nil && d.tail == nil:
			return err
		case line == nil:
			return d.attempt("sync", func() error { return d.store(nil) })
		}
		return d.attempt("append", func() error { return d.add(line) })
	})
	if err != nil {
		return fmt.Errorf("checkpoints: %s: %w", d.path, err)
	}
	return nil
}

// add makes a line durable behind the last one, and adds what it says to the book.
func (d *Datasets) add(line []byte) error {
	if err := d.store(line); err != nil {
		return err
	}
	if err := d.book.addLine(d.book.lines+1, line[:len(line)-1]); err != nil {
		return err
	}
	_, err := d.present(d.size, d.size)
	return err
}

// release appends a copy of line, the next of the run's ledger c, to d while sync makes it durable
// in the run's own file. If d is nil, release only calls sync.
func (d *Datasets) release(c *chain, line []byte, sync func() error) error {
	if d == nil {
		return sync()
	}
	return d.together(sync, func() error {
		return d.append(func() ([]byte, error) { return d.book.formatRelease(c, line) })
	})
}

// inParallel calls both and returns the first error.
func inParallel(a, b func() error) error {
	other := make(chan error, 1)
	go func() { other <- b() }()
	return cmp.Or(a(), <-other)
}

// Register makes sure that the ledger knows the run of a journal and everything in it. It appends
// nothing if that is so; r counts only for a run that was not registered yet. The error matches
// ErrRollback if the ledger knows more, or other, releases of the run.
func (d *Datasets) Register(j *Journal, r Registration) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return d.register(&j.chain, j.path, r)
}

// Adopt registers the run of the ledger file at path as Register does, without opening a Journal.
func (d *Datasets) Adopt(path string, r Registration) error {
	var c chain
	if err := c.readFile(d.files, path, -1); err != nil {
		return err
	}
	return d.register(&c, path, r)
}

// register is Register for a run whose ledger, the file at path, was read into c.
func (d *Datasets) register(c *chain, path string, r Registration) error {
	return d.append(func() ([]byte, error) {
		m := d.book.members[c.run]
		if m == nil {
			return d.book.formatRegister(c, r)
		}
		known := m.chain.entries
		if known > c.entries {
			return nil, fmt.Errorf("found %d entries of %s, expected at most the %d of its ledger: %w", known, m.Path, c.entries, ErrRollback)
		}
		past := *c
		if known < c.entries {
			past = chain{}
			if err := past.readFile(d.files, path, known); err != nil {
				return nil, err
			}
		}
		if past.head != m.chain.head {
			return nil, fmt.Errorf("found hash %s of %s after %d entries, expected %s of its ledger: %w", m.chain.head, m.Path, known, past.head, ErrRollback)
		}
		if known == c.entries {
			return nil, nil
		}
		return d.book.formatRegister(c, m.Registration)
	})
}

// Info describes the ledger at the moment when this process last read it.
func (d *Datasets) Info() DatasetsInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.book.info()
}

// Refresh reads what other processes have appended, under the lock of the file, and makes sure that
// it is durable.
func (d *Datasets) Refresh() error { return d.append(func() ([]byte, error) { return nil, nil }) }
