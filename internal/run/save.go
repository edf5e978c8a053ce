package run

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
)

// ErrNotSaved: what a run made could not be written into its folder.
var ErrNotSaved = errors.New("train: not saved")

// Pauses are the waits between attempts to save. A disk is full until somebody notices and helps.
var Pauses = []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute}

// Saving is something that a run leaves in its folder.
type Saving struct {
	What  string
	File  string // path from the run's folder
	Bytes int    // about how many it takes
	Write func(dir string) error
	// Movable says that it may be written to another folder if the run's is full: it is made of
	// releases alone, which the run's ledger holds already.
	Movable bool
}

// Keep writes s into the run's folder. Where the system refuses, it waits, tries again, and in the
// end says how to go on: see settle.
func (r *Run) Keep(s Saving) error { return r.settle(s, s.Write(r.Dir)) }

// settle finishes the saving of s, of which the first attempt returned err. While the system
// refuses, it tries again after each of the Pauses. Then it writes s elsewhere, if s may lie there,
// and the error says how to go on.
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

// waiting tells a person, in one line, that the run waits until something is mended.
func (r *Run) waiting(message string) {
	if r.options.Waits != nil {
		r.options.Waits(message)
		return
	}
	r.Warn(message)
}

// again returns the command that goes on with the run, to be copied from a message.
func (r *Run) again() string {
	return "`train resume " + folder.Argument(r.Dir) + r.options.Flags() + "`"
}

// unsaved writes s elsewhere, if it may lie there, and returns the error that says how to go on.
func (r *Run) unsaved(s Saving, err error) error {
	room := fmt.Sprintf("make room for %s on the disk of %s", Size(int64(s.Bytes)), r.Dir)
	goOn := "go on with " + r.again()
	if s.Movable {
		if dir, ok := Elsewhere(r.Name(), s.Write); ok {
			return fmt.Errorf("%w: %s after step %d: %w; it is kept in %s: %s, move that file to %s, and %s", ErrNotSaved, s.What, r.Step, err,
				filepath.Join(dir, s.File), room, r.Path(s.File), goOn)
		}
	}
	lost := ""
	if n := r.Step - r.saved; n > 0 && r.Books != nil && s.Movable { // else rescue saves the step, or says this
		lost = fmt.Sprintf("; the ledger counts %d steps that no checkpoint holds", n)
	}
	return fmt.Errorf("%w: %s after step %d: %w%s: %s, and %s", ErrNotSaved, s.What, r.Step, err, lost, room, goOn)
}

// rescue returns err, or nil. If the system refused something and the current step is in no
// checkpoint, it saves one first, because the run ends; the error then says how to go on.
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
		if err = r.settle(s, err); err == nil {
			r.saved = step
		}
		return err
	})
}

// checkpoint returns what saves state as the checkpoint of the current step.
func (r *Run) checkpoint(state *checkpoints.State) Saving {
	state.Step = r.Step
	state.PlanHash = cmp.Or(state.PlanHash, r.PlanHash)
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

// SaveState writes a checkpoint. It is a variable so that tests can have disks that are full.
var SaveState = checkpoints.Save

// Statement returns the part of the privacy statement that every kind of run has: about all
// releases of the run, whose cost is claimed.
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

// Publish writes the privacy statement s, with the hash of the model if the folder holds one.
func (r *Run) Publish(s statement.Statement) (err error) {
	if folder.HoldsAny(r.Dir, folder.Model) {
		if s.ModelSHA256, err = checkpoints.SHA256(r.Path(folder.Model)); err != nil {
			return err
		}
	}
	return r.Keep(Saving{"the privacy statement", folder.Statement, 1 << 16, s.Write, false})
}

// Refused reports whether err comes from the operating system, as for a full disk: waiting may
// help. It is false for a file or folder that is missing, which no waiting brings back.
func Refused(err error) bool {
	return errors.As(err, new(syscall.Errno)) && !errors.Is(err, fs.ErrNotExist)
}

// Elsewhere calls write with a new folder, readable by the user alone, among the temporary files or
// else in the user's home: the disk may be another. name is part of the folder's name. ok is false
// if both failed.
func Elsewhere(name string, write func(dir string) error) (dir string, ok bool) {
	parents := []string{os.TempDir()}
	if home, err := os.UserHomeDir(); err == nil {
		parents = append(parents, home)
	}
	for _, parent := range parents {
		dir := filepath.Join(parent, "dpsgd-"+name+"-"+rand.Text())
		if checkpoints.NewDir(dir) != nil {
			continue
		}
		if write(dir) == nil {
			return dir, true
		}
		disk.RemoveAll(dir)
	}
	return "", false
}

// Size returns a number of bytes as people read it, in KiB or MiB.
func Size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// FreeOn returns, as people read it, how many bytes are free on the disk of a folder.
func FreeOn(dir string) string {
	if free, ok := disk.Free(dir); ok {
		return Size(free)
	}
	return "an unknown number of bytes"
}
