package checkpoints

import (
	"bytes"
	"fmt"
	"io"

	"dpsgd/accountant"
)

// hashAt returns the hash that the ledger had when it held n entries. It reads the file down to
// there, so that a long run need not keep all hashes in memory.
func (j *Journal) hashAt(n int) (digest, error) {
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
	if err := c.readFile(disk{}, path, -1); err != nil {
		return nil, JournalInfo{}, err
	}
	if _, err := c.check(claims); err != nil {
		return nil, JournalInfo{}, fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	return &c.ledger, c.info(), nil
}

// ReadHeader reads the first line of a ledger alone: its run and its ledger of data sets.
func ReadHeader(path string) (JournalInfo, error) {
	var c chain
	err := c.readFile(disk{}, path, 0)
	return JournalInfo{Run: c.run, Datasets: c.datasets}, err
}

// readFile reads a ledger as [chain.read] does, without locking or changing it.
func (c *chain) readFile(files fileSystem, path string, limit int) error {
	f, _, err := openRegular(files, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := c.read(content(f), limit); err != nil {
		return fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	return nil
}

// LastHash returns the hash that the last complete line of a ledger states, without checking it or
// reading the rest: it says cheaply whether a ledger may have grown.
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
