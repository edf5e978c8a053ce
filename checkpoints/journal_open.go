package checkpoints

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
)

// OpenJournal locks the ledger of an existing run and reads it. If another process has it open, the
// error is one line that matches ErrLocked and names the path. The file stays as it is until
// [Journal.Recover] or the first Append, so that a caller who refuses it after [Journal.Check] has
// changed nothing.
//
// A line that a crash tore while it was appended was never released and is left out. Any other
// damage is refused with ErrCorrupt, the line number, what was found and what was expected; a file
// that ends inside its header with ErrUnfinished. A ledger that is not a regular file is refused
// with ErrNotRegular.
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
	// A link, or a file put in place between the check and the open, would let two processes each hold a lock.
	if err := named(j.files, j.path, j.f, 0, math.MaxInt64); err != nil {
		return err
	}
	e, err := j.chain.read(content(j.f), -1)
	j.size, j.torn, j.lastLine = e.size, e.torn, e.lastLine
	return err
}

// Recover makes the file of an opened journal whole and durable: a torn line is cut off, and a last
// line that counts is stored. Append does so before its first line; who saves a checkpoint before
// that calls it.
//
// The last line may come from a process that was killed before its sync, or whose sync failed. It
// counts, and checkpoints refer to it, so it has to be durable. A sync alone is not enough: after a
// failed one Linux takes the pages for clean and the next one says success without writing them. So
// the line is written again, the same bytes in the same place.
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
