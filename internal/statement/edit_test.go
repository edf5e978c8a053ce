package statement_test

import (
	"errors"
	"path/filepath"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// Every digit of a statement counts: with another one in its place the statement is refused. That of an
// earlier version has no sum and is read.
func TestEditedStatementIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := statement.Statement{Run: "one", Answer: account.Answer{Epsilon: 1.25, Delta: 1e-5}, AddedDelta: 0.125, NoiseMultiplier: 1.5, Steps: 12,
		Together: statement.Together{DatasetEpsilon: 3.5, DatasetDelta: 1e-5, DatasetRuns: 2, DatasetReleases: 24}}
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, folder.StatementData)
	whole := tiny.Read(t, path)
	if found, err := statement.Read(dir); err != nil || found.Epsilon != 1.25 || found.DatasetEpsilon != 3.5 {
		t.Errorf("found %+v (%v), expected what was written", found, err)
	}
	for at, digit := range []byte(whole) {
		if digit < '1' || digit > '9' {
			continue
		}
		edited := []byte(whole)
		edited[at]--
		tiny.Write(t, path, string(edited))
		if _, err := statement.Read(dir); !errors.Is(err, checkpoints.ErrCorrupt) {
			t.Errorf("found error %v for %.40q, expected ErrCorrupt", err, edited[max(0, at-20):])
		}
	}
	tiny.Write(t, path, tiny.Unsummed(whole))
	if found, err := statement.Read(dir); err != nil || found.Epsilon != 1.25 {
		t.Errorf("found %+v (%v), expected the statement of an earlier version", found, err)
	}
}
