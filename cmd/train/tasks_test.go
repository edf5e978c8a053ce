package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/books"
	"dpsgd/internal/slow"
	"dpsgd/internal/sweep"
	"dpsgd/internal/tiny"

	"github.com/spf13/cobra"
)

// What a task trains follows from its flags and from what its scheduler says; whatever could be
// meant in two ways is refused.
func TestShare(t *testing.T) {
	one, shard := func(n int) *sweep.Share { return &sweep.Share{First: n} }, func(i, n int) *sweep.Share { return &sweep.Share{First: i, Every: n} }
	for _, test := range []struct {
		args, environment string
		want              *sweep.Share
		says              string // of the reason or the error
	}{
		{"", "", nil, ""},
		{"", "SLURM_ARRAY_TASK_ID=3", nil, ""},
		{"--jobs 3", "", nil, ""},
		{"--parallel 3", "", nil, ""},
		{"--collect", "JOB_COMPLETION_INDEX=3", nil, ""},
		{"--trial 3", "SLURM_ARRAY_TASK_ID=7", one(3), ""},
		{"--trial auto", "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=1", one(7), "SLURM_ARRAY_TASK_ID is 7"},
		{"--trial auto", "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=3", one(7), ""}, // a part of an array again
		{"--trial auto", "JOB_COMPLETION_INDEX=0", one(1), "which counts from 0"},
		{"--trial auto", "JOB_COMPLETION_INDEX=11", one(12), ""},
		{"--shard 4/4", "", shard(4, 4), ""},
		{"--shard auto/4 --jobs 2", "SLURM_ARRAY_TASK_ID=2", shard(2, 4), ""},
		{"--shard auto/4", "JOB_COMPLETION_INDEX=3", shard(4, 4), ""},

		{"--trial 0", "", nil, "expected a number from 1, or auto"},
		{"--trial x", "", nil, "expected a number from 1"},
		{"--trial=", "", nil, "expected a number from 1"}, // of a variable that is not set
		{"--shard=", "", nil, "expected i/n"},
		{"--trial auto", "", nil, "expected one of them"},
		{"--trial auto", "SLURM_ARRAY_TASK_ID=0", nil, "begins at 0"},
		{"--trial auto", "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=0", nil, "begins at 0"},
		{"--trial auto", "SLURM_ARRAY_TASK_ID=5 JOB_COMPLETION_INDEX=5", nil, "found both"},
		{"--trial auto", "JOB_COMPLETION_INDEX=x", nil, "expected a number"},
		{"--shard 0/4", "", nil, "expected a number from 1"},
		{"--shard 5/4", "", nil, "expected one from 1 to 4"},
		{"--shard auto/4", "JOB_COMPLETION_INDEX=4", nil, "(JOB_COMPLETION_INDEX is 4, which counts from 0), expected one from 1 to 4"},
		{"--shard 3", "", nil, "expected i/n"},
		{"--shard 1/0", "", nil, "expected i/n"},
		{"--trial 1 --collect", "", nil, "expected one"},
		{"--trial 1 --jobs 2", "", nil, "--jobs is given with --trial"},
		{"--jobs=-1", "", nil, "found --jobs -1, expected at least 1"},
	} {
		var f taskFlags
		c := &cobra.Command{}
		f.Add(c)
		tiny.Check(t, c.ParseFlags(strings.Fields(test.args)))
		got, why, err := f.Share(func(name string) string {
			for _, v := range strings.Fields(test.environment) {
				if value, is := strings.CutPrefix(v, name+"="); is {
					return value
				}
			}
			return ""
		})
		if err != nil {
			got, why = nil, err.Error()
		}
		if same := got == test.want || got != nil && test.want != nil && *got == *test.want; !same || !strings.Contains(why, test.says) {
			t.Errorf("%q in %q: found %+v and %q, expected %+v and %q", test.args, test.environment, got, why, test.want, test.says)
		}
	}
}

// sweepTotalsOf carries out a command line of sweeps and returns what it and the ledger say.
func sweepTotalsOf(t *testing.T, line ...string) (s sweep.Result, shown books.Totals) {
	t.Helper()
	tiny.Check(t, json.Unmarshal([]byte(succeed(t, append([]string{"sweep", "--json"}, line...)...)), &s))
	tiny.Check(t, json.Unmarshal([]byte(succeed(t, "ledger", "show", "--json", line[len(line)-2], line[len(line)-1])), &shown))
	return s, shown
}

// A sweep of 8 trials by an array of 4 tasks, of which two are killed with kill -9 and started
// again: each trial has one row, and the ledger of the data holds the releases of a sweep by one
// process, and those alone that the killed trials made twice. Where no task is killed, the totals
// are equal. TestKilledTasks of internal/sweep holds this at every place of one process.
func TestArrayOfTasksWithTwoKilled(t *testing.T) {
	skipWithoutSignals(t)
	slow.Evidence(t)
	const steps = 40
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+own(t, steps)+"\nset: {privacy.epsilon: none, privacy.noise_multiplier: 1}\n"+
		"grid: {privacy.clip_norm: [0.1, 1]}\nseeds: 4\n")
	all := func(runs string) (total int) {
		trials, _ := filepath.Glob(filepath.Join(runs, "grid", "*", "ledger.jsonl"))
		for _, l := range trials {
			total += entries(filepath.Dir(l))
		}
		return total
	}
	trial := func(task int) string { return fmt.Sprintf("runs/grid/clip_norm=0.1,seed=%d", task) } // the first of each
	start := func(id int, runs string) *exec.Cmd {
		c, out := program(t, "sweep", "grid.yaml", "--shard", "auto/4", "--runs-dir", runs)
		c.Env = append(c.Env, fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", id))
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("task %d:\n%s", id, out)
			}
		})
		tiny.Check(t, c.Start())
		return c
	}

	tasks := map[int]*exec.Cmd{}
	for id := 1; id <= 4; id++ {
		tasks[id] = start(id, "runs")
	}
	for id := 2; id <= 3; id++ {
		waitFor(t, func() bool { return entries(trial(id)) >= 25 })
		tiny.Check(t, tasks[id].Process.Kill())
		_ = tasks[id].Wait()
		tasks[id] = start(id, "runs")
	}
	for id, c := range tasks {
		if err := c.Wait(); err != nil {
			t.Fatalf("task %d: %v", id, err)
		}
	}
	found, shown := sweepTotalsOf(t, "grid.yaml", "--collect", "--runs-dir", "runs")
	serial, want := sweepTotalsOf(t, "grid.yaml", "--runs-dir", "serial")
	names := func(s sweep.Result) (list []string) {
		for _, r := range s.Rows {
			list = append(list, r.Trial)
		}
		return list
	}
	if found.Status != "done" || len(found.Rows) != 8 || !slices.Equal(names(found), names(serial)) {
		t.Errorf("found %s and %v, expected done and %v", found.Status, found.Rows, serial.Rows)
	}
	// Two kills, at most the 20 steps since a checkpoint and the one at work.
	if n := found.Composed.Releases; n != all("runs") || n != shown.Datasets[0].Releases || n < 8*steps || n > 8*steps+2*(20+1) {
		t.Errorf("found %d releases of the sweep and %d in the ledger of the data, expected the %d of the trials", n, shown.Datasets[0].Releases, all("runs"))
	}
	for id := 1; id <= 4; id++ {
		tiny.Check(t, start(id, "unkilled").Wait())
	}
	unkilled, shown := sweepTotalsOf(t, "grid.yaml", "--collect", "--runs-dir", "unkilled")
	if *unkilled.Composed != *serial.Composed || shown.Datasets[0].Releases != want.Datasets[0].Releases || shown.Datasets[0].Epsilon != want.Datasets[0].Epsilon {
		t.Errorf("found %+v by tasks, expected %+v as of one process", unkilled, serial)
	}
	succeed(t, "ledger", "verify", "--runs-dir", "runs")
}

// The head of the ledger does not stand for what tasks released until that is collected, and who
// prints a head says so.
func TestHeadIsNotOfTasks(t *testing.T) {
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+own(t, 2)+"\nseeds: 2\n")
	succeed(t, "sweep", "grid.yaml", "--trial", "1")
	for _, collected := range []bool{false, true} {
		for _, line := range []string{"show", "verify"} {
			if found := succeed(t, "ledger", line); strings.Contains(found, "not in the head: 1 runs") == collected {
				t.Errorf("ledger %s, collected %v: found %q", line, collected, found)
			}
		}
		succeed(t, "sweep", "grid.yaml", "--collect")
	}
}

// A report does not repeat a total that tasks have outgrown since the sweep was collected.
func TestReportOfASweepThatGoesOn(t *testing.T) {
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+own(t, 2)+"\nseeds: 2\n")
	succeed(t, "sweep", "grid.yaml", "--trial", "1")
	succeed(t, "sweep", "grid.yaml", "--collect")
	for _, test := range []struct {
		trial, says, not string
	}{{"1", "over all 4 planned releases", "by now there are"}, {"2", "results.md counts 2 releases, by now there are 4", "over all 4 planned"}} {
		succeed(t, "sweep", "grid.yaml", "--trial", test.trial)
		succeed(t, "report", "runs/grid", "--output", "report.html")
		if page := tiny.Read(t, "report.html"); !strings.Contains(page, test.says) || strings.Contains(page, test.not) {
			t.Errorf("after trial %s: expected %q and not %q in the report", test.trial, test.says, test.not)
		}
		tiny.Check(t, os.Remove("report.html"))
	}
}

// The commands that a task names go on in the same folders: in others they would begin another
// sweep.
func TestTaskNamesItsFolders(t *testing.T) {
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+own(t, 2)+"\nseeds: 2\n")
	found := succeed(t, "sweep", "grid.yaml", "--trial", "1", "--runs-dir", "the runs")
	if want := "`train sweep grid.yaml --collect --runs-dir 'the runs'`"; !strings.Contains(found, want) {
		t.Errorf("found %q, expected %s", found, want)
	}
	fits(t, found)
	says(t, succeed(t, "sweep", "grid.yaml", "--shard", "3/3", "--runs-dir", "the runs"), "none of 2, of which 0 have a result")
}

// A command line that a task cannot have is refused before anything is started.
func TestTasksRefuse(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SLURM_ARRAY_TASK_ID", "0")
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+ownConfig(t, pictures(t), 2)+"\nseeds: 2\n")
	for line, want := range map[string]string{
		"--trial auto": "begins at 0", "--trial 3": "expected one from 1 to 2", "--shard 3/2": "expected one from 1 to 2",
		"--trial 1 --collect": "expected one",
	} {
		refused(t, shell.ExitUsage, want, append([]string{"sweep", "grid.yaml"}, strings.Fields(line)...)...)
	}
	if _, err := os.Stat("runs/datasets.jsonl"); err == nil {
		t.Error("a refused task left something behind")
	}
}
