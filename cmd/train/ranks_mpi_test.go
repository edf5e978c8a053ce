//go:build mpi

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/mpi/mpitest"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// rankJob is a run of several ranks under a launcher.
type rankJob struct {
	t        *testing.T
	program  string
	runs     string // folder of runs
	launched *exec.Cmd
	out      bytes.Buffer
	ended    chan struct{}
}

// jobSteps of a run are more than a test waits for, but for the last one.
const jobSteps = 150

// newJob makes a job of the test binary, which is train-mpi here.
func newJob(t *testing.T, runs string) *rankJob {
	t.Setenv(mainVariable, "1")
	return &rankJob{t: t, program: os.Args[0], runs: runs, ended: make(chan struct{})}
}

// underWay starts a job of three ranks, and waits for some steps of it.
func underWay(t *testing.T, l mpitest.Launcher) *rankJob {
	t.Helper()
	j := startRanks(t, l)
	j.await("some steps", func() bool { return j.events() > 20 && len(j.alive()) == 3 })
	return j
}

// startRanks starts a job of three ranks, or of other parts.
func startRanks(t *testing.T, l mpitest.Launcher, parts ...mpitest.Part) *rankJob {
	t.Helper()
	j := newJob(t, t.TempDir())
	if len(parts) == 0 {
		parts = []mpitest.Part{{Ranks: 3, Command: j.command()}}
	}
	j.launch(l, parts...)
	return j
}

func (j *rankJob) launch(l mpitest.Launcher, parts ...mpitest.Part) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	j.t.Cleanup(cancel)
	j.launched = l.Start(ctx, parts...)
	j.launched.Env = append(j.launched.Env, "DPSGD_PATIENCE="+cmp.Or(os.Getenv("DPSGD_PATIENCE"), "30s")) // a busy machine holds ranks up
	j.launched.Stdout, j.launched.Stderr = &j.out, &j.out
	tiny.Check(j.t, j.launched.Start())
	go func() {
		j.launched.Wait()
		close(j.ended)
	}()
}

// command trains a small network on few threads, with a checkpoint of every step.
func (j *rankJob) command() []string {
	return []string{j.program, "run", "digits", "--runs-dir", j.runs, "--set", "performance.threads=1", "--set", "training.batch_size=64",
		"--set", fmt.Sprintf("training.steps=%d", jobSteps), "--set", "run.checkpoint_every=1"}
}

func (j *rankJob) run() string { return filepath.Join(j.runs, "digits-1") }

// events is how many releases the ledger holds.
func (j *rankJob) events() int { return entries(j.run()) }

// saved is the step of the newest checkpoint.
func (j *rankJob) saved() int {
	state, _, err := checkpoints.Latest(filepath.Join(j.run(), folder.Checkpoints))
	if err != nil {
		return 0
	}
	return state.Step
}

func (j *rankJob) await(what string, done func() bool) {
	j.t.Helper()
	for range 1800 {
		if done() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	j.t.Fatalf("waited three minutes for %s:\n%s", what, j.out.String())
}

// alive are the processes of the ranks by their numbers, as the system has them.
func (j *rankJob) alive() map[int]int {
	found := map[int]int{}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		file, err := os.Readlink(filepath.Join(p, "exe"))
		if err != nil || !strings.HasPrefix(file, j.program) {
			continue
		}
		environment, _ := os.ReadFile(filepath.Join(p, "environ"))
		for _, variable := range strings.Split(string(environment), "\x00") {
			for _, name := range []string{"OMPI_COMM_WORLD_RANK=", "PMI_RANK="} {
				if number, ok := strings.CutPrefix(variable, name); ok {
					rank, _ := strconv.Atoi(number)
					found[rank], _ = strconv.Atoi(filepath.Base(p))
				}
			}
		}
	}
	return found
}

// over waits for the end of the job: no process is left, at most one event has no step in a
// checkpoint, and what was said holds the words.
func (j *rankJob) over(words ...string) {
	j.t.Helper()
	<-j.ended // by its context at last
	j.await("all ranks to end", func() bool { return len(j.alive()) == 0 })
	if events, saved := j.events(), j.saved(); events < saved || events > saved+1 {
		j.t.Errorf("the ledger holds %d events and the checkpoint step %d, expected as many, or one event more", events, saved)
	}
	says(j.t, j.out.String(), words...)
}

// resumed goes on with the run in one process, which counts one step twice at most.
func (j *rankJob) resumed() {
	j.t.Helper()
	text, err := exec.Command(j.program, "resume", j.run(), "--json").Output()
	if err != nil {
		j.t.Fatalf("%v: %s", err, text)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var result struct {
		Status  string
		Steps   int
		Epsilon float64
		Target  float64 `json:"target_epsilon"`
	}
	tiny.Check(j.t, json.Unmarshal(lines[len(lines)-1], &result))
	if lost := j.events() - result.Steps; lost > 1 || result.Epsilon > result.Target {
		j.t.Errorf("found %+v, and %d steps that the ledger counts twice, expected at most the budget and one step", result, lost)
	}
}

// each runs a test under every launcher.
func each(t *testing.T, test func(t *testing.T, l mpitest.Launcher)) {
	for i, l := range mpitest.Launchers(t) {
		if i > 0 && !slow.Asked() {
			break // the others behave alike, and each test takes a while
		}
		t.Run(l.Name, func(t *testing.T) { test(t, l) })
	}
}

// A rank that is killed ends the job; its number is said, no process stays, and the run goes on
// with at most one step of its budget lost.
func TestKilledRankEndsTheJob(t *testing.T) {
	each(t, func(t *testing.T, l mpitest.Launcher) {
		for _, rank := range []int{0, 2} {
			j := underWay(t, l)
			killed := j.alive()[rank]
			syscall.Kill(killed, syscall.SIGKILL)
			// MPICH's launcher names a process that it ended, which need not be the first.
			j.over(fmt.Sprintf("rank %d = %d", rank, killed), map[string]string{"Open MPI": fmt.Sprintf("process rank %d with PID", rank), "MPICH": "PID"}[l.Name])
			j.resumed()
		}
	})
}

// Without its launcher no rank stays.
func TestKilledLauncherLeavesNoRank(t *testing.T) {
	each(t, func(t *testing.T, l mpitest.Launcher) {
		j := underWay(t, l)
		j.launched.Process.Kill()
		j.over()
		j.resumed()
	})
}

// A rank that hangs is named by rank 0 when its patience is over, and all end.
func TestHangingRankIsNamed(t *testing.T) {
	t.Setenv("DPSGD_PATIENCE", "3s")
	each(t, func(t *testing.T, l mpitest.Launcher) {
		j := underWay(t, l)
		syscall.Kill(j.alive()[1], syscall.SIGSTOP)
		j.over("from rank 1 of 3 for ") // a multiple of it, by how long rank 0 worked
		j.resumed()
	})
}

func init() { victims = append(victims, rankVictim) }

// rankVictim trains on two ranks. One of them is killed, or their launcher.
func rankVictim(t *testing.T) victim {
	t.Chdir(t.TempDir())
	l, j := mpitest.Launchers(t)[0], newJob(t, "runs")
	return victim{T: t, begin: j.command()[1:], again: []string{"resume", "runs/digits-1"},
		launch: func(args []string) (*exec.Cmd, *bytes.Buffer) {
			j.launched = l.Start(context.Background(), mpitest.Part{Ranks: 2, Command: append([]string{j.program}, args...)})
			j.launched.Stdout, j.launched.Stderr = &j.out, &j.out
			return j.launched, &j.out
		},
		kill: func(launcher *exec.Cmd) {
			processes := []int{launcher.Process.Pid}
			for _, rank := range j.alive() {
				processes = append(processes, rank)
			}
			_ = syscall.Kill(processes[rand.IntN(len(processes))], syscall.SIGKILL) // it may have ended
		},
		over: func() {
			j.await("all ranks to end", func() bool { return len(j.alive()) == 0 })
			_ = j.launched.Process.Kill() // Open MPI 4.1 can wait for itself forever in PMIx_server_finalize
		},
	}
}

// A signal ends the job after the step, saved; nothing is lost, with any number of ranks.
func TestSignalSavesTheJob(t *testing.T) {
	each(t, func(t *testing.T, l mpitest.Launcher) {
		j := underWay(t, l)
		syscall.Kill(j.alive()[0], syscall.SIGTERM)
		j.over("go on with")
		if events, saved := j.events(), j.saved(); events != saved {
			t.Errorf("the ledger holds %d events and the checkpoint step %d, expected as many", events, saved)
		}
		j.ended, j.out = make(chan struct{}), bytes.Buffer{}
		j.launch(l, mpitest.Part{Ranks: 2, Command: []string{j.program, "resume", j.run()}})
		j.over("all planned steps ran")
		if j.events() != jobSteps || j.saved() != jobSteps {
			t.Errorf("found %d events and a checkpoint of step %d, expected %d", j.events(), j.saved(), jobSteps)
		}
	})
}

// A rank with another program, or with other data, is named before anything is written.
func TestOtherRankIsNamed(t *testing.T) {
	each(t, func(t *testing.T, l mpitest.Launcher) {
		file := os.Args[0]
		other := filepath.Join(t.TempDir(), "other")
		tiny.Check(t, os.WriteFile(other, append([]byte(tiny.Read(t, file)), 0), 0o700))
		runs := t.TempDir()
		command := func(program string) []string { return []string{program, "run", "--runs-dir", runs} }
		j := startRanks(t, l, mpitest.Part{Ranks: 1, Command: command(file)}, mpitest.Part{Ranks: 1, Command: command(other)})
		j.over("rank 1 of 2: ranks: found a program")

		here, there := numbersTable(t, 1), numbersTable(t, 2)
		command = func(string) []string { return []string{file, "run", "table.yaml", "--runs-dir", runs} }
		j = startRanks(t, l, mpitest.Part{Ranks: 1, Folder: here, Command: command("")}, mpitest.Part{Ranks: 1, Folder: there, Command: command("")})
		j.over("rank 1 of 2: ranks: found other training examples")
		if found, _ := os.ReadDir(runs); len(found) > 0 {
			t.Errorf("found %v in the folder of runs, expected nothing", found)
		}
	})
}

// numbersTable writes a table of numbers that a seed decides, and its configuration, into a folder.
func numbersTable(t *testing.T, seed int) string {
	t.Helper()
	dir := t.TempDir()
	for name, rows := range map[string]int{"train.csv": 200, "test.csv": 50} {
		var lines strings.Builder
		lines.WriteString("a,b,label\n")
		for i := range rows {
			fmt.Fprintf(&lines, "%d,%d,%s\n", i*seed%7, i%5, []string{"x", "y"}[i%2])
		}
		tiny.Check(t, os.MkdirAll(filepath.Join(dir, "rows"), 0o700))
		tiny.Write(t, filepath.Join(dir, "rows", name), lines.String())
	}
	tiny.Write(t, filepath.Join(dir, "table.yaml"), `
data: {table: rows, columns: [a, b], label: label, classes: [x, y], mean: [3, 2], std: [2, 1]}
model: {name: logistic}
privacy: {noise_multiplier: 1, delta: 1e-4, clip_norm: 0.5}
optimizer: {name: sgd, learning_rate: 0.5}
training: {batch_size: 20, steps: 5}
`)
	return dir
}

// While the disk of rank 0 is full nothing is released without its event; with room again the run
// goes on.
func TestFullDiskOnRankZero(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("skipped: only root can mount a disk that is small")
	}
	each(t, func(t *testing.T, l mpitest.Launcher) {
		disk := t.TempDir()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=3m"); err != nil {
			t.Skipf("skipped: found no right to mount a small disk: %v", err)
		}
		defer syscall.Unmount(disk, 0)
		j := newJob(t, disk)
		j.launch(l, mpitest.Part{Ranks: 3, Command: j.command()})
		j.await("some steps", func() bool { return j.events() > 20 })
		filler := filepath.Join(disk, "filler")
		os.WriteFile(filler, make([]byte, 4<<20), 0o600) // as much as there is room for
		time.Sleep(2 * time.Second)
		stood := j.events()
		time.Sleep(time.Second)
		if now := j.events(); now != stood || now > j.saved()+1 {
			t.Errorf("on a full disk the run went from %d events to %d with a checkpoint of step %d", stood, now, j.saved())
		}
		os.Remove(filler)
		j.over("all planned steps ran")
		if events := j.events(); events != jobSteps {
			t.Errorf("the ledger holds %d events, expected %d", events, jobSteps)
		}
	})
}
