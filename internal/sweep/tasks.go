package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
)

// A task trains some trials of a sweep, on a machine of its own perhaps, beside other tasks with
// the same folder of runs. It writes no file that another one writes: for each trial its run, which
// is apart from the others (books.Collect), and its row, in the folder of the run. The one file
// that all need, what the sweep is and what it drew, is made once, by the task that comes first.
// Whoever collects writes the rest.

// lockEnd is the end of the name of the file that is locked by the process that trains a trial.
const lockEnd = ".lock"

// Incomplete is the status of a sweep that was collected before all of its trials had a result.
const Incomplete run.Status = "incomplete"

// ErrNoTrial is matched where a task was asked for a trial that the sweep does not have.
var ErrNoTrial = errors.New("train: no such trial")

// Share says which trials a task trains: number First, First+Every, First+2·Every and so on,
// counted from 1. If Every is 0, it is trial First alone.
type Share struct {
	First, Every int
}

// of returns the numbers of the share's trials, of so many. The list may be empty if there are more
// tasks than trials; a single trial must exist.
func (h Share) of(trials int) ([]int, error) {
	if h.Every == 0 {
		if h.First < 1 || h.First > trials {
			return nil, fmt.Errorf("%w: found trial %d, expected one from 1 to %d, as many as the sweep has", ErrNoTrial, h.First, trials)
		}
		return []int{h.First}, nil
	}
	numbers := []int{}
	for n := h.First; n <= trials; n += h.Every {
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// ours reports whether this process is to carry out trial i, counted from 0.
func (s *sweep) ours(i int) bool { return s.numbers == nil || slices.Contains(s.numbers, i+1) }

// TaskResult is the report of a task at its end.
type TaskResult struct {
	Sweep   string      `json:"sweep"`
	Status  run.Status  `json:"status"` // run.Done or run.Interrupted
	Trials  int         `json:"trials"` // of the sweep
	Numbers []int       `json:"numbers"`
	Rows    []books.Row `json:"rows"` // of the task's trials
}

// RunTask trains the trials of a share, as [Run] does all of them: a trial with a result is not
// repeated, one that was under way goes on. Its results are in the folders of its trials until
// somebody collects them.
func RunTask(ctx context.Context, file *configs.Sweep, share Share, o Options) (TaskResult, error) {
	s := newSweep(file, o)
	if err := s.join(share); err != nil {
		return TaskResult{}, err
	}
	var err error
	if s.numbers, err = share.of(len(s.trials)); err != nil {
		return TaskResult{}, err
	}
	if err := s.readResults(); err != nil {
		return TaskResult{}, err
	}
	s.announce()
	status, err := s.train(ctx)
	return TaskResult{s.dir, status, len(s.trials), s.numbers, s.finishedRows()}, err
}

// join makes sure that the folder belongs to this sweep, or makes it do so. Of tasks that come at
// the same time one takes the folder, and all train what that one drew; nobody saw the draws of the
// others.
func (s *sweep) join(share Share) error {
	for {
		first := !folder.HoldsAny(s.dir, folder.Sweep)
		if err := s.plan(); err != nil {
			return err
		}
		// A share that does not fit is refused before anything is written; but a draw is kept
		// before anything is said of it.
		if _, err := share.of(len(s.trials)); err != nil && s.file.DrawnFrom() == "" {
			return err
		}
		err := s.joinAs()
		if err == nil {
			return s.leaveLock()
		}
		if !first || !folder.HoldsAny(s.dir, folder.Sweep) {
			return err
		}
	}
}

// leaveLock makes the lock file of a whole sweep without taking the lock. It marks the folder as a
// sweep's, whose trials count, if sweep.json is lost.
func (s *sweep) leaveLock() error {
	f, err := disk.System.OpenFile(filepath.Join(s.dir, folder.SweepLock), os.O_RDWR|os.O_CREATE, folder.FilePerm)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// joinAs tries once to join the folder's sweep, or to begin one there, with the planned trials.
func (s *sweep) joinAs() error {
	if folder.HoldsAny(s.dir, ".") {
		if claimed, err := s.claim(); err != nil || claimed {
			return err
		}
	}
	if _, err := s.inspect(); err != nil {
		return err // of a sweep whose folder is gone
	}
	if err := s.makeDir(); err != nil {
		return err
	}
	id, err := books.EnsureDatasets(s.registry)
	if err != nil {
		return err
	}
	return s.claimNew(id)
}

// gather brings the ledgers of finished trials that tasks trained into the ledger of the data.
func (s *sweep) gather() error {
	var dirs []string
	for _, row := range s.finishedRows() {
		dirs = append(dirs, filepath.Join(s.dir, row.Trial))
	}
	return books.Collect(s.registry, dirs, func(dir string) (func() error, error) {
		lock, err := checkpoints.TakeLock(dir + lockEnd)
		if err != nil {
			return nil, err
		}
		return lock.Remove, nil
	})
}

// Missing is a trial without a result.
type Missing struct {
	Number   int    `json:"number"` // from 1
	Trial    string `json:"trial"`
	Releases int    `json:"releases"` // made by now; they count
}

// Numbers writes numbers of trials as job schedulers take them, such as 3,7-9.
func Numbers(list []int) string {
	var b strings.Builder
	for i := 0; i < len(list); i++ {
		from := i
		for i+1 < len(list) && list[i+1] == list[i]+1 {
			i++
		}
		if from > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, list[from])
		if i > from {
			fmt.Fprintf(&b, "-%d", list[i])
		}
	}
	return b.String()
}

// missing lists the trials without a result.
func (s *sweep) missing(members map[string]checkpoints.Member) (list []Missing) {
	for i, t := range s.trials {
		if _, finished := s.rows[t.Name]; !finished {
			list = append(list, Missing{Number: i + 1, Trial: t.Name, Releases: members[t.Name].Entries})
		}
	}
	return list
}

func (s *sweep) writeOwnRow(row books.Row) error {
	line, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("train: result of trial %s: %w", row.Trial, err)
	}
	return checkpoints.WriteFileAtomic(filepath.Join(s.dir, row.Trial, folder.Row), append(line, '\n'), folder.FilePerm)
}

// takeOwnRow adds to rows the row that a task left in the folder of trial i, if there is one. A row
// of that trial in rows stays if it has as many releases.
func (s *sweep) takeOwnRow(rows map[string]books.Row, i int) error {
	t := s.trials[i]
	own, err := books.ReadRow(filepath.Join(s.dir, t.Name))
	if err != nil || own == nil {
		return err
	}
	if own.Trial != t.Name {
		return fmt.Errorf("train: %s: found the result of trial %s, expected that of this trial; without the file the trial is measured again but not trained again: %w", filepath.Join(s.dir, t.Name, folder.Row), own.Trial, checkpoints.ErrCorrupt)
	}
	if known, there := rows[t.Name]; !there || known.LedgerEntries < own.LedgerEntries {
		own.Settings = t.Settings
		rows[t.Name] = *own
	}
	return nil
}
