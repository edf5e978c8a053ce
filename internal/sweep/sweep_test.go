package sweep

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

const tinySweep = `
name: sweep
base: base.yaml
grid:
  privacy.clip_norm: [0.1, 1]
  privacy.noise_multiplier: [1, 4]
seeds: [1, 2]
`

// sweepOf parses a sweep whose base is the tiny configuration.
func sweepOf(t testing.TB, base, sweep string) *configs.Sweep {
	t.Helper()
	dir := t.TempDir()
	tiny.Write(t, filepath.Join(dir, "base.yaml"), base)
	return tiny.Must(configs.ParseSweep(filepath.Join(dir, "sweep.yaml"), []byte(sweep)))(t)
}

func sweepOptions(t testing.TB) Options {
	return Options{Request: setup.Request{Given: tiny.Source(t, tiny.Examples)}, RunsDir: filepath.Join(t.TempDir(), "runs")}
}

func runSweep(t testing.TB, s *configs.Sweep, o Options) Result {
	t.Helper()
	return tiny.Must(Run(context.Background(), s, o))(t)
}

// costOf computes what a run has spent by its ledger, with the accountant and at the δ of its
// configuration.
func costOf(dir string) (account.Cost, error) {
	r, err := books.ReadReleases(dir)
	if err != nil {
		return account.Cost{}, err
	}
	return new(account.Answerer).Answer(r.Question(account.Epsilon))
}

// interruptSweep stops a sweep after so many steps of all trials together.
func interruptSweep(t testing.TB, s *configs.Sweep, o Options, steps int) Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Watcher = Watcher{TrialStepped: func(TrialOverview, train.Progress) {
		if steps--; steps == 0 {
			cancel()
		}
	}}
	r, err := Run(ctx, s, o)
	if err != nil || r.Status != run.Interrupted {
		t.Fatalf("found %+v (%v)", r, err)
	}
	return r
}

// killSweep drops a sweep when trial number has made so many steps, as kill -9 would; with 0 steps
// when it has begun.
func killSweep(t testing.TB, s *configs.Sweep, o Options, number, steps int) {
	t.Helper()
	kill(t, o, number, steps, func(o Options) error { _, err := Run(context.Background(), s, o); return err })
}

// killTask drops a task as killSweep does a sweep.
func killTask(t testing.TB, s *configs.Sweep, share Share, o Options, number, steps int) {
	t.Helper()
	kill(t, o, number, steps, func(o Options) error { _, err := RunTask(context.Background(), s, share, o); return err })
}

func kill(t testing.TB, o Options, number, steps int, work func(Options) error) {
	t.Helper()
	type killed struct{}
	o.Watcher = Watcher{
		TrialStarted: func(at TrialOverview) {
			if at.Number == number && steps == 0 {
				panic(killed{})
			}
		},
		TrialStepped: func(at TrialOverview, p train.Progress) {
			if at.Number == number && p.Step == steps {
				panic(killed{})
			}
		},
	}
	defer func() {
		if _, ok := recover().(killed); !ok {
			t.Fatal("it was not killed")
		}
	}()
	t.Error(work(o))
}

// Every combination is an ordinary run, and the three tables agree.
func TestSweepTables(t *testing.T) {
	o := sweepOptions(t)
	r := runSweep(t, sweepOf(t, tiny.Config, tinySweep), o)
	if r.Status != run.Done || r.Trials != 8 || r.Finished != 8 || len(r.Rows) != 8 {
		t.Fatalf("found %+v, expected 8 trials", r)
	}
	lines := strings.Split(strings.TrimSpace(tiny.Read(t, filepath.Join(r.Sweep, folder.Rows))), "\n")
	table, err := csv.NewReader(strings.NewReader(tiny.Read(t, filepath.Join(r.Sweep, folder.Table)))).ReadAll()
	if err != nil || len(lines) != 8 || len(table) != 9 {
		t.Fatalf("found %d lines and %d rows (%v)", len(lines), len(table), err)
	}
	if want := "trial,privacy.clip_norm,privacy.noise_multiplier,training.seed,test_accuracy,epsilon,delta,steps,status"; strings.Join(table[0], ",") != want {
		t.Errorf("found heading %s\nexpected %s", strings.Join(table[0], ","), want)
	}
	var first map[string]any
	tiny.Check(t, json.Unmarshal([]byte(lines[0]), &first))
	if first["privacy.clip_norm"] != 0.1 || first["training.seed"] != 1. || first["status"] != "done" || first["steps"] != 12. {
		t.Errorf("found first row %v", first)
	}
	for i, row := range r.Rows {
		if lines[i] != tiny.JSON(t, row) {
			t.Errorf("row %d is %s in the result and %s in the file", i, tiny.JSON(t, row), lines[i])
		}
		dir := filepath.Join(r.Sweep, row.Trial)
		cost, err := costOf(dir)
		if err != nil || cost.Epsilon != row.Epsilon || *cost.Releases != 12 {
			t.Errorf("%s: found %+v (%v), expected ε = %v", row.Trial, cost, err, row.Epsilon)
		}
		score, err := train.Evaluate(dir, train.Options{Options: run.Options{Request: o.Request}})
		if err != nil || row.Test.None() || score.Test != row.Test {
			t.Errorf("%s: the model has accuracy %v (%v), expected %v", row.Trial, score.TestAccuracy, err, row.TestAccuracy)
		}
	}
	if _, ok := tiny.Snapshot(t, r.Sweep)[filepath.Join(r.Sweep, folder.Report)]; !ok {
		t.Error("there is no results.md")
	}
}

// What all trials cost together is the ε of all their releases in one ledger, and more than any of
// them alone.
func TestSweepComposesItsTrials(t *testing.T) {
	r := runSweep(t, sweepOf(t, tiny.Config, tinySweep), sweepOptions(t))
	all := new(accountant.Ledger)
	for _, sigma := range []float64{1, 4} {
		// Half of the eight trials with each noise multiplier, 12 steps each.
		tiny.Check(t, all.Add(tinyrun.Plan(t, "privacy.noise_multiplier="+jsonNumber(sigma)).Event(0), 4*12))
	}
	want := tiny.Must(tinyrun.Plan(t).Spent(all))(t)
	// The order of the sum over the ledgers is another one.
	if r.Composed == nil || !(math.Abs(r.Composed.Epsilon/want.Epsilon-1) <= 1e-12) || r.Composed.Releases != 96 || r.Composed.Delta != 1e-4 {
		t.Fatalf("found %+v, expected ε = %v of 96 releases", r.Composed, want.Epsilon)
	}
	for _, row := range r.Rows {
		if row.Epsilon >= r.Composed.Epsilon {
			t.Errorf("%s alone costs %v, all together %v", row.Trial, row.Epsilon, r.Composed.Epsilon)
		}
	}
	note := strings.Join(r.Note(), " ")
	if !strings.Contains(note, accountant.RoundUp(want.Epsilon, 3)) || !strings.Contains(tiny.Read(t, filepath.Join(r.Sweep, folder.Report)), r.Note()[2]) {
		t.Errorf("the composed ε is not told: %s", note)
	}
}

// Turns of two trials do not follow each other: all of them together cost what the worst-off record
// of each sees, also with correlated noise, and the epochs that each begins.
func TestSweepComposesTurns(t *testing.T) {
	noise := accountant.Gaussian{NoiseMultiplier: 1}
	for training, want := range map[string]accountant.Entry{
		// 4 trials of 12 steps: 4 turns of a block in each.
		"training: {batch_size: 40, physical_batch_size: 16, steps: 12, sampling: cyclic, blocks: 3}": {Event: accountant.PoissonSampled{SamplingProbability: 0.4, Event: noise}, Count: 4 * 4},
		// 3 epochs in each, and one that is cut short.
		"training: {batch_size: 75, physical_batch_size: 16, steps: 13, sampling: balls_in_bins}": {Event: accountant.BallsInBins{Bins: 4, Event: noise}, Count: 4 * 16},
	} {
		base := strings.Replace(tiny.Config, "training: {batch_size: 40, physical_batch_size: 16, steps: 12}", training, 1)
		if strings.Contains(training, "cyclic") {
			base = strings.Replace(base, "accountant: rdp", "accountant: rdp, correlation: banded, bands: 3", 1)
		}
		r := runSweep(t, sweepOf(t, base, "name: sweep\nbase: base.yaml\ngrid: {optimizer.learning_rate: [0.1, 0.5]}\nseeds: [1, 2]\n"), sweepOptions(t))
		cost := tiny.Must(account.SpentBy("rdp", tiny.Ledger(t, want.Event, want.Count), 1e-4))(t)
		if r.Composed == nil || !(math.Abs(r.Composed.Epsilon/cost.Epsilon-1) <= 1e-12) {
			t.Errorf("%s: found %+v, expected ε = %v", training, r.Composed, cost.Epsilon)
		}
	}
}

// Trials at different δ compose at the least one: it is the only one at which all of them have
// their guarantee.
func TestSweepComposesAtTheLeastDelta(t *testing.T) {
	for _, order := range []string{"[1e-4, 1e-6, 1e-5]", "[1e-6, 1e-4]"} {
		r := runSweep(t, sweepOf(t, tiny.Config, "name: sweep\nbase: base.yaml\ngrid: {privacy.delta: "+order+"}\n"), sweepOptions(t))
		want, err := account.SpentBy("rdp", tiny.Ledger(t, tinyrun.Plan(t).Event(0), 12*len(r.Rows)), 1e-6)
		if err != nil || r.Composed.Delta != 1e-6 || !(math.Abs(r.Composed.Epsilon/want.Epsilon-1) <= 1e-12) {
			t.Errorf("%s: found %+v (%v), expected ε = %v at δ = 1e-6", order, r.Composed, err, want.Epsilon)
		}
	}
}

// A row about fewer releases than its trial has made by now is measured again, with the ε of all.
func TestSweepMeasuresATrialThatWentOnAgain(t *testing.T) {
	o := sweepOptions(t)
	s := sweepOf(t, tiny.Config, smallSweep)
	first := runSweep(t, s, o)
	rows := filepath.Join(first.Sweep, folder.Rows)
	lines := strings.SplitAfter(tiny.Read(t, filepath.Join(first.Sweep, first.Rows[0].Trial, folder.Ledger)), "\n")
	before := filepath.Join(t.TempDir(), folder.Ledger) // as it was after 10 releases
	tiny.Write(t, before, strings.Join(lines[:11], ""))
	_, info, err := checkpoints.ReadJournal(before)
	tiny.Check(t, err)
	less := strings.NewReplacer(`"ledger_entries":12`, `"ledger_entries":10`, `"steps":12`, `"steps":10`, first.Rows[0].LedgerHead, info.Hash)
	row, rest, _ := strings.Cut(tiny.Read(t, rows), "\n")
	tiny.Write(t, rows, less.Replace(row)+"\n"+rest)
	again := runSweep(t, s, o)
	if row := again.Rows[0]; row.Steps != 12 || row.LedgerEntries != 12 || row.Epsilon != first.Rows[0].Epsilon || again.Composed.Releases != 24 {
		t.Errorf("found %+v, %+v; expected the rows of 12 releases", row, again.Composed)
	}
}

// A trial that released something and is gone, or has lost its ledger, is named; it is never left
// out, and never begun anew.
func TestSweepMissesItsTrials(t *testing.T) {
	tests := map[string]func(dir, sweep string) error{
		"folder": func(dir, _ string) error { return os.RemoveAll(dir) },
		"ledger": func(dir, _ string) error { return os.Remove(filepath.Join(dir, folder.Ledger)) },
		"ledger and row": func(dir, sweep string) error {
			return errors.Join(os.Remove(filepath.Join(dir, folder.Ledger)), os.Remove(filepath.Join(sweep, folder.Rows)))
		},
		"folder and row": func(dir, sweep string) error {
			return errors.Join(os.RemoveAll(dir), os.Remove(filepath.Join(sweep, folder.Rows)))
		},
		"whole sweep": func(_, sweep string) error { return os.RemoveAll(sweep) },
		"header":      func(dir, _ string) error { return os.Truncate(filepath.Join(dir, folder.Ledger), 20) },
		"exchanged folders": func(dir, sweep string) error {
			return errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(filepath.Join(sweep, "clip_norm=1"))))
		},
		"exchanged folders and rows": func(dir, sweep string) error {
			return errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(filepath.Join(sweep, "clip_norm=1"))), os.Remove(filepath.Join(sweep, folder.Rows)))
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := sweepOptions(t)
			s := sweepOf(t, tiny.Config, smallSweep)
			r := runSweep(t, s, o)
			dir := filepath.Join(r.Sweep, "clip_norm=0.1")
			tiny.Check(t, spoil(dir, r.Sweep))
			refuses(t, o.RunsDir, checkpoints.ErrRollback, dir, func() error {
				_, err := Run(context.Background(), s, o)
				return err
			})
			check, err := books.Verify(o.RunsDir, "")
			if gone := strings.Contains(name, "folder and") || name == "folder" || name == "whole sweep"; gone {
				// It is shown and counts: what would train it a second time is refused.
				if err != nil || check.Releases != 24 || !slices.Contains(check.Gone, "sweep/clip_norm=0.1") {
					t.Errorf("found %+v (%v), expected 24 releases, and that the trial is gone", check, err)
				}
			} else if !errors.Is(err, checkpoints.ErrRollback) || !strings.Contains(err.Error(), dir) {
				t.Errorf("found error %v, expected one about %s", err, dir)
			}
		})
	}
}

func jsonNumber(v float64) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// Killed in the middle of a trial and started again, a sweep leaves finished trials alone, goes on
// with the half-done one with the spend of its ledger, and ends with all rows.
func TestKilledSweepGoesOn(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, tinySweep), sweepOptions(t)
	killSweep(t, s, o, 3, 8)
	dir := filepath.Join(o.RunsDir, "sweep")
	trials := tiny.Must(s.Trials(configs.Draw{}))(t)
	finished := tiny.Snapshot(t, filepath.Join(dir, trials[0].Name))
	maps.Copy(finished, tiny.Snapshot(t, filepath.Join(dir, trials[1].Name)))

	var started []int
	told := 0
	o.Watcher = Watcher{SweepStarted: func(o Overview) {
		if o.Steps != 6*12 || o.Finished != 2 {
			t.Errorf("found %+v, expected two results, and the steps of six trials", o)
		}
	}, SweepFinished: func(r Result) { told += r.Finished }, TrialStarted: func(o TrialOverview) {
		started = append(started, o.Number)
		if o.Number == 3 && o.ResumedAt != 5 {
			t.Errorf("trial 3 resumed at step %d, expected its checkpoint at 5", o.ResumedAt)
		}
	}}
	r := runSweep(t, s, o)
	if want := "[3,4,5,6,7,8]"; tiny.JSON(t, started) != want || told != 8 {
		t.Errorf("trials %v were started, and %d results told at the end, expected %s and 8", started, told, want)
	}
	o.Watcher.SweepStarted = nil
	again := tiny.Snapshot(t, filepath.Join(dir, trials[0].Name))
	maps.Copy(again, tiny.Snapshot(t, filepath.Join(dir, trials[1].Name)))
	if !maps.Equal(finished, again) {
		t.Error("a finished trial was touched")
	}
	// Steps 6, 7 and 8 were released twice, in place of the last ones.
	if tiny.Releases(t, filepath.Join(dir, trials[2].Name)) != 12 || r.Rows[2].Steps != 9 || r.Rows[2].LedgerEntries != 12 {
		t.Errorf("trial 3 has %d releases and the row %+v", tiny.Releases(t, filepath.Join(dir, trials[2].Name)), r.Rows[2])
	}
	if r.Finished != 8 || r.Composed.Releases != 8*12 {
		t.Errorf("found %d results and %d releases", r.Finished, r.Composed.Releases)
	}

	started = nil
	same := runSweep(t, s, o)
	if len(started) != 0 || tiny.JSON(t, same) != tiny.JSON(t, r) {
		t.Errorf("a finished sweep started trials %v or changed its result", started)
	}
}

// A kill can also come before a trial has a ledger: it begins again.
func TestSweepKilledBeforeALedger(t *testing.T) {
	undo := func(dir string) error {
		err := os.RemoveAll(filepath.Join(dir, folder.Checkpoints))
		for _, name := range []string{folder.Engines, folder.Plan, folder.MetricsTable, folder.MetricsEvents} {
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		}
		return err
	}
	tests := []struct {
		name string
		left func(dir string) error // brings the folder of a trial that has just begun back to an earlier moment
	}{
		{"before the folder", os.RemoveAll},
		{"before the config", func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) }},
		{"before the ledger", func(dir string) error {
			return errors.Join(undo(dir), os.Remove(filepath.Join(dir, folder.Ledger)))
		}},
		{"inside the ledger's header", func(dir string) error {
			return errors.Join(undo(dir), os.Truncate(filepath.Join(dir, folder.Ledger), 10))
		}},
		{"before the first checkpoint", func(dir string) error { return os.RemoveAll(filepath.Join(dir, folder.Checkpoints)) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, o := sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)
			killSweep(t, s, o, 2, 0)
			second := filepath.Join(o.RunsDir, "sweep", "clip_norm=1")
			tiny.Check(t, test.left(second))
			if r := runSweep(t, s, o); r.Finished != 2 || tiny.Releases(t, second) != 12 || r.Composed.Releases != 24 {
				t.Errorf("found %d results, %d releases of the second trial and %d in all", r.Finished, tiny.Releases(t, second), r.Composed.Releases)
			}
		})
	}
}

// A kill can come between the end of a trial and its row, and between the two tables.
func TestSweepKilledBetweenFiles(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, smallSweep), sweepOptions(t)
	whole := runSweep(t, s, o)
	first, second := filepath.Join(whole.Sweep, whole.Rows[0].Trial), filepath.Join(whole.Sweep, whole.Rows[1].Trial)
	rows := filepath.Join(whole.Sweep, folder.Rows)
	oneRow, _, _ := strings.Cut(tiny.Read(t, rows), "\n")
	tests := []struct {
		name     string
		kill     func(t *testing.T)
		releases int // of the second trial at the end
	}{
		{"before the row", func(t *testing.T) { tiny.Write(t, rows, oneRow+"\n") }, 12},
		{"before results.csv", func(t *testing.T) { tiny.Write(t, filepath.Join(whole.Sweep, folder.Table), "old") }, 12},
		{"before the second checkpoint", func(t *testing.T) {
			tiny.Write(t, rows, oneRow+"\n")
			tiny.Check(t, os.Remove(filepath.Join(second, folder.Checkpoints, "checkpoint-12.ckpt")))
		}, 12},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := tiny.Snapshot(t, first)
			test.kill(t)
			r := runSweep(t, s, o)
			if r.Finished != 2 || !maps.Equal(before, tiny.Snapshot(t, first)) {
				t.Errorf("found %d results, or the first trial was touched", r.Finished)
			}
			if found := tiny.Releases(t, second); found != test.releases {
				t.Errorf("the second trial has %d releases, expected %d", found, test.releases)
			}
			if table := tiny.Read(t, filepath.Join(r.Sweep, folder.Table)); strings.Count(table, "\n") != 3 {
				t.Errorf("results.csv is\n%s", table)
			}
		})
	}
}

// run.Interrupted, a sweep saves its trial and tells; started again it ends like an uninterrupted
// one.
func TestInterruptedSweep(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, tinySweep), sweepOptions(t)
	r := interruptSweep(t, s, o, 12+7)
	if r.Finished != 1 || r.Composed.Releases != 12+7 || r.Composed.Planned != 12*r.Trials || r.Composed.Released == nil || r.Composed.Released.Epsilon >= r.Composed.Epsilon {
		t.Fatalf("found %+v, %+v, expected one result and 19 releases", r, r.Composed)
	}
	if r := runSweep(t, s, o); r.Status != run.Done || r.Finished != 8 || r.Composed.Releases != 8*12 {
		t.Errorf("found %+v, %+v, expected 8 results and 96 releases", r, r.Composed)
	}
}

// A folder belongs to one sweep; what does not fit is refused in one line and nothing changes.
func TestSweepRefuses(t *testing.T) {
	tests := []struct {
		name        string
		base, sweep string
		spoil       func(t *testing.T, dir string)
		match       error
		want        string
	}{
		{"another grid", tiny.Config, strings.Replace(smallSweep, "[0.1, 1]", "[0.1, 2]", 1), nil, ErrOtherSweep, "holds trial clip_norm=1, expected clip_norm=2"},
		{"more trials", tiny.Config, strings.Replace(smallSweep, "[0.1, 1]", "[0.1, 1, 2]", 1), nil, ErrOtherSweep, "holds 2 trials, expected the 3 of the sweep file"},
		{"another base", strings.Replace(tiny.Config, "steps: 12", "steps: 13", 1), smallSweep, nil, ErrOtherSweep, "holds trial clip_norm=0.1 with another base configuration"},
		{"a batch above the data", strings.Replace(tiny.Config, "batch_size: 40", "batch_size: 400", 1), smallSweep, nil, setup.ErrPlan, "trial clip_norm=0.1"},
		{"too little memory", strings.Replace(tiny.Config, "threads: 2", "threads: 2, max_memory: 1 MiB", 1), smallSweep, nil, setup.ErrTooLarge, "trial clip_norm=0.1"},
		{"a run's folder", tiny.Config, smallSweep, func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, folder.Sweep)) }, ErrOtherSweep, "expected an empty folder or that of this sweep"},
		{"damaged sweep.json", tiny.Config, smallSweep, func(t *testing.T, dir string) { tiny.Write(t, filepath.Join(dir, folder.Sweep), "{") }, ErrOtherSweep, "cannot be read"},
		{"damaged results", tiny.Config, smallSweep, func(t *testing.T, dir string) {
			tiny.Write(t, filepath.Join(dir, folder.Rows), tiny.Read(t, filepath.Join(dir, folder.Rows))+"{}\n")
		}, nil, "results.jsonl:3: found no result of a trial"},
		{"in use", tiny.Config, smallSweep, func(t *testing.T, dir string) {
			lock := tiny.Must(checkpoints.TakeLock(filepath.Join(dir, folder.SweepLock)))(t)
			t.Cleanup(func() { lock.Close() })
		}, checkpoints.ErrLocked, folder.SweepLock},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := sweepOptions(t)
			dir := runSweep(t, sweepOf(t, tiny.Config, smallSweep), o).Sweep
			if test.spoil != nil {
				test.spoil(t, dir)
			}
			before := tiny.Snapshot(t, dir)
			_, err := Run(context.Background(), sweepOf(t, test.base, test.sweep), o)
			if err == nil || test.match != nil && !errors.Is(err, test.match) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("found error %v\nexpected one line that matches %v and says %q", err, test.match, test.want)
			}
			if !maps.Equal(before, tiny.Snapshot(t, dir)) {
				t.Error("the refused sweep changed on disk")
			}
		})
	}
}

// What changes speed alone may change between the parts of a sweep.
func TestSweepGoesOnWithOtherPerformance(t *testing.T) {
	o := sweepOptions(t)
	killSweep(t, sweepOf(t, tiny.Config, tinySweep), o, 2, 6)
	other := strings.NewReplacer("threads: 2", "threads: 1", "physical_batch_size: 16", "physical_batch_size: 5").Replace(tiny.Config)
	if r := runSweep(t, sweepOf(t, other, tinySweep), o); r.Finished != 8 {
		t.Errorf("found %d results, expected 8", r.Finished)
	}
}

// A trial that leaves the range of float32 has a row without an accuracy, and the others go on.
func TestDivergedTrial(t *testing.T) {
	s := sweepOf(t, tiny.Config, "name: sweep\nbase: base.yaml\ngrid: {optimizer.learning_rate: [0.5, 1000], optimizer.weight_decay: [0, 100]}\n")
	o := sweepOptions(t)
	r := runSweep(t, s, o)
	last := r.Rows[3]
	if r.Finished != 4 || last.Status != string(run.Diverged) || !last.Test.None() || last.Epsilon <= 0 {
		t.Fatalf("found %+v, expected a diverged last trial", r.Rows)
	}
	if !strings.Contains(tiny.JSON(t, last), `"test_accuracy":null`) {
		t.Errorf("found row %s, expected no accuracy", tiny.JSON(t, last))
	}
	if again := runSweep(t, s, o); tiny.JSON(t, again.Rows) != tiny.JSON(t, r.Rows) {
		t.Error("a diverged trial was repeated")
	}
}

// Trials of a sweep may differ in their accountant; the table then has a column for RDP.
func TestSweepOfAccountants(t *testing.T) {
	s := sweepOf(t, tiny.Config, "name: sweep\nbase: base.yaml\ngrid: {privacy.accountant: [exact, rdp]}\n")
	r := runSweep(t, s, sweepOptions(t))
	if len(r.Rows) != 2 || r.Rows[0].EpsilonRDP == nil || r.Rows[1].EpsilonRDP != nil || *r.Rows[0].EpsilonRDP != r.Rows[1].Epsilon || r.Rows[0].Epsilon >= r.Rows[1].Epsilon {
		t.Fatalf("found rows %s", tiny.JSON(t, r.Rows))
	}
	table := r.Table()
	if found := strings.Join(table[0], " "); found != "accountant test % ε ε (rdp) steps status" || table[1][3] != accountant.RoundUp(*r.Rows[0].EpsilonRDP, 3) || table[2][3] != "–" {
		t.Errorf("found table %q", table)
	}
	if text := tiny.Read(t, filepath.Join(r.Sweep, folder.Table)); !strings.HasPrefix(text, "trial,privacy.accountant,test_accuracy,epsilon,epsilon_rdp,delta,steps,") {
		t.Errorf("found\n%s", text)
	}
	if r.Composed.Accountant != "exact" || r.Composed.EpsilonRDP == nil || *r.Composed.EpsilonRDP <= r.Composed.Epsilon || !strings.Contains(strings.Join(r.Note(), " "), "By rdp it is ε = "+accountant.RoundUp(*r.Composed.EpsilonRDP, 3)) || r.Composed.Epsilon <= r.Rows[0].Epsilon {
		t.Errorf("found %s", tiny.JSON(t, r.Composed))
	}
	if again := runSweep(t, s, sweepOptions(t)); len(again.Rows) != 2 {
		t.Errorf("found %d rows of a finished sweep", len(again.Rows))
	}
}

// A trial whose table lacks a column is found before the first trial releases anything, and before
// anything is written.
func TestSweepOfAMissingColumn(t *testing.T) {
	table := t.TempDir()
	for _, part := range []string{"train.csv", "test.csv"} {
		tiny.Write(t, filepath.Join(table, part), "age,same,sick\n"+strings.Repeat("-1,1,no\n1,1,yes\n", 100))
	}
	base := fmt.Sprintf(`
data: {table: %q, columns: [age], label: sick, classes: ["no", "yes"]}
model: {layers: [linear: {out_features: classes}]}
privacy: {noise_multiplier: 1, delta: 1e-3, accountant: rdp}
training: {batch_size: 20, steps: 20}
`, table)
	s := sweepOf(t, base, "name: sweep\nbase: base.yaml\ngrid: {data.columns: [[age], [pay]]}\n")
	o := Options{RunsDir: filepath.Join(t.TempDir(), "runs")}
	if _, err := Run(t.Context(), s, o); !errors.Is(err, data.ErrInvalid) || !strings.Contains(err.Error(), `train.csv:1:1: found no column "pay"`) {
		t.Errorf("found error %v, expected one about the column", err)
	}
	if _, err := os.Stat(o.RunsDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused sweep left something behind: %v", err)
	}
	r := runSweep(t, sweepOf(t, base, "name: sweep\nbase: base.yaml\ngrid: {data.columns: [[age], [same]]}\n"), o)
	if told, nothing := r.Rows[0].TestAccuracy, r.Rows[1].TestAccuracy; !(told > 0.9) || !(nothing < 0.6) {
		t.Errorf("found accuracies of %v and %v, expected that each trial sees its own columns", told, nothing)
	}
}

// The trials of a sweep share the features that the first of them computed, and what keeps them is
// taken for no run: the books agree, with every trial's mean in its ledger.
func TestSweepOverFeatures(t *testing.T) {
	s := sweepOf(t, string(tiny.Parse(t, tiny.Features...).YAML()), "name: sweep\nbase: base.yaml\ngrid:\n  privacy.clip_norm: [0.1, 1]\n")
	o := sweepOptions(t)
	o.Given = tiny.Large(t)
	runSweep(t, s, o)
	kept, err := os.ReadDir(filepath.Join(o.RunsDir, folder.Features))
	if err != nil || len(kept) != 2 {
		t.Errorf("found %d files with features (%v), expected one for training and one for test", len(kept), err)
	}
	check, err := books.Verify(o.RunsDir, "")
	if err != nil || check.Releases != 2*13 {
		t.Errorf("found %+v (%v), expected two trials of one mean and 12 steps", check, err)
	}
	// A trial that is resumed keeps its features beside it: no trial either.
	tiny.Check(t, os.Rename(filepath.Join(o.RunsDir, folder.Features), filepath.Join(o.RunsDir, "sweep", folder.Features)))
	if _, err := books.Verify(o.RunsDir, ""); err != nil {
		t.Error(err)
	}
}
