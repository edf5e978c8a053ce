package checkpoints

import (
	"errors"

	"dpsgd/internal/disk"
)

// Errors to match with errors.Is. The error that wraps one names the file, what was found and what
// was expected; it may name an index, never a value of a parameter.
var (
	// ErrCorrupt: a file is damaged, truncated or not of the format it should have.
	ErrCorrupt = errors.New("damaged or not in the expected format")
	// ErrNotFinite: a parameter is NaN or infinite.
	ErrNotFinite = errors.New("value is not finite")
	// ErrNotRegular: a symbolic link, directory or special file lies where a file is expected.
	ErrNotRegular = errors.New("refused")
	// ErrNoCheckpoint: a directory holds no checkpoint that can be read.
	ErrNoCheckpoint = errors.New("no readable checkpoint")
	// ErrSkipped: Latest found a checkpoint, but had to pass over newer ones that cannot be read.
	ErrSkipped = errors.New("newer checkpoints cannot be read")
	// ErrLocked: another process has the ledger open, or holds the lock.
	ErrLocked = disk.ErrLocked
	// ErrUnfinished: the ledger ends inside its header line.
	ErrUnfinished = errors.New("ledger was never completely created")
	// ErrJournalFailed: an earlier write to the ledger failed; nothing more may be released.
	ErrJournalFailed = errors.New("ledger failed, no more entries are accepted")
	// ErrMoved: the path of an open ledger does not lead to what was written any more.
	ErrMoved = errors.New("ledger was deleted, replaced or cut off while it was open")
	// ErrRollback: a checkpoint, or other file, knows entries that the ledger does not have.
	ErrRollback = errors.New("ledger was rolled back or belongs to another run")
)
