package checkpoints

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"
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
	path  string
	files fileSystem
	// together makes the files of a run and of its data durable; the tests choose an order.
	together func(a, b func() error) error

	mu       sync.Mutex
	f        file
	book     book
	size     int64  // where the next line goes
	torn     int    // bytes of an incomplete line behind size
	lastLine []byte // the last line, if another process or an earlier one wrote it
	named    bool   // whether the name of the file is durable for certain
	failed   error  // what stopped this process' appends, or nil; never cleared
}

// CreateDatasets opens the ledger at a path and makes it first if there is none, with permissions
// 0600.
func CreateDatasets(path string) (*Datasets, error) { return createDatasets(disk{}, path) }

func createDatasets(files fileSystem, path string) (*Datasets, error) {
	if err := makeDir(files, filepath.Dir(path)); err != nil {
		return nil, err
	}
	d, err := openFileOf(files, path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := d.locked(d.begin); err != nil {
		d.f.Close()
		return nil, fmt.Errorf("checkpoints: create %s: %w", path, err)
	}
	return d, nil
}

// OpenDatasets opens an existing ledger and reads it. It changes nothing. A line that is just being
// appended, or that a crash tore, is left out; other damage is refused as by [OpenJournal].
func OpenDatasets(path string) (*Datasets, error) { return openDatasets(disk{}, path) }

func openDatasets(files fileSystem, path string) (*Datasets, error) {
	d, err := openFileOf(files, path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := d.refresh(); err != nil {
		d.f.Close()
		return nil, fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	return d, nil
}

func openFileOf(files fileSystem, path string, flag int) (*Datasets, error) {
	if err := refuseIrregular(files, path); err != nil {
		return nil, err
	}
	f, err := files.OpenFile(path, flag, filePerm)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	return &Datasets{path: path, files: files, f: f, together: inParallel}, nil
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
	if err := writeSyncedAt(d.f, d.book.formatHeader(), 0); err != nil {
		return err
	}
	if err := d.files.SyncDir(filepath.Dir(d.path)); err != nil {
		return err
	}
	return d.refresh()
}

// refresh reads what was appended since the last time.
func (d *Datasets) refresh() error {
	if err := named(d.files, d.path, d.f, 0, math.MaxInt64); err != nil {
		return err
	}
	info, err := d.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < d.size-1 { // a last line may lack its newline
		return fmt.Errorf("found %d bytes, expected at least the %d that were there: %w", info.Size(), d.size, ErrMoved)
	}
	if info.Size() <= d.size && d.size > 0 {
		d.torn = 0
		return nil
	}
	e, err := d.book.read(io.NewSectionReader(d.f, d.size, math.MaxInt64-d.size))
	if err != nil {
		return err
	}
	d.size += e.size
	d.torn = e.torn
	if e.size > 0 {
		d.lastLine = e.lastLine
	}
	return nil
}

// lockPatience bounds the wait of an append for other processes, which hold the lock for one line
// each.
const lockPatience = time.Minute

// locked calls f while this process holds the lock of the file.
func (d *Datasets) locked(f func() error) (err error) {
	pause := 50 * time.Microsecond
	for deadline := time.Now().Add(lockPatience); ; {
		err := d.f.Lock()
		if err == nil {
			break
		}
		if !errors.Is(err, ErrLocked) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
	defer func() {
		if unlockErr := d.f.Unlock(); err == nil {
			err = unlockErr
		}
	}()
	return f()
}

// append adds the line that format makes of what the file then holds, if it makes one. After a
// failed write or sync nothing more is accepted, as in a [Journal].
func (d *Datasets) append(format func() ([]byte, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed != nil {
		return fmt.Errorf("checkpoints: %s: %w: %w", d.path, ErrJournalFailed, d.failed)
	}
	err := d.locked(func() error {
		if err := d.refresh(); err != nil {
			return err
		}
		line, err := format()
		if err != nil || line == nil {
			return err
		}
		d.failed = errors.New("append was interrupted") // stays if something below panics
		d.failed = d.store(line)
		return d.failed
	})
	if err != nil {
		return fmt.Errorf("checkpoints: %s: %w", d.path, err)
	}
	return nil
}

// store writes a line behind the last one and makes both durable: the last one may come from a
// process that was killed before its sync (Journal.Recover says why it is written again).
func (d *Datasets) store(line []byte) error {
	if d.torn > 0 {
		if err := d.f.Truncate(d.size); err != nil {
			return err
		}
	}
	end := append(d.lastLine[:len(d.lastLine):len(d.lastLine)], line...)
	if err := writeSyncedAt(d.f, end, d.size-int64(len(d.lastLine))); err != nil {
		return err
	}
	if !d.named {
		if err := d.files.SyncDir(filepath.Dir(d.path)); err != nil {
			return err
		}
	}
	if err := d.book.addLine(d.book.lines+1, line[:len(line)-1]); err != nil {
		return err
	}
	d.size += int64(len(line))
	if err := named(d.files, d.path, d.f, d.size, d.size); err != nil {
		return err
	}
	d.torn, d.lastLine, d.named = 0, nil, true
	return nil
}

// release records one line of a run's ledger, which comes after chain.
func (d *Datasets) release(c *chain, line []byte) error {
	return d.append(func() ([]byte, error) { return d.book.formatRelease(c, line) })
}

// Register makes sure that the ledger knows the run of a journal and everything in it. It appends
// nothing if that is so. The error matches ErrRollback if the ledger knows more, or other, releases
// of the run.
func (d *Datasets) Register(j *Journal, r Registration) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return d.register(&j.chain, r, j.hashAt)
}

// Adopt registers the run of the ledger file at path as Register does, without opening a Journal.
func (d *Datasets) Adopt(path string, r Registration) error {
	var c chain
	if err := c.readFile(d.files, path, -1); err != nil {
		return err
	}
	return d.register(&c, r, func(n int) (digest, error) {
		var past chain
		err := past.readFile(d.files, path, n)
		return past.head, err
	})
}

// register brings the member up to what c holds; hashAt looks up an earlier hash of c.
func (d *Datasets) register(c *chain, r Registration, hashAt func(int) (digest, error)) error {
	return d.append(func() ([]byte, error) {
		m := d.book.members[c.run]
		if m == nil {
			return d.book.formatRegister(c, r)
		}
		known := m.chain.entries
		if known > c.entries {
			return nil, fmt.Errorf("found %d entries of %s, expected at most the %d of its ledger: %w", known, m.Path, c.entries, ErrRollback)
		}
		hash, err := hashAt(known)
		if err != nil {
			return nil, err
		}
		if hash != m.chain.head {
			return nil, fmt.Errorf("found hash %s of %s after %d entries, expected %s of its ledger: %w", m.chain.head, m.Path, known, hash, ErrRollback)
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

// Refresh reads what other processes have appended, under the lock of the file.
func (d *Datasets) Refresh() error {
	return d.append(func() ([]byte, error) { return nil, nil })
}

// Close closes the file; later appends fail. Closing twice is allowed.
func (d *Datasets) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = cmp.Or(d.failed, fs.ErrClosed)
	if err := d.f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("checkpoints: %w", err)
	}
	return nil
}
