package checkpoints

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"

	"dpsgd/accountant"
	"dpsgd/internal/disk"
)

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

// ReadJournal reads a ledger without locking or changing it, for reports on a run that may be
// running, and holds it against claims as [Journal.Check] does. The same damage is refused as by
// [OpenJournal]; a line that is just being appended is left out. Claims about a run that may be
// running are read before its ledger.
func ReadJournal(path string, claims ...Claim) (*accountant.Ledger, JournalInfo, error) {
	c := chain{heads: headsOf(claims)}
	if err := c.readFile(disk.System, path, -1); err != nil {
		return nil, JournalInfo{}, err
	}
	if _, err := c.check(claims); err != nil {
		return nil, JournalInfo{}, fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	return &c.ledger, c.info(), nil
}

// ReadHeader reads the first line of a ledger alone: it fills in Run and Datasets.
func ReadHeader(path string) (JournalInfo, error) {
	var c chain
	err := c.readFile(disk.System, path, 0)
	return JournalInfo{Run: c.run, Datasets: c.datasets}, err
}

// readFile reads a ledger as [chain.read] does, without locking or changing it.
func (c *chain) readFile(files fileSystem, path string, limit int) error {
	return readLedger(files, path, func(r io.Reader) (extent, error) { return c.read(r, limit) })
}

// readLedger calls read with the content of a file, without locking or changing it.
func readLedger(files fileSystem, path string, read func(io.Reader) (extent, error)) error {
	f, _, err := openRegular(files, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := read(content(f)); err != nil {
		return fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	return nil
}

// LastHash returns the hash that the last complete line of a ledger states, without checking it or
// reading the rest: it says cheaply whether a ledger may have grown.
func LastHash(path string) (string, error) {
	f, size, err := openRegular(disk.System, path)
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

// OpenJournal locks the ledger of an existing run and reads it. If another process has it open, the
// error is one line that matches ErrLocked and names the path. The file stays as it is until
// [Journal.Recover] or the first Append, so that a caller who refuses it after [Journal.Check] has
// changed nothing.
//
// A line that a crash tore while it was appended was never released and is left out. Any other
// damage is refused with ErrCorrupt, the line number, what was found and what was expected; a file
// that ends inside its header with ErrUnfinished. A ledger that is not a regular file is refused
// with ErrNotRegular.
func OpenJournal(path string) (*Journal, error) { return openJournal(disk.System, path) }

func openJournal(files fileSystem, path string) (*Journal, error) {
	l, err := openLedger(files, path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	j := &Journal{ledgerFile: l}
	if err := j.read(); err != nil {
		l.f.Close()
		return nil, fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	return j, nil
}

func (j *Journal) read() error {
	if err := j.lock(instant); err != nil {
		return err
	}
	// A link, or a file put in place between the check and the open, would let two processes each
	// hold a lock.
	if _, err := j.present(0, math.MaxInt64); err != nil {
		return err
	}
	return j.readOn(func(r io.Reader) (extent, error) { return j.chain.read(r, -1) })
}

// Recover makes the file of an opened journal whole and durable: it cuts off a torn line, and
// stores the missing line that [Journal.Check] found. Append does so before its first line; a
// caller that saves a checkpoint before that calls Recover.
func (j *Journal) Recover() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.recover()
}

func (j *Journal) recover() error {
	if err := j.failure(); err != nil || j.named && j.missing == nil {
		return err
	}
	j.attempt("recovery", func() error { return j.store(j.missing) })
	j.missing = nil
	return j.failure()
}
