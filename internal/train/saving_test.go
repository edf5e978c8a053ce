package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/tiny"
)

// fullDisk makes checkpoints below a folder fail while full says so, as on a disk without room, and
// run.Pauses short.
func fullDisk(t *testing.T, below string, full func() bool) {
	t.Helper()
	waits := run.Pauses
	t.Cleanup(func() { run.Pauses = waits })
	run.Pauses = slices.Repeat([]time.Duration{time.Millisecond}, 3)
	saving(t, func(dir string, s *checkpoints.State, save saver) (string, error) {
		if strings.HasPrefix(dir, below) && s.Step > 0 && full() {
			return "", fmt.Errorf("checkpoints: %w", &fs.PathError{Op: "write", Path: dir, Err: syscall.ENOSPC})
		}
		return save(dir, s)
	})
}

// A disk without room is waited for, and a person is told what to do; when there is room the run
// goes on as if nothing had been.
func TestFullDiskIsWaitedFor(t *testing.T) {
	for _, every := range []string{"0", "1", "5"} {
		t.Run("every "+every, func(t *testing.T) { fullDiskIsWaitedFor(t, "run.checkpoint_every="+every) })
	}
}

func fullDiskIsWaitedFor(t *testing.T, every string) {
	o := options(t)
	var told []string
	o.Waits = func(message string) { told = append(told, message) }
	failures := 0
	fullDisk(t, o.RunsDir, func() bool { failures++; return failures <= 2 })
	result := train(t, o, every)
	if result.Status != run.Done || result.LedgerEntries != 12 || len(told) != 2 {
		t.Fatalf("found %+v after %q, expected a run that is done after two waits", result, told)
	}
	for _, part := range []string{"the checkpoint cannot be saved: ", "no space left on device", "it needs 2 KiB", "the disk of " + result.Run + " has ", "make room there", "trying again in 1ms, attempt 1 of 3, ctrl-C ends the waiting"} {
		if !strings.Contains(told[0], part) {
			t.Errorf("found %q, expected %q in it", told[0], part)
		}
	}
}

// A run whose budget is spent and of which no step was saved is an error, and no model that was
// never trained is written.
func TestNothingSavedIsAnError(t *testing.T) {
	o := options(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	t.Setenv("HOME", filepath.Join(t.TempDir(), "missing"))
	full := true
	fullDisk(t, o.RunsDir, func() bool { return full })
	r := create(t, tiny.Parse(t, "privacy.noise_multiplier=calibrated", "privacy.epsilon=3", "run.checkpoint_every=0"), o)
	if _, err := r.Fit(context.Background()); !errors.Is(err, run.ErrNotSaved) || !strings.Contains(err.Error(), "the ledger counts 12 steps that no checkpoint holds") {
		t.Fatalf("found %v, expected what was lost", err)
	}
	r.Close()
	full = false
	_, err := open(t, r.Dir, o).Fit(context.Background())
	if !errors.Is(err, run.ErrUntrained) || !strings.Contains(err.Error(), "holds 12 releases") {
		t.Errorf("found %v, expected that there is nothing to go on with", err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, folder.Model)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a model was written: %v", err)
	}
}

// While a checkpoint is being written the event of the next step has not begun, and nothing that it
// is made of changes: neither noise nor an update has come before it.
func TestCheckpointIsAheadOfTheNextEvent(t *testing.T) {
	for _, choices := range [][]string{
		nil, {"optimizer.name=adam"}, {"training.average=ema", "training.evaluate_every=3"}, {"federated.clients=100"}, {"privacy.clipping=adaptive"}, {"run.checkpoint_every=3"},
	} {
		t.Run(fmt.Sprint(choices), func(t *testing.T) {
			o, saves := options(t), 0
			var r *Run
			saving(t, func(dir string, s *checkpoints.State, save saver) (string, error) {
				copied := &checkpoints.State{Parameters: slices.Clone(s.Parameters), Slots: map[string][]float32{}}
				for name, slot := range s.Slots {
					copied.Slots[name] = slices.Clone(slot)
				}
				path, err := save(dir, s)
				time.Sleep(20 * time.Millisecond) // several steps
				if s.Step > 0 && r.Books.Len() != s.Step {
					t.Errorf("found %d events beside the checkpoint of step %d", r.Books.Len(), s.Step)
				}
				if !slices.Equal(s.Parameters, copied.Parameters) || !reflect.DeepEqual(s.Slots, copied.Slots) {
					t.Errorf("the checkpoint of step %d has changed while it was written", s.Step)
				}
				saves++
				return path, err
			})
			r = create(t, tiny.Parse(t, append([]string{"run.checkpoint_every=1"}, choices...)...), o)
			result := fit(t, r)
			if every := r.Config.Run.CheckpointEvery; result.LedgerEntries != 12 || saves != 1+12/every {
				t.Errorf("found %d events and %d checkpoints, expected 12 and the first with every %d", result.LedgerEntries, saves, every)
			}
		})
	}
}

// A checkpoint that fails while the next sum is computed ends the run without that step's event,
// and without its release.
func TestFailedCheckpointLeavesNoRelease(t *testing.T) {
	o, broken := options(t), errors.New("broken")
	saving(t, func(dir string, s *checkpoints.State, save saver) (string, error) {
		if s.Step == 5 {
			return "", broken
		}
		return save(dir, s)
	})
	var at5 []float32
	var r *Run
	o.Stepped = func(p Progress) { at5 = slices.Clone(r.Model.Values) }
	r = create(t, tiny.Parse(t, "run.checkpoint_every=1"), o)
	if _, err := r.Fit(context.Background()); !errors.Is(err, broken) {
		t.Errorf("found %v, expected that of the checkpoint", err)
	}
	if r.Books.Len() != 5 || tiny.Releases(t, r.Dir) != 5 || r.Step != 5 || !slices.Equal(r.Model.Values, at5) {
		t.Errorf("found %d events and step %d, expected 5, and the parameters of step 5", r.Books.Len(), r.Step)
	}
}

// The times of checkpoints do not tell how long steps took.
func TestCheckpointsHaveOneTime(t *testing.T) {
	r := train(t, options(t), "run.checkpoint_every=1")
	files, err := filepath.Glob(filepath.Join(r.Run, folder.Checkpoints, "*.ckpt"))
	if err != nil || len(files) != 2 {
		t.Fatalf("found %q (%v), expected two checkpoints", files, err)
	}
	var times []time.Time
	for _, f := range files {
		info := tiny.Must(os.Stat(f))(t)
		times = append(times, info.ModTime())
	}
	if !times[0].Equal(times[1]) {
		t.Errorf("found %v, expected equal times", times)
	}
}
