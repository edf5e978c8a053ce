package sweep

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/random"
)

// What sweep.json says of itself.
const (
	sweepFormat  = "dpsgd-sweep"
	sweepVersion = 1
)

// ErrOtherSweep is matched where the folder of a sweep was made with other trials.
var ErrOtherSweep = errors.New("train: the sweep has changed")

// sweepIdentity is the content of sweep.json.
type sweepIdentity struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Trials  []trialIdentity `json:"trials"`
	// Datasets is the identifier of the ledger that the trials register in; sweeps of the first
	// version have none.
	Datasets string `json:"datasets,omitempty"`
	// Draw holds the draw; a grid has none.
	Draw *drawIdentity `json:"draw,omitempty"`
}

// drawIdentity holds a draw and its distribution. It is written before the first trial starts and
// never again: whoever could draw a second time would choose.
type drawIdentity struct {
	From string `json:"from"` // what is drawn from, in words
	configs.Draw
	SHA256 string `json:"sha256"` // of From and the points, against damage
}

// drawOf returns a draw with the words of its distribution and their checksum.
func drawOf(from string, d configs.Draw) *drawIdentity {
	return &drawIdentity{from, d, fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %q", from, d.Points)))}
}

// trialIdentity pins a trial's configuration, as far as it changes the result or the guarantee.
type trialIdentity struct {
	Name   string `json:"name"`
	Config string `json:"config_sha256"`
}

// identity returns what sweep.json says of this sweep, but for the ledger of its data.
func (s *sweep) identity() sweepIdentity {
	id := sweepIdentity{Format: sweepFormat, Version: sweepVersion}
	for _, t := range s.trials {
		id.Trials = append(id.Trials, trialIdentity{t.Name, fmt.Sprintf("%x", sha256.Sum256(t.Config.Identity()))})
	}
	if from := s.file.DrawnFrom(); from != "" {
		id.Draw = drawOf(from, s.draw)
	}
	return id
}

// drawn returns the draw of an earlier part of this sweep, or draws now; nothing for a grid. The
// draw is durable once the folder is claimed.
func (s *sweep) drawn() (configs.Draw, error) {
	from := s.file.DrawnFrom()
	if from == "" {
		return configs.Draw{}, nil
	}
	found, err := s.readIdentity()
	if err != nil {
		return configs.Draw{}, err
	}
	path := filepath.Join(s.dir, folder.Sweep)
	switch {
	case found == nil:
		return s.file.Draw(random.New()), nil
	case found.Draw == nil:
		return configs.Draw{}, fmt.Errorf("%w: %s holds a sweep that draws nothing, expected one that draws %s; choose another name in the sweep file, or undo the change", ErrOtherSweep, s.dir, from)
	case drawOf(found.Draw.From, found.Draw.Draw).SHA256 != found.Draw.SHA256:
		return configs.Draw{}, fmt.Errorf("train: %s: found a draw that does not have its checksum, expected what was drawn before the first trial; put the file back from a copy, or choose another name in the sweep file: %w", path, checkpoints.ErrCorrupt)
	case found.Draw.From != from:
		return configs.Draw{}, fmt.Errorf("%w: %s holds points drawn from %s, expected %s; choose another name in the sweep file, or undo the change", ErrOtherSweep, s.dir, found.Draw.From, from)
	}
	return found.Draw.Draw, nil
}

func (s *sweep) readIdentity() (*sweepIdentity, error) {
	path := filepath.Join(s.dir, folder.Sweep)
	content, err := folder.Content(path)
	if err != nil || content == nil {
		return nil, err
	}
	var found sweepIdentity
	if err := json.Unmarshal(content, &found); err != nil || found.Format != sweepFormat || found.Version != sweepVersion {
		return nil, fmt.Errorf("%w: %s cannot be read, expected what version %d of a sweep wrote; choose another name in the sweep file", ErrOtherSweep, path, sweepVersion)
	}
	return &found, nil
}

// open makes or opens the sweep's folder, locks it, and reads the results of finished trials.
func (s *sweep) open() (*checkpoints.Lock, error) {
	fresh, unlocked := !folder.HoldsAny(s.dir, "."), !folder.HoldsAny(s.dir, folder.SweepLock)
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	lock, err := checkpoints.TakeLock(filepath.Join(s.dir, folder.SweepLock))
	if err != nil {
		return nil, err
	}
	if err := s.begin(); err != nil {
		lock.Close()
		if unlocked {
			disk.Remove(filepath.Join(s.dir, folder.SweepLock)) // a refused sweep leaves nothing behind
		}
		if fresh {
			disk.Remove(s.dir)
		}
		return nil, err
	}
	return lock, nil
}

func (s *sweep) makeDir() error {
	if err := folder.Check(filepath.Dir(s.dir), "a folder of runs"); err != nil {
		return err
	}
	if err := checkpoints.MakeDir(s.dir); err != nil {
		return fmt.Errorf("train: cannot make the sweep's folder: %w", err)
	}
	return nil
}

// begin makes sure that the folder belongs to these trials and that no release of theirs is
// forgotten. It checks all of that before it writes anything.
func (s *sweep) begin() error {
	claimed, err := s.claim()
	if err != nil {
		return err
	}
	if err := s.readResults(); err != nil {
		return err
	}
	d, err := books.OpenDatasets(s.registry)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := s.reserve(); err != nil {
		return err
	}
	if !claimed {
		if err := s.claimNew(d.Info().ID); err != nil {
			return err
		}
	}
	return s.writeRows() // a kill may have come between the two files
}

// reserve keeps for the unfinished trials what they may still release under the limit of their
// data: until this process ends, or, if tasks train them, until they are collected.
func (s *sweep) reserve() error {
	lock := s.file.Name + "/" + folder.SweepLock
	if s.collects {
		lock = ""
	}
	var trials []checkpoints.Reservation
	for i, t := range s.trials {
		r := checkpoints.Reservation{By: s.file.Name + "/" + t.Name, Subject: s.plans[i].subject, Planned: s.plans[i].releases}
		if _, finished := s.rows[t.Name]; finished {
			r.Planned = new(accountant.Ledger)
		}
		if limit := t.Config.Data.Limit; limit.Any() && r.Planned.Count() > 0 {
			if err := books.EnsureLimit(s.registry, t.Config, r.Subject); err != nil {
				return err
			}
		}
		trials = append(trials, r)
	}
	return books.ReserveTrials(s.registry, trials, lock)
}

// readResults reads the rows of finished trials, also those that tasks left, and holds them against
// the ledgers.
func (s *sweep) readResults() (err error) {
	if s.rows, err = s.readRows(); err != nil {
		return err
	}
	for i := range s.trials {
		if s.ours(i) {
			if err := s.takeOwnRow(s.rows, i); err != nil {
				return err
			}
		}
	}
	members, err := s.inspect()
	if err != nil {
		return err
	}
	for _, row := range s.finishedRows() {
		m, released := members[row.Trial]
		if !released {
			continue
		}
		if !holdsFor(row, &m) {
			delete(s.rows, row.Trial)
		} else if err := books.Refute(filepath.Join(s.dir, folder.Rows)+": trial "+row.Trial, m.Ledger, m.Delta, row.Answer); err != nil {
			return err
		}
	}
	return nil
}

// claim returns true if the folder belongs to these trials, and false if it holds nothing but the
// lock. It refuses any other folder.
func (s *sweep) claim() (bool, error) {
	found, err := s.readIdentity()
	if err != nil {
		return false, err
	}
	if found == nil {
		return false, s.requireEmpty()
	}
	if difference := found.difference(s.identity()); difference != "" {
		return false, fmt.Errorf("%w: %s holds %s; choose another name in the sweep file, or undo the change", ErrOtherSweep, s.dir, difference)
	}
	return true, nil
}

// requireEmpty refuses a folder that holds anything but the lock and a sweep.json that another
// process is writing.
func (s *sweep) requireEmpty() error {
	entries, err := disk.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	for _, e := range entries {
		if e.Name() != folder.SweepLock && !strings.HasPrefix(e.Name(), "."+folder.Sweep) { // which another process is writing, or was
			return fmt.Errorf("%w: found %s in %s, expected an empty folder or that of this sweep; choose another name in the sweep file", ErrOtherSweep, e.Name(), s.dir)
		}
	}
	return nil
}

// claimNew writes sweep.json into an empty folder. If several processes do so, one of them
// succeeds. datasets identifies the ledger that the trials register in.
func (s *sweep) claimNew(datasets string) error {
	id := s.identity()
	id.Datasets = datasets
	content, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	err = checkpoints.CreateFileAtomic(filepath.Join(s.dir, folder.Sweep), append(content, '\n'), folder.FilePerm)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: another process began %s just now, expected to be the first; give the command again", ErrOtherSweep, s.dir)
	}
	return err
}

// difference says in words how the trials found in a folder differ from the wanted ones; "" if they
// are the same.
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
	if found.Draw != nil && (wanted.Draw == nil || found.Draw.SHA256 != wanted.Draw.SHA256) {
		return "points that were drawn otherwise" // by another process, just now
	}
	return ""
}
