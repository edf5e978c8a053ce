package sweep

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

const taskSweep = `
name: sweep
base: base.yaml
grid:
  privacy.clip_norm: [0.1, 1]
  privacy.noise_multiplier: [1, 2, 4]
seeds: [1, 2]
`

func task(t testing.TB, s *configs.Sweep, share Share, o Options) TaskResult {
	t.Helper()
	r, err := RunTask(t.Context(), s, share, o)
	if err != nil {
		t.Error(err)
	}
	return r
}

func collected(t testing.TB, s *configs.Sweep, o Options) Result {
	t.Helper()
	return tiny.Must(Collect(t.Context(), s, o))(t)
}

func shown(t testing.TB, runs string) books.Total {
	t.Helper()
	totals, err := books.Show(runs)
	if err != nil || len(totals.Datasets) != 1 {
		t.Fatalf("found %+v (%v), expected one data set", totals, err)
	}
	return totals.Datasets[0]
}

// A sweep by four tasks at the same time, collected, is the sweep by one process: the same rows in
// the same order, the same costs, the same ledger of the data; and nothing of the tasks is left
// beside it. Collected again, it is the same to the byte.
func TestTasksAreASweep(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, taskSweep), sweepOptions(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if r := task(t, s, Share{i + 1, 4}, o); r.Status != run.Done || len(r.Rows) != 3 || r.Trials != 12 || !slices.Equal(r.Numbers, []int{i + 1, i + 5, i + 9}) {
				t.Errorf("task %d: found %+v", i+1, r)
			}
		})
	}
	all.Wait()
	uncollected := shown(t, o.RunsDir)
	r := collected(t, s, o)
	whole := sweepOptions(t)
	serial := runSweep(t, s, whole)
	if r.Status != run.Done || len(r.Missing) > 0 || len(r.Rows) != 12 || *r.Composed != *serial.Composed {
		t.Errorf("found %+v, expected %+v", r, serial)
	}
	for i, row := range r.Rows {
		if w := serial.Rows[i]; row.Trial != w.Trial || row.Epsilon != w.Epsilon || row.Steps != w.Steps || row.LedgerEntries != w.LedgerEntries {
			t.Errorf("row %d is %+v, expected %+v", i, row, w)
		}
	}
	want := shown(t, whole.RunsDir)
	for _, found := range []books.Total{uncollected, shown(t, o.RunsDir)} {
		if found.Releases != want.Releases || found.Answer != want.Answer || len(found.Runs) != 12 {
			t.Errorf("the ledger of the data says %+v, expected %+v", found, want)
		}
	}
	if _, err := books.Verify(o.RunsDir, ""); err != nil {
		t.Error(err)
	}
	if found, want := names(t, o.RunsDir), names(t, whole.RunsDir); !slices.Equal(found, want) {
		t.Errorf("found the files %v, expected %v", found, want)
	}
	before := tiny.Snapshot(t, o.RunsDir)
	collected(t, s, o)
	task(t, s, Share{First: 5}, o)
	if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
		t.Errorf("collected twice, or a finished trial as a task again: %v changed", changed(before, tiny.Snapshot(t, o.RunsDir)))
	}
}

// names lists the files of a folder of runs, without the rows that tasks leave in the folders of
// trials.
func names(t testing.TB, dir string) (list []string) {
	for path := range tiny.Snapshot(t, dir) {
		if relative, err := filepath.Rel(dir, path); err == nil {
			path = relative
		}
		if filepath.Base(path) != folder.Row {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// Killed tasks go on from their checkpoints. What they had released counts: before they go on, in
// between, and after, each release once.
func TestKilledTasks(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, taskSweep), sweepOptions(t)
	killTask(t, s, Share{1, 4}, o, 5, 8) // checkpoints are at 5 and 10: repeats 3 steps
	killTask(t, s, Share{2, 4}, o, 2, 3) // … 3 steps
	for _, share := range []Share{{3, 4}, {4, 4}} {
		task(t, s, share, o)
	}
	const there = 12 + 8 + 3 + 6*12
	if found := shown(t, o.RunsDir).Releases; found != there {
		t.Errorf("found %d releases before anything is collected, expected %d", found, there)
	}
	r := collected(t, s, o)
	missing := []Missing{{2, r.Missing[0].Trial, 3}, {5, r.Missing[1].Trial, 8}, {6, r.Missing[2].Trial, 0}, {9, r.Missing[3].Trial, 0}, {10, r.Missing[4].Trial, 0}}
	if r.Status != Incomplete || r.Finished != 7 || r.Composed.Releases != there || !slices.Equal(r.Missing, missing) {
		t.Errorf("found %+v, expected 7 results and %v missing", r, missing)
	}
	if report := tiny.Read(t, filepath.Join(r.Sweep, folder.Report)); !strings.Contains(report, "Without a result: 5 of 12 trials, 2,5-6,9-10.\nWhat they have released by now, 11 times") {
		t.Errorf("the report does not say what is missing:\n%s", report)
	}
	if found := shown(t, o.RunsDir).Releases; found != there {
		t.Errorf("found %d releases when a part is collected, expected %d", found, there)
	}
	// A run beside the sweep counts them, too.
	beside := tinyrun.Fit(t, tinyrun.Create(t, tiny.Parse(t), train.Options{Options: run.Options{Request: o.Request, RunsDir: o.RunsDir, Folder: "beside"}}))
	if beside.DatasetReleases != there+12 {
		t.Errorf("found %d releases in the statement of another run, expected %d", beside.DatasetReleases, there+12)
	}
	for _, share := range []Share{{1, 4}, {2, 4}} {
		task(t, s, share, o)
	}
	if r := collected(t, s, o); r.Status != run.Done || r.Composed.Releases != 12*12 || shown(t, o.RunsDir).Releases != 13*12 {
		t.Errorf("found %d releases of the sweep and %d in all, expected %d and %d", r.Composed.Releases, shown(t, o.RunsDir).Releases, 12*12, 13*12)
	}
}

// A whole sweep goes on with what tasks began and left, finished or not.
func TestSweepGoesOnWithTasks(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)
	task(t, s, Share{First: 2}, o)
	killTask(t, s, Share{First: 1}, o, 1, 8)
	if r := runSweep(t, s, o); r.Finished != 2 || r.Composed.Releases != 12+12 || shown(t, o.RunsDir).Releases != 12+12 {
		t.Errorf("found %+v, expected 24 releases", r)
	}
	if folder.HoldsAny(o.RunsDir, folder.Uncollected) {
		t.Error("something is left uncollected")
	}
}

// A collection that is killed before it removes what it has brought home, and a trial that somebody
// resumes by itself before it is collected: every release still counts once.
func TestCollectedTwice(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)
	task(t, s, Share{First: 2}, o)
	killTask(t, s, Share{First: 1}, o, 1, 8)
	apart := filepath.Join(o.RunsDir, folder.Uncollected)
	kept := filepath.Join(t.TempDir(), "kept")
	copyFolder(t, kept, apart)
	collected(t, s, o)
	tiny.Check(t, os.RemoveAll(apart))
	copyFolder(t, apart, kept)
	for range 2 {
		if r := collected(t, s, o); r.Composed.Releases != 12+8 || shown(t, o.RunsDir).Releases != 12+8 {
			t.Errorf("found %d releases, expected 20", r.Composed.Releases)
		}
	}
	resumed := tinyrun.Fit(t, tinyrun.Open(t, filepath.Join(o.RunsDir, "sweep", "clip_norm=0.1"), train.Options{Options: run.Options{Request: o.Request, RunsDir: o.RunsDir}}))
	if n := shown(t, o.RunsDir).Releases; n != 12+12 || resumed.DatasetReleases != n {
		t.Errorf("found %d releases, %d in the statement of the resumed run, expected 24", n, resumed.DatasetReleases)
	}
	task(t, s, Share{First: 1}, o)
	if r := collected(t, s, o); r.Status != run.Done || r.Composed.Releases != 24 || shown(t, o.RunsDir).Releases != 24 || folder.HoldsAny(o.RunsDir, folder.Uncollected) {
		t.Errorf("found %+v, expected 24 releases and nothing uncollected", r)
	}
}

// Tasks that begin a sweep at the same time train the points of one draw.
func TestTasksDrawOnce(t *testing.T) {
	const search = "name: sweep\nbase: base.yaml\nrandom: {privacy.clip_norm: {log_uniform: [0.1, 1]}}\ntrials: {distribution: geometric, mean: 3}\n"
	for range slow.Number(t, "DPSGD_TEST_DRAWS", 2, 5) {
		s, o := sweepOf(t, inAll, search), sweepOptions(t)
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() { task(t, s, Share{i + 1, 6}, o) })
		}
		all.Wait()
		r := collected(t, s, o)
		if r.Status != run.Done || r.Finished != r.Trials || r.Selected == nil {
			t.Errorf("found %+v, expected all trials and the cost of the best", r)
		}
		if check, err := books.Verify(o.RunsDir, ""); err != nil || check.Releases != 12*r.Trials {
			t.Errorf("found %+v (%v), expected the releases of %d trials", check, err, r.Trials)
		}
	}
}

// The same trial as two tasks at a time: the second is turned away in one line.
func TestTrialIsOneTask(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)
	twin := o
	o.Watcher = Watcher{TrialStepped: func(_ TrialOverview, p train.Progress) {
		if p.Step != 3 {
			return
		}
		_, err := RunTask(context.Background(), s, Share{First: 1}, twin)
		if !errors.Is(err, checkpoints.ErrLocked) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "trial clip_norm=0.1: ") {
			t.Errorf("found error %v, expected one line that matches ErrLocked", err)
		}
		task(t, s, Share{First: 2}, twin) // which is free
		if r := collected(t, s, twin); r.Composed.Releases != 3+12 {
			t.Errorf("collected %d releases while a trial is under way, expected 15", r.Composed.Releases)
		}
	}}
	task(t, s, Share{First: 1}, o)
	if r := collected(t, s, o); r.Composed.Releases != 24 || r.Status != run.Done {
		t.Errorf("found %+v, expected 24 releases", r)
	}
}

// A trial whose folder is gone is refused by all that would forget it, and by all that begin anew.
func TestLostTrialOfATask(t *testing.T) {
	for _, lost := range []string{"sweep/clip_norm=0.1", "sweep"} {
		s, o := sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)
		killTask(t, s, Share{First: 1}, o, 1, 8)
		tiny.Check(t, os.RemoveAll(filepath.Join(o.RunsDir, lost)))
		before := tiny.Snapshot(t, o.RunsDir)
		_, again := RunTask(t.Context(), s, Share{First: 1}, o)
		_, collect := Collect(t.Context(), s, o)
		_, serial := Run(t.Context(), s, o)
		for _, err := range []error{again, collect, serial} {
			if !errors.Is(err, checkpoints.ErrRollback) || !strings.Contains(err.Error(), folder.Uncollected) {
				t.Errorf("without %s: found error %v, expected ErrRollback and the ledger that says so", lost, err)
			}
		}
		if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
			t.Errorf("without %s: a refused command changed something", lost)
		}
	}
}

func TestShares(t *testing.T) {
	for _, test := range []struct {
		share Share
		want  string
	}{
		{Share{First: 5}, "5"}, {Share{First: 12}, "12"}, {Share{1, 4}, "1,5,9"}, {Share{4, 4}, "4,8,12"}, {Share{5, 5}, "5,10"},
		{Share{1, 1}, "1-12"}, {Share{13, 20}, ""}, {Share{First: 13}, "error"}, {Share{}, "error"},
	} {
		numbers, err := test.share.of(12)
		found := Numbers(numbers)
		if errors.Is(err, ErrNoTrial) {
			found = "error"
		}
		if found != test.want {
			t.Errorf("%+v: found %q, expected %q", test.share, found, test.want)
		}
	}
	o := sweepOptions(t)
	if _, err := RunTask(t.Context(), sweepOf(t, tiny.Config, smallSweep), Share{First: 3}, o); !errors.Is(err, ErrNoTrial) || folder.HoldsAny(filepath.Dir(o.RunsDir), "runs") {
		t.Errorf("found error %v, expected that a trial which is none is refused before anything is written", err)
	}
	if found := Numbers([]int{1, 2, 4, 7, 8, 9}); found != "1-2,4,7-9" {
		t.Error(found)
	}
}

// However often a sweep is collected while its tasks work, the total never shrinks, and ends as the
// total of one process.
func TestCollectWhileTasksWork(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, taskSweep), sweepOptions(t)
	halfway := make(chan struct{}, 1)
	watched := o
	watched.Watcher = Watcher{TrialStepped: func(_ TrialOverview, p train.Progress) {
		select {
		case halfway <- struct{}{}:
		default: // a collection is about to begin
		}
	}}
	var tasks sync.WaitGroup
	for i := range 3 {
		tasks.Go(func() { task(t, s, Share{i + 1, 3}, watched) })
	}
	go func() { tasks.Wait(); close(halfway) }()
	least, n := 0., 0
	for range halfway {
		if n++; n%8 != 1 {
			continue
		}
		r, err := Collect(t.Context(), s, o)
		if err != nil {
			t.Error(err)
			break
		}
		if r.Composed != nil {
			if r.Composed.Epsilon < least*(1-1e-12) {
				t.Errorf("found ε = %v after %v", r.Composed.Epsilon, least)
			}
			least = math.Max(least, r.Composed.Epsilon)
		}
	}
	tasks.Wait()
	if r := collected(t, s, o); r.Composed.Releases != 144 || shown(t, o.RunsDir).Releases != 144 {
		t.Errorf("found %d releases, expected 144", r.Composed.Releases)
	}
}

// A trial that somebody else has trained since a process read the results is not trained again: one
// that diverged would go on from its last checkpoint with new noise.
func TestTrialsOfOthersAreNotRepeated(t *testing.T) {
	s := sweepOf(t, tiny.Config, "name: sweep\nbase: base.yaml\nset: {optimizer.learning_rate: 1000, optimizer.weight_decay: 100}\nseeds: [1, 2, 3]\n")
	whole := func(t *testing.T, o Options) { runSweep(t, s, o) }
	shard := func(t *testing.T, o Options) { task(t, s, Share{1, 1}, o) }
	third := func(t *testing.T, o Options) { task(t, s, Share{First: 3}, o) }
	for name, test := range map[string]struct{ one, other func(*testing.T, Options) }{
		"a task in a task": {shard, third}, "a task in a sweep": {whole, third}, "a sweep in a task": {shard, whole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := sweepOptions(t)
			watched, begun := o, map[string]bool{}
			watched.Watcher = Watcher{TrialStarted: func(o TrialOverview) { begun[o.Name] = true }, TrialFinished: func(r books.Row) {
				if !begun[r.Trial] {
					t.Errorf("trial %s ended and had not begun", r.Trial)
				}
				if len(begun) == 1 {
					test.other(t, o)
				}
			}}
			test.one(t, watched)
			for _, row := range collected(t, s, o).Rows {
				if row.Status != string(run.Diverged) || row.LedgerEntries != row.Steps {
					t.Errorf("trial %s: found %q and %d releases in %d steps, expected as many after it diverged", row.Trial, row.Status, row.LedgerEntries, row.Steps)
				}
			}
		})
	}
}

// What a trial has apart stays while somebody works at the trial, who may be about to write there.
func TestTrialAtWorkIsNotCollected(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)
	task(t, s, Share{1, 1}, o)
	lock := tiny.Must(checkpoints.TakeLock(filepath.Join(o.RunsDir, "sweep", "clip_norm=1"+lockEnd)))(t)
	for _, want := range []bool{true, false} {
		r := collected(t, s, o)
		apart := folder.HoldsAny(filepath.Join(o.RunsDir, folder.Uncollected, "sweep"), "clip_norm=1.jsonl")
		if r.Composed.Releases != 24 || apart != want {
			t.Errorf("found %d releases, and apart %v, expected 24 and %v", r.Composed.Releases, apart, want)
		}
		lock.Remove()
	}
	if folder.HoldsAny(o.RunsDir, folder.Uncollected) {
		t.Error("something is left uncollected")
	}
}

// Tasks leave a sweep that is known for one without sweep.json too, so that the ledgers of its
// trials are found and count.
func TestTrialsOfTasksWithoutSweepFile(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)
	task(t, s, Share{First: 1}, o)
	tiny.Write(t, filepath.Join(o.RunsDir, "sweep", folder.Sweep), "{")
	if _, err := books.Verify(o.RunsDir, ""); !errors.Is(err, checkpoints.ErrCorrupt) {
		t.Errorf("found %v of a damaged %s", err, folder.Sweep)
	}
	for i, lost := range []string{"sweep/" + folder.Sweep, folder.Uncollected} {
		tiny.Check(t, os.RemoveAll(filepath.Join(o.RunsDir, lost)))
		if check, err := books.Verify(o.RunsDir, ""); err != nil || check.Runs != 1 || check.Sweeps != 1 || check.Releases != 12 {
			t.Errorf("%d: found %+v (%v), expected 12 releases of a trial", i, check, err)
		}
	}
	if found := shown(t, o.RunsDir).Releases; found != 12 {
		t.Errorf("found %d releases, expected 12", found)
	}
}

// The row of another trial in a trial's folder, or of none of the sweep in its table, is refused.
func TestRowsOfOtherTrials(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)
	task(t, s, Share{1, 1}, o)
	dir := collected(t, s, o).Sweep
	own, table := filepath.Join(dir, "clip_norm=1", folder.Row), filepath.Join(dir, folder.Rows)
	for path, content := range map[string]string{own: tiny.Read(t, filepath.Join(dir, "clip_norm=0.1", folder.Row)), table: `{"trial":"clip_norm=3"}` + "\n"} {
		before := tiny.Read(t, path)
		tiny.Write(t, path, content)
		refuses(t, o.RunsDir, checkpoints.ErrCorrupt, "found ", func() error { _, err := Collect(t.Context(), s, o); return err })
		tiny.Write(t, path, before)
	}
}
