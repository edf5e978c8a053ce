package books

import (
	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/release"
)

// Books are the two ledgers that a run writes ahead of every release: its own, and the one of its
// data, which all runs in the folder share.
type Books struct {
	*checkpoints.Journal
	datasets *checkpoints.Datasets
	Registry string // the folder of runs, which holds datasets
	apart    bool   // datasets is a ledger apart, of this run alone, until Collect
	own      checkpoints.Registration
	planned  *checkpoints.Planned
	reserved *accountant.Ledger // what the data's limit keeps for the run; nil for no limit

	appended chan error // outcome of the append in progress
}

var _ release.Journal = (*Books)(nil)

// Begin starts to write a release to both ledgers. It may be made once durable has returned nil.
func (b *Books) Begin(step int, e accountant.Event) (durable func() error) {
	if b.appended == nil {
		b.appended = make(chan error, 1)
	}
	go func() { b.appended <- b.Append(step, e) }()
	return func() error { return <-b.appended }
}

// Append returns nil when the release is durable in both ledgers, or why it is not: the limit, too.
func (b *Books) Append(step int, e accountant.Event) error {
	err := b.allows(e, 1)
	if err == nil {
		err = b.Journal.AppendWith(b.datasets, step, e)
	}
	return b.Told(err)
}
