package train

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
)

// claimsAbout collects what the other files of a run say about its ledger: every checkpoint, the statement, and
// the table of the sweep that the run is a trial of. Whoever reads them while the run goes on reads them before
// the ledger, which only grows.
func claimsAbout(dir string) ([]checkpoints.Claim, error) {
	var claims []checkpoints.Claim
	states, _, err := readCheckpoints(dir)
	if err != nil {
		return nil, err
	}
	for _, s := range states {
		claims = append(claims, s.Claim())
	}
	s, err := readStatement(dir)
	switch {
	case err == nil:
		claims = append(claims, checkpoints.Claim{Where: statementData, Entries: s.LedgerEntries, Hash: s.LedgerHead})
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	row, err := rowOfTrial(dir)
	if err != nil {
		return nil, err
	}
	if row != nil {
		claims = append(claims, row.claim(dir))
	}
	// The one that says most comes first, because it is the one to tell about.
	slices.SortStableFunc(claims, func(a, b checkpoints.Claim) int { return cmp.Compare(b.Entries, a.Entries) })
	return claims, nil
}

// readCheckpoints reads all checkpoints of a run. Damaged ones say nothing; they are returned as problems.
func readCheckpoints(dir string) (states []*checkpoints.State, damaged []error, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, checkpointFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("train: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // being written
		}
		s, err := checkpoints.Load(filepath.Join(dir, checkpointFolder, e.Name()))
		switch {
		case err == nil:
			states = append(states, s)
		case !errors.Is(err, fs.ErrNotExist): // the run may be removing it
			damaged = append(damaged, err)
		}
	}
	return states, damaged, nil
}

// readStatement reads privacy.json; the error matches fs.ErrNotExist where a run has not ended.
func readStatement(dir string) (Statement, error) {
	path := filepath.Join(dir, statementData)
	content, err := os.ReadFile(path)
	if err != nil {
		return Statement{}, fmt.Errorf("train: %w", err)
	}
	var s Statement
	if err := json.Unmarshal(content, &s); err != nil {
		return Statement{}, fmt.Errorf("train: %s: found no statement that can be read (%w), expected what the run wrote: %w", path, err, checkpoints.ErrCorrupt)
	}
	return s, nil
}

// rowOfTrial reads the result of a trial from the table of its sweep; nil for any other run.
func rowOfTrial(dir string) (*Row, error) {
	path := filepath.Join(dir, "..", rowsFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	name := nameOf(dir)
	for i, line := range lines(content) {
		row, err := readRow(line)
		if err != nil {
			return nil, fmt.Errorf("train: %s:%d: found no result of a trial, expected a line that a sweep wrote: %w", path, i+1, checkpoints.ErrCorrupt)
		}
		if row.Trial == name {
			return &row, nil
		}
	}
	return nil, nil
}

// claim is what the row says about the ledger of its trial.
func (r Row) claim(dir string) checkpoints.Claim {
	return checkpoints.Claim{Where: filepath.Join(dir, "..", rowsFile), Entries: r.LedgerEntries, Hash: r.LedgerHead}
}

func lines(content []byte) []string {
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

// nameOf is the name of a run's folder, without where it lies.
func nameOf(dir string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		return filepath.Base(absolute)
	}
	return filepath.Base(dir)
}

// inspected is the ledger of a run that agrees with everything that speaks of it.
type inspected struct {
	ledger  *accountant.Ledger
	info    checkpoints.JournalInfo
	warning string // that the ledger of the run's data was not there to be asked; "" in most cases
}

// inspect reads the ledger of a run and holds it against the other files. It changes nothing, so the run may be
// going on.
func inspect(dir string) (inspected, error) {
	return inspectIn(dir, func(header checkpoints.JournalInfo) (home, error) { return registryOf(dir, header) })
}

// inspectIn is inspect with another way to find the ledger of the data.
func inspectIn(dir string, find func(header checkpoints.JournalInfo) (home, error)) (inspected, error) {
	path := filepath.Join(dir, ledgerFile)
	header, err := checkpoints.ReadHeader(path)
	if err != nil {
		return inspected{}, withoutLedger(dir, err)
	}
	claims, err := claimsAbout(dir)
	if err != nil {
		return inspected{}, err
	}
	home, err := find(header)
	if err != nil {
		return inspected{}, err
	}
	if err := home.refuseOtherDelta(dir, header.Run); err != nil {
		return inspected{}, err
	}
	i := inspected{}
	if home.missing != nil {
		i.warning = strings.TrimPrefix(home.missing.Error(), "train: ")
	}
	i.ledger, i.info, err = checkpoints.ReadJournal(path, append(claims, home.claims(header.Run)...)...)
	return i, withoutLedger(dir, err)
}
