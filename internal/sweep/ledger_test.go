package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

func datasets(t testing.TB, runs string) checkpoints.DatasetsInfo {
	t.Helper()
	return tiny.Must(checkpoints.ReadDatasets(filepath.Join(runs, folder.Datasets)))(t)
}

func mustShow(t testing.TB, runs string) books.Totals {
	t.Helper()
	return tiny.Must(books.Show(runs))(t)
}

// cost is ε of steps of the tiny configuration, by RDP as it says.
func cost(t testing.TB, releases int, overrides ...string) float64 {
	t.Helper()
	g := tiny.Must(tinyrun.Plan(t, overrides...).After(releases))(t)
	return g.Epsilon
}

// refuses checks that an attempt ends in an error of one line and that no byte below a folder
// changes.
func refuses(t *testing.T, dir string, match error, want string, attempt func() error) {
	t.Helper()
	before := tiny.Snapshot(t, dir)
	err := attempt()
	if err == nil || !errors.Is(err, match) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("found error %v\nexpected one line that matches %v and says %q", err, match, want)
	}
	if after := tiny.Snapshot(t, dir); !maps.Equal(before, after) {
		t.Errorf("what was refused changed on disk: %v", changed(before, after))
	}
}

// What all runs and trials on one data set cost is one question, at the least δ of them; other data
// is another.
func TestRunsOnOneDataSetAddUp(t *testing.T) {
	o := tinyrun.Options(t)
	first := tinyrun.Train(t, o)
	if first.Together != (statement.Together{}) {
		t.Errorf("the first run tells about others: %+v", first.Together)
	}
	second := tinyrun.Train(t, o, "privacy.delta=1e-5", "training.steps=8")
	all := tiny.Ledger(t, tinyrun.Plan(t).Event(0), 20)
	want := tiny.Must(account.SpentBy("rdp", all, 1e-5))(t)
	if second.Together != (statement.Together{DatasetEpsilon: second.DatasetEpsilon, DatasetFixed: want.Epsilon, DatasetDelta: 1e-5, DatasetRuns: 2, DatasetReleases: 20}) || second.DatasetEpsilon < want.Epsilon {
		t.Errorf("found %+v, expected ε = %v of 20 releases of 2 runs at δ = 1e-5", second.Together, want.Epsilon)
	}
	text := tiny.Read(t, filepath.Join(second.Run, folder.Statement))
	if !strings.Contains(text, "All 2 runs on this data") || !strings.Contains(text, "("+accountant.RoundUp(want.Epsilon, 3)+", 1e-05)-differentially private") {
		t.Errorf("the statement does not say what both cost:\n%s", text)
	}
	var s statement.Statement
	if err := json.Unmarshal([]byte(tiny.Read(t, filepath.Join(second.Run, folder.StatementData))), &s); err != nil || s.Together != second.Together {
		t.Errorf("found %+v in %s (%v)", s.Together, folder.StatementData, err)
	}
	for _, stated := range []statement.Together{first.Together, {DatasetReleases: 21}} { // of more releases if some are lost
		now, err := books.TogetherNow(first.Run, stated)
		if want := map[bool]statement.Together{true: second.Together, false: stated}[stated.DatasetReleases < 20]; err != nil || now != want {
			t.Errorf("the first run is published with %+v (%v), expected %+v", now, err, want)
		}
	}

	runSweep(t, sweepOf(t, tiny.Config, smallSweep), Options{Request: o.Request, RunsDir: o.RunsDir})
	o.Given = tiny.Source(t, tiny.Examples-30)
	tinyrun.Train(t, o, "training.steps=5")
	tiny.Check(t, os.RemoveAll(first.Run))
	shown := mustShow(t, o.RunsDir)
	if len(shown.Datasets) != 2 {
		t.Fatalf("found %d data sets, expected 2", len(shown.Datasets))
	}
	for _, total := range shown.Datasets {
		if total.Data.Examples == tiny.Examples-30 {
			if total.Releases != 5 || len(total.Runs) != 1 {
				t.Errorf("found %+v", total)
			}
			continue
		}
		want, err := account.SpentBy("rdp", tiny.Ledger(t, tinyrun.Plan(t).Event(0), 12+8+24), 1e-5)
		if err != nil || !(math.Abs(total.Fixed.Epsilon/want.Epsilon-1) <= 1e-12) || total.Epsilon <= total.Fixed.Epsilon || total.Releases != 44 || total.Delta != 1e-5 || len(total.Runs) != 4 {
			t.Errorf("found %+v (%v), expected ε = %v of 44 releases, those of the deleted run among them", total, err, want.Epsilon)
		}
		if total.Runs[0].Run != "tiny-1" || total.Runs[0].Epsilon != first.Epsilon || total.Runs[2].Run != "sweep/clip_norm=0.1" {
			t.Errorf("found runs %+v", total.Runs)
		}
	}
	if info := datasets(t, o.RunsDir); shown.Head != info.Hash {
		t.Errorf("found head %s, expected %s", shown.Head, info.Hash)
	}
}

// The exact accountant answers for all runs if one of them names it.
func TestTotalByExact(t *testing.T) {
	o := tinyrun.Options(t)
	tinyrun.Train(t, o)
	r := tinyrun.Train(t, o, "privacy.accountant=exact")
	total := mustShow(t, o.RunsDir).Datasets[0]
	if total.Fixed.Accountant != "exact" || total.Fixed.EpsilonRDP == nil || *total.Fixed.EpsilonRDP <= total.Fixed.Epsilon || r.DatasetFixed != total.Fixed.Epsilon || r.DatasetEpsilon != total.Epsilon {
		t.Errorf("found %+v, and %+v at the end of the run", total, r.Together)
	}
}

// A folder that is copied and resumed twice spends twice: the second one is refused.
func TestForkIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		cut  int
		want string
	}{"under way": {7, "expected at least the 12 of"}, "one step before its end": {11, ""}} {
		t.Run(name, func(t *testing.T) {
			o := tinyrun.Options(t)
			stopped := tinyrun.Interrupted(t, test.cut, o)
			twin := filepath.Join(o.RunsDir, "twin")
			copyFolder(t, twin, stopped.Run)
			tinyrun.Fit(t, tinyrun.Open(t, stopped.Run, o))
			if test.want != "" {
				refuses(t, o.RunsDir, checkpoints.ErrRollback, test.want, func() error {
					_, err := train.Open(twin, o)
					return err
				})
				return
			}
			// A power loss can leave one ledger ahead by one release: the copy takes it for its
			// own.
			r := tinyrun.Fit(t, tinyrun.Open(t, twin, o))
			if total := mustShow(t, o.RunsDir).Datasets[0]; r.Epsilon < cost(t, 12) || r.Steps != 11 || total.Releases != 12 {
				t.Errorf("the copy reports ε = %v, all together %+v; expected 11 steps and 12 releases", r.Epsilon, total)
			}
		})
	}
}

// A run that is refused keeps the line that a crash tore, too.
func TestRefusedRunKeepsItsTornLine(t *testing.T) {
	o := tinyrun.Options(t)
	r := tinyrun.Train(t, o)
	path := filepath.Join(r.Run, folder.Ledger)
	lines := strings.SplitAfter(tiny.Read(t, path), "\n")
	tiny.Write(t, path, strings.Join(lines[:8], "")+lines[8][:40])
	refuses(t, o.RunsDir, checkpoints.ErrRollback, "found 7 ledger entries", func() error {
		_, err := train.Open(r.Run, o)
		return err
	})
	tiny.Write(t, path, strings.Join(lines, "")+lines[8][:40])
	other := o
	other.Given = tiny.Source(t, tiny.Examples+1)
	refuses(t, o.RunsDir, books.ErrOtherPlan, "was made with examples 300 6x6x1", func() error {
		_, err := train.Open(r.Run, other)
		return err
	})
	tinyrun.Fit(t, tinyrun.Open(t, r.Run, o)) // a crash leaves a torn line, and nothing else
	if tiny.Read(t, path) != strings.Join(lines, "") {
		t.Error("the torn line is still there")
	}
}

// Each file that speaks of a ledger is enough to find that it was shortened.
func TestEachWitnessIsEnough(t *testing.T) {
	witnesses := map[string][]string{
		folder.Checkpoints:   {folder.Checkpoints},
		folder.StatementData: {folder.StatementData, folder.Statement},
		folder.Rows:          {"../" + folder.Rows},
		folder.Row:           {folder.Row},
		folder.Datasets:      {"../../" + folder.Datasets},
	}
	for name := range witnesses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := sweepOptions(t)
			s := sweepOf(t, tiny.Config, smallSweep)
			task(t, s, Share{1, 1}, o)
			r := collected(t, s, o)
			dir := filepath.Join(r.Sweep, r.Rows[0].Trial)
			path := filepath.Join(dir, folder.Ledger)
			lines := strings.SplitAfter(tiny.Read(t, path), "\n")
			tiny.Write(t, path, strings.Join(lines[:4], ""))
			for other, files := range witnesses {
				for _, file := range files {
					if other != name {
						tiny.Check(t, os.RemoveAll(filepath.Join(dir, file)))
					}
				}
			}
			for _, ask := range []func() error{
				func() error { _, err := costOf(dir); return err },
				func() error {
					_, err := train.Evaluate(dir, train.Options{Options: run.Options{Request: o.Request}})
					return err
				},
				func() error {
					_, err := train.Open(dir, train.Options{Options: run.Options{Request: o.Request}})
					return err
				},
			} {
				refuses(t, o.RunsDir, checkpoints.ErrRollback, "", ask)
			}
		})
	}
}

// Without the ledger of the data nothing new is released; what only reads goes on and says so.
func TestMissingDatasets(t *testing.T) {
	o := tinyrun.Options(t)
	r := tinyrun.Train(t, o)
	path := filepath.Join(o.RunsDir, folder.Datasets)
	for name, spoil := range map[string]func() error{
		"gone":      func() error { return os.Remove(path) },
		"unborn":    func() error { return os.WriteFile(path, []byte(`{"format":"dpsgd-data`), 0o600) },
		"of others": func() error { _, err := checkpoints.CreateDatasets(path); return err },
	} {
		t.Run(name, func(t *testing.T) {
			content := tiny.Read(t, path)
			t.Cleanup(func() { tiny.Write(t, path, content) })
			tiny.Check(t, os.Remove(path))
			tiny.Check(t, errors.Join(os.WriteFile(path, nil, 0o600), spoil()))
			refuses(t, o.RunsDir, checkpoints.ErrRollback, "put it back from a copy", func() error {
				_, err := train.Open(r.Run, o)
				return err
			})
			refuses(t, o.RunsDir, checkpoints.ErrRollback, "put it back from a copy, or work in another --runs-dir", func() error {
				_, err := train.Create(tiny.Parse(t), o)
				return err
			})
			refuses(t, o.RunsDir, checkpoints.ErrRollback, "put it back", func() error {
				_, err := Run(context.Background(), sweepOf(t, tiny.Config, smallSweep), Options{Request: o.Request, RunsDir: o.RunsDir})
				return err
			})
			score, err := train.Evaluate(r.Run, o)
			if err != nil || score.Epsilon != r.Epsilon || !strings.Contains(score.Warning, "found no datasets.jsonl") || strings.Contains(score.Warning, "\n") {
				t.Errorf("found %+v (%v), expected ε and a warning of one line", score, err)
			}
			releases, err := books.ReadReleases(r.Run)
			if err != nil || releases.Warning == "" {
				t.Errorf("found warning %q (%v)", releases.Warning, err)
			}
		})
	}
	if score, err := train.Evaluate(r.Run, o); err != nil || score.Warning != "" {
		t.Errorf("found warning %q (%v), expected none", score.Warning, err)
	}
	// A sweep without one trial tells, too, in which ledger they were registered.
	grid := filepath.Join(o.RunsDir, "grid")
	tiny.Check(t, os.Mkdir(grid, 0o700))
	tiny.Write(t, filepath.Join(grid, folder.Sweep), `{"datasets": "another"}`)
	refuses(t, o.RunsDir, checkpoints.ErrRollback, "in which "+grid+" is registered", func() error {
		_, err := train.Create(tiny.Parse(t), o)
		return err
	})
	tiny.Write(t, path, "no ledger\n")
	if all, err := books.List(o.RunsDir); !errors.Is(err, checkpoints.ErrCorrupt) {
		t.Errorf("found %d runs (%v), expected ErrCorrupt", len(all), err)
	}
}

// A configuration with a larger δ, at which the same releases have a smaller ε, or with another
// accountant, is not the run's: its plan says so, and the ledger of the data where that is edited
// as well.
func TestOtherDeltaIsRefused(t *testing.T) {
	for _, key := range []struct{ key, was, is string }{{"delta", "0.0001", "0.001"}, {"accountant", "rdp", "exact"}} {
		o := tinyrun.Options(t)
		r := tinyrun.Train(t, o)
		for _, edited := range []struct{ file, says string }{
			{folder.Config, "was made with privacy." + key.key + " " + key.was},
			{folder.Plan, "found privacy." + key.key + " " + key.is},
		} {
			path := filepath.Join(r.Run, edited.file)
			tiny.Write(t, path, strings.Replace(tiny.Read(t, path), key.key+": "+key.was, key.key+": "+key.is, 1))
			for _, ask := range []func() error{
				func() error { _, err := costOf(r.Run); return err },
				func() error { _, err := train.Evaluate(r.Run, o); return err },
				func() error { _, err := books.Show(o.RunsDir); return err },
			} {
				refuses(t, o.RunsDir, books.ErrOtherPlan, edited.says, ask)
			}
		}
	}
}

// An older copy of the ledger of the data catches up with the runs that are there.
func TestOlderDatasetsCatchUp(t *testing.T) {
	o := tinyrun.Options(t)
	tinyrun.Train(t, o)
	path := filepath.Join(o.RunsDir, folder.Datasets)
	old := tiny.Read(t, path)
	second := tinyrun.Train(t, o)
	tiny.Write(t, path, old)
	if total := mustShow(t, o.RunsDir).Datasets[0]; total.Releases != 24 {
		t.Errorf("found %d releases, expected 24", total.Releases)
	}
	third := tinyrun.Train(t, o)
	if third.DatasetRuns != 3 || third.DatasetReleases != 36 || third.DatasetEpsilon < cost(t, 36) {
		t.Errorf("found %+v, expected 36 releases of 3 runs", third.Together)
	}
	tiny.Write(t, path, tiny.Read(t, path)[:len(tiny.Read(t, path))/2]) // in the middle of the second run, and of a line
	if fourth := tinyrun.Train(t, o); fourth.DatasetReleases != 48 || fourth.DatasetEpsilon < cost(t, 48) {
		t.Errorf("found %+v, expected 48 releases", fourth.Together)
	}
	tiny.Write(t, path, old)
	tinyrun.Fit(t, tinyrun.Open(t, second.Run, o))
	if m, ok := datasets(t, o.RunsDir).Member(datasetsMember(t, second.Run)); !ok || m.Entries != 12 {
		t.Errorf("found %+v, expected 12 releases", m)
	}
}

// A ledger of the data that knows a part of a run is brought up to all of it: by whoever opens it
// for another run, and by whoever collects what a task has added to what a whole sweep began.
func TestRegistryBehindARunCatchesUp(t *testing.T) {
	check := func(t *testing.T, runs string, dirs ...string) {
		t.Helper()
		for _, dir := range dirs {
			own, info, err := checkpoints.ReadJournal(filepath.Join(dir, folder.Ledger))
			tiny.Check(t, err)
			m, ok := datasets(t, runs).Member(info.Run)
			if !ok || m.Entries != own.Count() || m.Hash != info.Hash {
				t.Errorf("%s knows %d releases of %s, expected the %d of its ledger", folder.Datasets, m.Entries, dir, own.Count())
			}
		}
	}
	t.Run("opened", func(t *testing.T) {
		o := tinyrun.Options(t)
		first, path := tinyrun.Train(t, o), filepath.Join(o.RunsDir, folder.Datasets)
		tiny.Write(t, path, strings.Join(strings.SplitAfter(tiny.Read(t, path), "\n")[:7], ""))
		if m, _ := datasets(t, o.RunsDir).Member(datasetsMember(t, first.Run)); m.Entries == 0 || m.Entries == 12 {
			t.Fatalf("it knows %d releases, expected a part of 12", m.Entries)
		}
		if total := mustShow(t, o.RunsDir).Datasets[0]; total.Releases != 12 {
			t.Errorf("found %d releases, expected 12", total.Releases)
		}
		check(t, o.RunsDir, tinyrun.Train(t, o).Run, first.Run)
	})
	t.Run("collected", func(t *testing.T) {
		s, o := sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)
		interruptSweep(t, s, o, 7)
		task(t, s, Share{1, 1}, o)
		if !folder.HoldsAny(o.RunsDir, folder.Uncollected) {
			t.Fatal("the task has nothing apart")
		}
		r := collected(t, s, o)
		check(t, o.RunsDir, filepath.Join(r.Sweep, r.Rows[0].Trial), filepath.Join(r.Sweep, r.Rows[1].Trial))
		if r.Composed.Releases != 24 || folder.HoldsAny(o.RunsDir, folder.Uncollected) {
			t.Errorf("found %d releases, expected 24, and nothing uncollected", r.Composed.Releases)
		}
	})
}

func datasetsMember(t testing.TB, run string) string {
	t.Helper()
	info := tiny.Must(checkpoints.ReadHeader(filepath.Join(run, folder.Ledger)))(t)
	return info.Run
}

// The check finds each problem, and names it in a line of its own.
func TestVerifyLedger(t *testing.T) {
	o := tinyrun.Options(t)
	r := tinyrun.Train(t, o)
	head := datasets(t, o.RunsDir).Hash
	sweep := runSweep(t, sweepOf(t, tiny.Config, smallSweep), Options{Request: o.Request, RunsDir: o.RunsDir})
	c, err := books.Verify(o.RunsDir, head)
	if err != nil || c.Runs != 3 || c.Sweeps != 1 || c.Releases != 36 || c.HeadLine != 14 || len(c.Problems) != 0 {
		t.Fatalf("found %+v (%v), expected no problem with 3 runs", c, err)
	}
	_, err = books.Verify(o.RunsDir, strings.Repeat("0", 32))
	if !errors.Is(err, checkpoints.ErrRollback) || !strings.Contains(err.Error(), "found no line with the hash 000") {
		t.Errorf("an unknown head: found error %v", err)
	}
	tiny.Check(t, os.Truncate(filepath.Join(r.Run, folder.Checkpoints, "checkpoint-10.ckpt"), 50))
	if _, err := books.Verify(o.RunsDir, ""); !errors.Is(err, checkpoints.ErrCorrupt) || errors.Is(err, checkpoints.ErrRollback) {
		t.Errorf("a damaged checkpoint: found error %v", err)
	}
	tiny.Check(t, os.RemoveAll(filepath.Join(sweep.Sweep, sweep.Rows[1].Trial)))
	lines := strings.SplitAfter(tiny.Read(t, filepath.Join(r.Run, folder.Ledger)), "\n")
	tiny.Write(t, filepath.Join(r.Run, folder.Ledger), strings.Join(lines[:5], ""))
	before := tiny.Snapshot(t, o.RunsDir)
	c, err = books.Verify(o.RunsDir, "")
	if !errors.Is(err, checkpoints.ErrRollback) || len(c.Problems) != 2 || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("found %v, expected two problems", err)
	}
	if want := []string{"sweep/" + sweep.Rows[1].Trial}; !slices.Equal(c.Gone, want) || c.Releases != 36 {
		t.Errorf("found %+v, expected all 36 releases, and that %v are gone", c, want)
	}
	if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
		t.Error("the check changed something")
	}
	if _, err := books.Verify(t.TempDir(), ""); !errors.Is(err, folder.ErrNoRun) {
		t.Errorf("an empty folder: found error %v", err)
	}
}

// A trial whose folder is gone, and of which the ledger of the data knows nothing, is missed by the
// table of its sweep: no total is shown without it.
func TestVerifyMissesTrials(t *testing.T) {
	o := sweepOptions(t)
	sweep := runSweep(t, sweepOf(t, tiny.Config, smallSweep), o)
	gone, ledger := filepath.Join(sweep.Sweep, sweep.Rows[1].Trial), filepath.Join(o.RunsDir, folder.Datasets)
	lines := strings.SplitAfter(tiny.Read(t, ledger), "\n")
	second := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, sweep.Rows[1].Trial) })
	tiny.Write(t, ledger, strings.Join(lines[:second], ""))
	if c, err := books.Verify(o.RunsDir, ""); err != nil || c.Releases != 24 {
		t.Fatalf("found %+v (%v), expected that the ledgers of the trials make up for what is lost", c, err)
	}
	tiny.Check(t, os.RemoveAll(gone))
	c, err := books.Verify(o.RunsDir, "")
	if !errors.Is(err, checkpoints.ErrRollback) || len(c.Problems) != 1 || !strings.Contains(c.Problems[0], gone) {
		t.Errorf("found the problems %q (%v), expected one about %s", c.Problems, err, gone)
	}
	if _, err := books.Show(o.RunsDir); !errors.Is(err, checkpoints.ErrRollback) {
		t.Errorf("a total is shown without %s: %v", gone, err)
	}
}
