package checkpoints

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"dpsgd/accountant"
)

// A Journal is the ledger of a run on disk: append-only, one line per released update, written ahead of the
// release. When Append has returned nil, the entry survives a kill and a power loss, and only then may the
// noise of the update be drawn. So the file never holds less than what was released; it may hold more, by the
// steps that were recorded and then interrupted.
//
// Each line carries a hash of the whole file down to it; a checkpoint remembers the number of entries and the
// hash it saw ([Verify]). The hashes detect accidents and restored old copies. Whoever may write the file can
// also compute them anew: against tampering only a copy of the last hash kept elsewhere helps.
//
// One process at a time holds a journal open. Its methods may be called from several goroutines.
type Journal struct {
	path  string
	files fileSystem

	mu     sync.Mutex
	f      file
	chain  chain
	size   int64 // where the next line goes
	failed error // what stopped the journal, or nil; never cleared
	closed bool

	recovered bool   // whether the file is whole and durable
	torn      int    // bytes of an incomplete line behind size
	lastLine  []byte // the last line of the file that was opened
	missing   []byte // a line that counts and is not in the file yet: see Claim
}

// CreateJournal creates the ledger of a new run with permissions 0600, and missing directories above it with
// 0700, and locks it. The error matches fs.ErrExist if there is a ledger already. The ledger stands alone: no
// ledger of data sets knows it (CreateRegistered).
func CreateJournal(path string) (*Journal, error) { return createJournal(disk{}, path, "") }

// CreateRegistered is CreateJournal for a run that is to be registered in a ledger of data sets, whose
// identifier the header then names.
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
	j := &Journal{path: path, files: files, f: f, recovered: true}
	header := j.chain.formatHeader(datasets)
	j.size = int64(len(header))
	err = f.Lock()
	if err == nil {
		err = j.store(header, 0)
	}
	if err != nil {
		files.Remove(path) // it is ours, and nothing was released
		f.Close()
		return nil, fmt.Errorf("checkpoints: create %s: %w", path, err)
	}
	return j, nil
}

// OpenJournal locks the ledger of an existing run and reads it. If another process has it open, the error is
// one line that matches ErrLocked and names the path. The file stays as it is until [Journal.Recover] or the
// first Append, so that a caller who refuses it after [Journal.Check] has changed nothing.
//
// A line that a crash tore while it was appended was never released and is left out. Any other damage is
// refused with ErrCorrupt, the line number, what was found and what was expected; a file that ends inside its
// header with ErrUnfinished. A ledger that is not a regular file is refused with ErrNotRegular.
func OpenJournal(path string) (*Journal, error) { return openJournal(disk{}, path) }

func openJournal(files fileSystem, path string) (*Journal, error) {
	if err := refuseIrregular(files, path); err != nil {
		return nil, err
	}
	f, err := files.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	j := &Journal{path: path, files: files, f: f}
	if err := j.read(); err != nil {
		f.Close()
		return nil, fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	return j, nil
}

// read locks and reads the file.
func (j *Journal) read() error {
	if err := j.f.Lock(); err != nil {
		return err
	}
	if err := j.requireSameFile(); err != nil {
		return err
	}
	e, err := j.chain.read(content(j.f), -1)
	j.size, j.torn, j.lastLine = e.size, e.torn, e.lastLine
	return err
}

// Recover makes the file of an opened journal whole and durable: a torn line is cut off, and a last line that
// counts is stored. Append does so before its first line; who saves a checkpoint before that calls it.
//
// The last line may come from a process that was killed before its sync, or whose sync failed. It counts, and
// checkpoints refer to it, so it has to be durable. A sync alone is not enough: after a failed one Linux takes
// the pages for clean and the next one says success without writing them. So the line is written again, the
// same bytes in the same place.
func (j *Journal) Recover() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failure()
	}
	return j.recover()
}

func (j *Journal) recover() error {
	if j.recovered {
		return nil
	}
	j.failed = errors.New("recovery was interrupted") // stays if something below panics
	if j.torn > 0 {
		if err := j.f.Truncate(j.size); err != nil {
			j.failed = err
			return j.failure()
		}
	}
	end := append(slices.Clone(j.lastLine), j.missing...)
	if err := j.store(end, j.size-int64(len(j.lastLine))); err != nil {
		j.failed = err
		return j.failure()
	}
	j.size += int64(len(j.missing))
	j.recovered, j.torn, j.lastLine, j.missing, j.failed = true, 0, nil, nil, nil
	return nil
}

// requireSameFile makes sure that the locked file is the one that the path names: a link, or a file put in
// place between the check and the open, would let two processes each hold a lock.
func (j *Journal) requireSameFile() error {
	opened, err := j.f.Stat()
	if err != nil {
		return err
	}
	named, err := j.files.Lstat(j.path)
	if err != nil {
		return err
	}
	if !j.files.SameFile(opened, named) {
		return fmt.Errorf("found another file than the one opened, expected that nobody replaces a ledger: %w", ErrNotRegular)
	}
	return nil
}

// store writes bytes at an offset and syncs file and directory.
func (j *Journal) store(b []byte, offset int64) error {
	if err := writeSyncedAt(j.f, b, offset); err != nil {
		return err
	}
	return j.files.SyncDir(filepath.Dir(j.path))
}

func writeSyncedAt(f file, b []byte, offset int64) error {
	if err := writeAt(f, b, offset); err != nil {
		return err
	}
	return f.Sync()
}

func writeAt(f file, b []byte, offset int64) error {
	n, err := f.WriteAt(b, offset)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// Append records one release: step is the number of the update (counted from 0 or from 1), e the event that
// describes it. It returns nil when the line is on stable storage; before that, nothing of the update may
// leave the mechanism. The step is at most one above that of the last entry; it may be lower, because steps
// that are run again after a resume are released again and cost again.
//
// An event or step that is refused changes nothing. After a write or a sync has failed, or panicked, the
// journal is failed for good: what reached the disk is unknown, and asking again can get a false "yes" (after
// a failed fsync the kernel drops the dirty pages). This and every later Append return an error that matches
// ErrJournalFailed; the run has to stop, and [OpenJournal] finds out what is there.
func (j *Journal) Append(step int, e accountant.Event) error { return j.AppendWith(nil, step, e) }

// AppendWith is Append that records the release in a ledger of data sets too, in which the run is registered.
// The line is written here first, then there, and both files are synced at the same time; it returns nil when
// both lines are durable. An error of either ends the journal.
func (j *Journal) AppendWith(d *Datasets, step int, e accountant.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failure()
	}
	if err := j.recover(); err != nil {
		return err
	}
	line, r, err := j.chain.format(step, e)
	if err != nil {
		return fmt.Errorf("checkpoints: %s: append entry %d: %w", j.path, j.chain.entries+1, err)
	}
	j.failed = errors.New("append was interrupted") // stays if something below panics
	err = writeAt(j.f, line, j.size)
	if err == nil {
		err = j.sync(line, d)
	}
	if err != nil {
		j.failed = fmt.Errorf("append entry %d: %w", j.chain.entries+1, err)
		return j.failure()
	}
	if err := j.chain.add(r); err != nil {
		j.failed = err
		return j.failure()
	}
	j.size += int64(len(line))
	j.failed = nil
	return nil
}

// sync makes a written line durable, here and in the ledger of data sets.
func (j *Journal) sync(line []byte, d *Datasets) error {
	if d == nil {
		return j.f.Sync()
	}
	return d.together(j.f.Sync, func() error { return d.release(&j.chain, line) })
}

func (j *Journal) failure() error {
	return fmt.Errorf("checkpoints: %s: %w: %w", j.path, ErrJournalFailed, j.failed)
}

// Ledger returns a copy of the ledger, for an accountant. After a failed Append it does not count the entry
// whose fate is unknown; that entry's update was not released.
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

// HashAt returns the hash that the ledger had when it held n entries. It reads the file down to there, so
// that a long run need not keep all hashes in memory.
func (j *Journal) HashAt(n int) (string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	d, err := j.hashAt(n)
	if err != nil {
		return "", fmt.Errorf("checkpoints: %s: %w", j.path, err)
	}
	return d.String(), nil
}

func (j *Journal) hashAt(n int) (digest, error) {
	if n < 0 || n > j.chain.entries {
		return digest{}, fmt.Errorf("asked for the hash of %d entries, expected 0 to %d", n, j.chain.entries)
	}
	if n == j.chain.entries {
		return j.chain.head, nil
	}
	var c chain
	if _, err := c.read(content(j.f), n); err != nil {
		return digest{}, err
	}
	if c.entries != n {
		return digest{}, fmt.Errorf("found %d entries, expected at least %d: %w", c.entries, n, ErrCorrupt)
	}
	return c.head, nil
}

// Close releases the lock. Closing twice is allowed; appending afterwards is not.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	if j.failed == nil {
		j.failed = fs.ErrClosed
	}
	if err := j.f.Close(); err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	return nil
}

// JournalInfo describes a ledger file beside its events.
type JournalInfo struct {
	Run      string // random identifier of the run, 32 hexadecimal digits
	Datasets string // identifier of the ledger of data sets; "" for a ledger that stands alone
	Entries  int
	LastStep int    // step of the last entry, 0 before the first
	Hash     string // hash of the whole ledger
}

func (c *chain) info() JournalInfo {
	return JournalInfo{Run: c.run, Datasets: c.datasets, Entries: c.entries, LastStep: c.lastStep, Hash: c.head.String()}
}

// Info describes the ledger.
func (j *Journal) Info() JournalInfo {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.chain.info()
}

// ReadJournal reads a ledger without locking or changing it, for reports on a run that may be running, and
// holds it against claims as [Journal.Check] does. The same damage is refused as by [OpenJournal]; a line that
// is just being appended is left out. Claims about a run that may be running are read before its ledger.
func ReadJournal(path string, claims ...Claim) (*accountant.Ledger, JournalInfo, error) {
	f, _, err := openRegular(disk{}, path)
	if err != nil {
		return nil, JournalInfo{}, err
	}
	defer f.Close()
	c := chain{heads: headsOf(claims)}
	if _, err := c.read(content(f), -1); err != nil {
		return nil, JournalInfo{}, fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	if _, err := c.check(claims); err != nil {
		return nil, JournalInfo{}, fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	return &c.ledger, c.info(), nil
}

// ReadHeader reads the first line of a ledger alone: its run and its ledger of data sets.
func ReadHeader(path string) (JournalInfo, error) {
	f, _, err := openRegular(disk{}, path)
	if err != nil {
		return JournalInfo{}, err
	}
	defer f.Close()
	var c chain
	if _, err := c.read(content(f), 0); err != nil {
		return JournalInfo{}, fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	return JournalInfo{Run: c.run, Datasets: c.datasets}, nil
}

// LastHash returns the hash that the last complete line of a ledger states, without checking it or reading the
// rest: it says cheaply whether a ledger may have grown.
func LastHash(path string) (string, error) {
	f, size, err := openRegular(disk{}, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	end := make([]byte, min(size, 2*maxLine))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil && err != io.EOF {
		return "", fmt.Errorf("checkpoints: %w", err)
	}
	end = end[:bytes.LastIndexByte(end, '\n')+1]
	line := bytes.TrimSuffix(end, []byte("\n"))
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	if i := bytes.LastIndex(line, []byte(hashKey)); i >= 0 {
		return string(bytes.TrimSuffix(line[i+len(hashKey):], []byte(recordEnd))), nil
	}
	return digestOf(line).String(), nil // the header
}
