package checkpoints

import (
	"fmt"

	"dpsgd/accountant"
)

// AppendAll is [Journal.Append] of count releases that e describes, all of this step, which become
// durable by one sync. A crash may leave the first few of them. A ledger of data sets does not know
// of them before [Datasets.Register].
func (j *Journal) AppendAll(step int, e accountant.Event, count int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.recover(); err != nil {
		return err
	}
	next := j.chain
	next.ledger = *j.chain.ledger.Clone()
	var lines []byte
	for range count {
		line, r, err := next.format(step, e)
		if err == nil {
			err = next.add(r)
		}
		if err != nil {
			return fmt.Errorf("checkpoints: %s: append entry %d: %w", j.path, next.entries+1, err)
		}
		lines = append(lines, line...)
	}
	j.attempt("append", func() error {
		if err := j.appendLine(lines, nil); err != nil {
			return fmt.Errorf("append entries %d to %d: %w", j.chain.entries+1, next.entries, err)
		}
		j.chain = next
		return nil
	})
	return j.failure()
}
