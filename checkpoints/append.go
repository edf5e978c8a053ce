package checkpoints

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
)

// A ledgerFile is an open file to which whole lines are appended. What they say is its owner's
// matter.
type ledgerFile struct {
	path  string
	files fileSystem

	mu     sync.Mutex
	f      file
	extent       // of the lines so far; tail is nil where this process has made them durable
	named  bool  // whether the name of the file is durable for certain
	failed error // what stopped this process' appends, or nil; never cleared
}

// present returns the size of the open file. It returns an error if the path does not name that
// file any more, or the size is not from least to most bytes: what is written to a file that was
// deleted, replaced or cut off meanwhile is found by nobody.
func (l *ledgerFile) present(least, most int64) (size int64, err error) {
	opened, err := l.f.Stat()
	if err != nil {
		return 0, err
	}
	there, err := l.files.Lstat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("found no file, expected the one that is being written: %w", ErrMoved)
	case err != nil:
		return 0, err
	case !l.files.SameFile(opened, there):
		return 0, fmt.Errorf("found another file than the one opened, expected that nobody replaces a ledger: %w", ErrMoved)
	case opened.Size() < least || opened.Size() > most:
		return 0, fmt.Errorf("found %d bytes, expected the %d that were written: %w", opened.Size(), least, ErrMoved)
	}
	return opened.Size(), nil
}

// store writes a line, or none, behind the last one, and makes both durable.
func (l *ledgerFile) store(line []byte) error {
	err := l.write(line)
	if err == nil {
		err = l.sync()
	}
	if err == nil {
		l.stored(line)
	}
	return err
}

// write writes a line behind the last one, in place of a torn one.
//
// The last lines may come from processes that were killed before their syncs, or whose syncs failed.
// They count, and checkpoints refer to them, so they have to be durable. A sync alone is not enough:
// after a failed one Linux takes the pages for clean and the next one says success without writing
// them. So the lines are written again, the same bytes in the same place.
func (l *ledgerFile) write(line []byte) error {
	if l.torn > 0 { // first, or a power loss mixes the torn line and the new one
		if err := cmp.Or(l.f.Truncate(l.size), l.f.Sync()); err != nil {
			return err
		}
	}
	end := append(slices.Clone(l.tail), line...)
	n, err := l.f.WriteAt(end, l.size-int64(len(l.tail)))
	if err == nil && n < len(end) {
		err = io.ErrShortWrite
	}
	return err
}

// sync makes what was written durable, and the name of the file with it.
func (l *ledgerFile) sync() error {
	err := l.f.Sync()
	if err == nil && !l.named {
		err = l.files.SyncDir(filepath.Dir(l.path))
	}
	return err
}

// stored counts a line that was written and synced as the last one.
func (l *ledgerFile) stored(line []byte) {
	l.extent = extent{size: l.size + int64(len(line))}
	l.named = true
}

// attempt calls f, which does what. After its error or panic, failure refuses every later attempt.
func (l *ledgerFile) attempt(what string, f func() error) error {
	l.failed = errors.New(what + " was interrupted") // stays if f panics
	l.failed = f()
	return l.failed
}

// failure returns the error for whatever is asked after a failed attempt; nil if none has failed.
func (l *ledgerFile) failure() error {
	if l.failed == nil {
		return nil
	}
	return fmt.Errorf("checkpoints: %s: %w: %w", l.path, ErrJournalFailed, l.failed)
}
