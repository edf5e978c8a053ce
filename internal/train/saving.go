package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/trained"
)

// ErrNotSaved: what a run made could not be written into its folder.
var ErrNotSaved = errors.New("train: not saved")

// pauses are between the attempts to save. A disk is full for as long as somebody takes to notice.
var pauses = []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute}

// saving is something that a run leaves in its folder.
type saving struct {
	what  string
	file  string // below the folder
	bytes int    // that it takes, about
	write func(dir string) error
	// apart says that it may be kept in another folder. It is made of what was released alone, and
	// the ledger, which is not moved, holds all of that already.
	apart bool
}

// persist saves, and tries again after each of the pauses while the system refuses. What cannot be
// saved in the end is written elsewhere where that may be. The error says how to go on.
func (r *Run) persist(s saving) error {
	ctx := r.ctx
	if ctx == nil {
		return s.write(r.Dir) // before the first step there is nothing to be lost
	}
	err := s.write(r.Dir)
	for i, pause := range pauses {
		if !bySystem(err) || ctx.Err() != nil {
			break
		}
		r.waiting(fmt.Sprintf("%s cannot be saved: %v; it needs %s, and the disk of %s has %s free: make room there, such as by deleting checkpoints of finished runs; trying again in %v, attempt %d of %d, ctrl-C ends the waiting",
			s.what, err, size(int64(s.bytes)), r.Dir, freeOn(r.Dir), pause, i+1, len(pauses)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		err = s.write(r.Dir)
	}
	if !bySystem(err) {
		return err
	}
	return r.unsaved(s, err)
}

// again is the command that goes on with the run, to be copied.
func (r *Run) again() string { return "`train resume " + folder.Argument(r.Dir) + r.where + "`" }

// unsaved keeps elsewhere what may be there, and says how to go on.
func (r *Run) unsaved(s saving, err error) error {
	room := fmt.Sprintf("make room for %s on the disk of %s", size(int64(s.bytes)), r.Dir)
	goOn := "go on with " + r.again()
	if s.apart {
		if dir, ok := r.elsewhere(s); ok {
			return fmt.Errorf("%w: %s after step %d: %w; it is kept in %s: %s, move that file to %s, and %s", ErrNotSaved, s.what, r.step, err,
				filepath.Join(dir, s.file), room, r.path(s.file), goOn)
		}
	}
	lost := ""
	if n := r.step - r.saved; n > 0 {
		lost = fmt.Sprintf("; the ledger counts %d steps that no checkpoint holds", n)
	}
	return fmt.Errorf("%w: %s after step %d: %w%s: %s, and %s", ErrNotSaved, s.what, r.step, err, lost, room, goOn)
}

// elsewhere writes into a folder of the user's alone, on what may be another disk.
func (r *Run) elsewhere(s saving) (dir string, ok bool) {
	parents := []string{os.TempDir()}
	if home, err := os.UserHomeDir(); err == nil {
		parents = append(parents, home)
	}
	for _, parent := range parents {
		dir, err := os.MkdirTemp(parent, "dpsgd-"+r.name()+"-") // permissions 0700
		if err != nil {
			continue
		}
		if s.write(dir) == nil {
			return dir, true
		}
		os.RemoveAll(dir)
	}
	return "", false
}

// bySystem reports whether the system refused, as it does where a disk is full: waiting may help.
func bySystem(err error) bool { return errors.As(err, new(syscall.Errno)) }

// rescue saves the steps since the last checkpoint when a run has to end for an error.
func (r *Run) rescue(err error) error {
	if !bySystem(err) || r.tried == r.step && r.saved != r.step {
		return err // no failure of a disk, or that of this step's checkpoint, which says how to go on
	}
	if r.saved == r.step {
		return fmt.Errorf("%w; step %d is saved, go on with %s", err, r.step, r.again())
	}
	if failed := r.save(); failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("%w; saved after step %d, go on with %s", err, r.step, r.again())
}

// save writes a checkpoint of the current step.
func (r *Run) save() error {
	state := r.update.State()
	r.mean.Keep(state.Slots)
	if r.featureMean != nil {
		state.Slots[trained.MeanOfFeatures] = r.featureMean
	}
	r.keepClipNorm(state.Slots)
	values := len(r.model.Values)
	for _, slot := range state.Slots {
		values += len(slot)
	}
	r.tried = r.step
	name := filepath.Join(folder.Checkpoints, checkpoints.FileName(r.step))
	err := r.persist(saving{"the checkpoint", name, 4*values + 1024, func(dir string) error {
		_, err := saveState(filepath.Join(dir, folder.Checkpoints), &checkpoints.State{
			Step: r.step, Parameters: r.model.Values,
			OptimizerStep: state.Step, Slots: state.Slots,
			LedgerEntries: r.journal.Len(), LedgerHash: r.journal.Hash(), PlanHash: r.planHash,
		})
		return err
	}, true})
	if err != nil {
		return fmt.Errorf("train: step %d: %w", r.step, err)
	}
	r.saved = r.step
	return nil
}

// saveState is a variable so that tests can have disks that are full.
var saveState = checkpoints.Save

// waiting tells that a person has to do something.
func (r *Run) waiting(message string) {
	if r.waits != nil {
		r.waits(message)
		return
	}
	r.watcher.Warned(message)
}

// size writes a number of bytes for people.
func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// freeOn is how much room a disk has.
func freeOn(dir string) string {
	if free, ok := checkpoints.Free(dir); ok {
		return size(free)
	}
	return "an unknown number of bytes"
}
