package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
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

// persist saves, see settle.
func (r *Run) persist(s saving) error { return r.settle(s, s.write(r.Dir)) }

// settle takes what came of an attempt to save, and tries again after each of the pauses while the
// system refuses. What cannot be saved in the end is written elsewhere where that may be. The error
// says how to go on.
func (r *Run) settle(s saving, err error) error {
	ctx := r.ctx
	if ctx == nil {
		return err // before the first step there is nothing to be lost
	}
	for i, pause := range pauses {
		if !run.Refused(err) || ctx.Err() != nil {
			break
		}
		r.waiting(fmt.Sprintf("%s cannot be saved: %v; it needs %s, and the disk of %s has %s free: make room there, such as by deleting checkpoints of finished runs; trying again in %v, attempt %d of %d, ctrl-C ends the waiting",
			s.what, err, run.Size(int64(s.bytes)), r.Dir, run.FreeOn(r.Dir), pause, i+1, len(pauses)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		err = s.write(r.Dir)
	}
	if !run.Refused(err) {
		return err
	}
	return r.unsaved(s, err)
}

// again is the command that goes on with the run, to be copied.
func (r *Run) again() string { return "`train resume " + folder.Argument(r.Dir) + r.where + "`" }

// unsaved keeps elsewhere what may be there, and says how to go on.
func (r *Run) unsaved(s saving, err error) error {
	room := fmt.Sprintf("make room for %s on the disk of %s", run.Size(int64(s.bytes)), r.Dir)
	goOn := "go on with " + r.again()
	if s.apart {
		if dir, ok := run.Elsewhere(r.name(), s.write); ok {
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

// rescue saves the steps since the last checkpoint when a run has to end for an error.
func (r *Run) rescue(err error) error {
	if failed := r.order.Wait(); failed != nil {
		return errors.Join(err, failed)
	}
	if !run.Refused(err) || r.tried == r.step && r.saved != r.step {
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

// save writes a checkpoint of the current step, unless one is being written, and returns when it is
// durable.
func (r *Run) save() error {
	if !r.order.Pending() {
		if err := r.beginSave(); err != nil {
			return err
		}
	}
	return r.order.Wait()
}

// beginSave begins to write a checkpoint of the current step. The next step's event waits for it,
// and so does the noise, before which nothing changes what is written.
func (r *Run) beginSave() error {
	s, step := r.checkpoint(), r.step
	r.tried = step
	return r.order.Save(func() error { return s.write(r.Dir) }, func(err error) error {
		if err := r.settle(s, err); err != nil {
			return fmt.Errorf("train: step %d: %w", step, err)
		}
		r.saved = step
		return nil
	})
}

// checkpoint is that of the current step.
func (r *Run) checkpoint() saving {
	state := r.update.View()
	r.mean.Keep(state.Slots)
	if r.featureMean != nil {
		state.Slots[trained.MeanOfFeatures] = r.featureMean
	}
	r.keepClipNorm(state.Slots)
	r.keepRanks(state.Slots)
	values := len(r.model.Values)
	for _, slot := range state.Slots {
		values += len(slot)
	}
	made := &checkpoints.State{
		Step: r.step, Parameters: r.model.Values,
		OptimizerStep: state.Step, Slots: state.Slots,
		LedgerEntries: r.journal.Len(), LedgerHash: r.journal.Hash(), PlanHash: r.planHash,
	}
	name, started := filepath.Join(folder.Checkpoints, checkpoints.FileName(r.step)), r.started
	return saving{"the checkpoint", name, 4*values + 1024, func(dir string) error {
		path, err := saveState(filepath.Join(dir, folder.Checkpoints), made)
		if err == nil {
			// Else the times of two checkpoints would tell how long the step between them took, and so
			// how large its batch was. A file that keeps its own time is as good to go on from.
			_ = os.Chtimes(path, started, started)
		}
		return err
	}, true}
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
