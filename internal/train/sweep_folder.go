package train

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dpsgd/checkpoints"
)

// What a sweep's folder holds beside a folder for each trial.
const (
	sweepFile     = "sweep.json"    // which trials belong to it
	sweepLock     = "sweep.lock"    // an empty ledger that is opened for its lock alone
	rowsFile      = "results.jsonl" // the truth about finished trials
	tableFile     = "results.csv"   // the same for spreadsheets
	sweepReport   = "results.md"
	sweepVersion  = 1
	sweepFormat   = "dpsgd-sweep"
	folderPerm    = 0o700
	ownerFilePerm = 0o600
)

// ErrOtherSweep: the folder of a sweep was made with other trials.
var ErrOtherSweep = errors.New("train: the sweep has changed")

// sweepIdentity is what sweep.json says.
type sweepIdentity struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Trials  []trialIdentity `json:"trials"`
}

// trialIdentity pins a trial's configuration, as far as it changes the result or the guarantee.
type trialIdentity struct {
	Name   string `json:"name"`
	Config string `json:"config_sha256"`
}

func (s *sweep) identity() sweepIdentity {
	id := sweepIdentity{Format: sweepFormat, Version: sweepVersion}
	for _, t := range s.trials {
		sum := sha256.Sum256(identity(t.Config))
		id.Trials = append(id.Trials, trialIdentity{t.Name, hex.EncodeToString(sum[:])})
	}
	return id
}

// open makes or opens the sweep's folder, locks it, and reads the results of finished trials.
func (s *sweep) open() (*checkpoints.Journal, error) {
	if err := os.MkdirAll(s.dir, folderPerm); err != nil {
		return nil, fmt.Errorf("train: cannot make the sweep's folder: %w", err)
	}
	lock, err := openLock(filepath.Join(s.dir, sweepLock))
	if err != nil {
		return nil, err
	}
	err = s.claim()
	if err == nil {
		s.rows, err = s.readRows()
	}
	if err == nil {
		err = s.writeRows() // a kill may have come between the two files
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// openLock takes a lock that ends with the process. Journals know how to do that on every system; this one stays empty.
func openLock(path string) (*checkpoints.Journal, error) {
	lock, err := checkpoints.CreateJournal(path)
	if !errors.Is(err, fs.ErrExist) {
		return lock, err
	}
	lock, err = checkpoints.OpenJournal(path)
	if !errors.Is(err, checkpoints.ErrUnfinished) {
		return lock, err
	}
	if err := os.Remove(path); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return checkpoints.CreateJournal(path)
}

// claim makes sure that the folder belongs to these trials.
func (s *sweep) claim() error {
	path := filepath.Join(s.dir, sweepFile)
	wanted := s.identity()
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.claimNew(path, wanted)
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	var found sweepIdentity
	if err := json.Unmarshal(content, &found); err != nil || found.Format != sweepFormat || found.Version != sweepVersion {
		return fmt.Errorf("%w: %s cannot be read, expected what version %d of a sweep wrote; choose another name in the sweep file", ErrOtherSweep, path, sweepVersion)
	}
	if difference := found.difference(wanted); difference != "" {
		return fmt.Errorf("%w: %s holds %s; choose another name in the sweep file, or undo the change", ErrOtherSweep, s.dir, difference)
	}
	return nil
}

// claimNew takes a folder that holds nothing but the lock.
func (s *sweep) claimNew(path string, id sweepIdentity) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	for _, e := range entries {
		if e.Name() != sweepLock {
			return fmt.Errorf("%w: found %s in %s, expected an empty folder or that of this sweep; choose another name in the sweep file", ErrOtherSweep, e.Name(), s.dir)
		}
	}
	content, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return checkpoints.WriteFileAtomic(path, append(content, '\n'), ownerFilePerm)
}

// difference says in words how the trials found in a folder differ from the wanted ones; "" if they do not.
func (found sweepIdentity) difference(wanted sweepIdentity) string {
	if len(found.Trials) != len(wanted.Trials) {
		return fmt.Sprintf("%d trials, expected the %d of the sweep file", len(found.Trials), len(wanted.Trials))
	}
	for i, f := range found.Trials {
		switch w := wanted.Trials[i]; {
		case f.Name != w.Name:
			return fmt.Sprintf("trial %s, expected %s", f.Name, w.Name)
		case f.Config != w.Config:
			return fmt.Sprintf("trial %s with another base configuration, expected that of the sweep file", f.Name)
		}
	}
	return ""
}

// startedTrial says whether a folder holds a run that can have released something. Runs write their configuration first,
// then their ledger.
func startedTrial(dir string) (bool, error) {
	if _, err := os.Stat(filepath.Join(dir, ledgerFile)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	_, _, err := readLedger(dir)
	if errors.Is(err, checkpoints.ErrUnfinished) {
		return false, nil
	}
	return true, err
}
