package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
)

// ErrNotSaved: what a run made could not be written into its folder.
var ErrNotSaved = errors.New("train: not saved")

// Pauses are between the attempts to save. A disk is full for as long as somebody takes to notice.
var Pauses = []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute}

// Saving is something that a run leaves in its folder.
type Saving struct {
	What  string
	File  string // below the folder
	Bytes int    // that it takes, about
	Write func(dir string) error
	// Apart says that it may be kept in another folder. It is made of what was released alone, and
	// the ledger, which is not moved, holds all of that already.
	Apart bool
}

// Keep writes s into the run's folder. Where the system refuses, it waits, tries again, and in the
// end says how to go on: see settle.
func (r *Run) Keep(s Saving) error { return r.settle(s, s.Write(r.Dir)) }

// settle takes what came of an attempt to save, and tries again after each of the pauses while the
// system refuses. What cannot be saved in the end is written elsewhere where that may be. The error
// says how to go on.
func (r *Run) settle(s Saving, err error) error {
	ctx := r.ctx
	if ctx == nil {
		return err // before the first step there is nothing to be lost
	}
	for i, pause := range Pauses {
		if !Refused(err) || ctx.Err() != nil {
			break
		}
		r.waiting(fmt.Sprintf("%s cannot be saved: %v; it needs %s, and the disk of %s has %s free: make room there, such as by deleting checkpoints of finished runs; trying again in %v, attempt %d of %d, ctrl-C ends the waiting",
			s.What, err, Size(int64(s.Bytes)), r.Dir, FreeOn(r.Dir), pause, i+1, len(Pauses)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		err = s.Write(r.Dir)
	}
	if !Refused(err) {
		return err
	}
	return r.unsaved(s, err)
}

// waiting tells that a person has to do something.
func (r *Run) waiting(message string) {
	if r.options.Waits != nil {
		r.options.Waits(message)
		return
	}
	r.Warn(message)
}

// again is the command that goes on with the run, to be copied.
func (r *Run) again() string {
	return "`train resume " + folder.Argument(r.Dir) + r.options.Flags() + "`"
}

// unsaved keeps elsewhere what may be there, and says how to go on.
func (r *Run) unsaved(s Saving, err error) error {
	room := fmt.Sprintf("make room for %s on the disk of %s", Size(int64(s.Bytes)), r.Dir)
	goOn := "go on with " + r.again()
	if s.Apart {
		if dir, ok := Elsewhere(r.Name(), s.Write); ok {
			return fmt.Errorf("%w: %s after step %d: %w; it is kept in %s: %s, move that file to %s, and %s", ErrNotSaved, s.What, r.Step, err,
				filepath.Join(dir, s.File), room, r.Path(s.File), goOn)
		}
	}
	lost := ""
	if n := r.Step - r.saved; n > 0 && r.Books != nil {
		lost = fmt.Sprintf("; the ledger counts %d steps that no checkpoint holds", n)
	}
	return fmt.Errorf("%w: %s after step %d: %w%s: %s, and %s", ErrNotSaved, s.What, r.Step, err, lost, room, goOn)
}

// rescue saves the steps since the last checkpoint when a run has to end for an error.
func (r *Run) rescue(err error) error {
	if err == nil {
		return nil
	}
	if failed := r.Order.Wait(); failed != nil {
		return errors.Join(err, failed)
	}
	switch {
	case !Refused(err) || r.tried == r.Step && r.saved != r.Step:
		return err // no failure of a disk, or that of this step's checkpoint, which says how to go on
	case errors.Is(err, ErrNotSaved) && r.saved == r.Step:
		return err
	case r.saved == r.Step:
		return fmt.Errorf("%w; step %d is saved, go on with %s", err, r.Step, r.again())
	}
	if failed := r.Save(); failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("%w; saved after step %d, go on with %s", err, r.Step, r.again())
}

// Save writes a checkpoint of the current step, unless one is being written, and returns when it is
// durable.
func (r *Run) Save() error {
	if !r.Order.Pending() {
		if err := r.beginSave(); err != nil {
			return err
		}
	}
	return r.Order.Wait()
}

// beginSave begins to write a checkpoint of the current step. The next step's event waits for it,
// and so does the noise, before which nothing changes what is written.
func (r *Run) beginSave() error {
	state := r.job.State()
	if state == nil {
		r.saved, r.tried = r.Step, r.Step
		return nil
	}
	s, step := r.checkpoint(state), r.Step
	r.tried = step
	return r.Order.Save(func() error { return s.Write(r.Dir) }, func(err error) error {
		if err := r.settle(s, err); err != nil {
			return fmt.Errorf("train: step %d: %w", step, err)
		}
		r.saved = step
		return nil
	})
}

// checkpoint saves the state of the current step.
func (r *Run) checkpoint(state *checkpoints.State) Saving {
	state.Step = r.Step
	if state.PlanHash == "" {
		state.PlanHash = r.PlanHash
	}
	if r.Books != nil {
		state.LedgerEntries, state.LedgerHash = r.Books.Len(), r.Books.Hash()
	}
	values := len(state.Parameters)
	for _, slot := range state.Slots {
		values += len(slot)
	}
	began := r.Began
	return Saving{"the checkpoint", filepath.Join(folder.Checkpoints, checkpoints.FileName(r.Step)), 4*values + 1024, func(dir string) error {
		path, err := SaveState(filepath.Join(dir, folder.Checkpoints), state)
		if err == nil {
			// Else the times of two checkpoints would tell how long the step between them took, and
			// so how large its batch was. A file that keeps its own time is as good to go on from.
			_ = os.Chtimes(path, began, began)
		}
		return err
	}, true}
}

// SaveState is a variable so that tests can have disks that are full.
var SaveState = checkpoints.Save

// Statement returns the privacy statement about all releases, whose cost is claimed, as far as it
// is the same for every kind of run.
func (r *Run) Statement(status Status, claimed account.Claim, together statement.Together) statement.Statement {
	d, choices := r.Registered.Data, account.Choices(claimed.Ledger)
	s := statement.Statement{
		Run: r.Name(), Status: string(status), Relation: claimed.Relation.String(),
		Answer: claimed.Answer(), Method: claimed.Method, Released: claimed.Released, Repeated: choices - account.Choices(r.Books.Ledger()),
		LedgerEntries: r.Books.Len(), LedgerHead: r.Books.Hash(), Together: together,
		Data: d.Name, Examples: d.Examples, Shape: d.Shape, Classes: d.Classes,
	}
	if s.Released != nil {
		s.ClaimedEntries = claimed.Ledger.Count() - choices
	}
	return s
}

// Publish writes the privacy statement, about the model that the folder holds.
func (r *Run) Publish(s statement.Statement) (err error) {
	if folder.HoldsAny(r.Dir, folder.Model) {
		if s.ModelSHA256, err = folder.SHA256(r.Path(folder.Model)); err != nil {
			return err
		}
	}
	return r.Keep(Saving{"the privacy statement", folder.Statement, 1 << 16, s.Write, false})
}

// Refused reports whether the system refused, as it does where a disk is full: waiting may help. It
// brings back no folder that was deleted.
func Refused(err error) bool {
	return errors.As(err, new(syscall.Errno)) && !errors.Is(err, fs.ErrNotExist)
}

// Elsewhere writes into a new folder of the user's alone, on what may be another disk. Name is a
// part of its name.
func Elsewhere(name string, write func(dir string) error) (dir string, ok bool) {
	parents := []string{os.TempDir()}
	if home, err := os.UserHomeDir(); err == nil {
		parents = append(parents, home)
	}
	for _, parent := range parents {
		dir, err := os.MkdirTemp(parent, "dpsgd-"+name+"-") // permissions 0700
		if err != nil {
			continue
		}
		if write(dir) == nil {
			return dir, true
		}
		os.RemoveAll(dir)
	}
	return "", false
}

// Size writes a number of bytes for people.
func Size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// FreeOn tells people how much room the disk of a folder has.
func FreeOn(dir string) string {
	if free, ok := checkpoints.Free(dir); ok {
		return Size(free)
	}
	return "an unknown number of bytes"
}
