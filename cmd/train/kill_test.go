package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// signalled starts a command line as a process, sends it a signal when something holds, and returns
// its exit code and output.
func signalled(t *testing.T, s os.Signal, when func() bool, args ...string) (int, string) {
	t.Helper()
	hearSignals(t)
	c, out := program(t, args...)
	tiny.Check(t, c.Start())
	ended := make(chan struct{})
	go func() {
		_ = c.Wait() // the exit code says it
		close(ended)
	}()
	waitFor(t, func() bool {
		select {
		case <-ended:
			t.Fatalf("it ended before the moment to send %v\n%s", s, out)
		default:
		}
		return when()
	})
	tiny.Check(t, c.Process.Signal(s))
	<-ended
	return c.ProcessState.ExitCode(), out.String()
}

// hearSignals has processes that this test starts hear signals that this one was started to ignore,
// as nohup and shells in the background have it.
func hearSignals(t *testing.T) {
	t.Helper()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) })
}

func skipWithoutSignals(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("this system has no signals")
	}
}

// A signal ends a run after its step, saved, with the code that belongs to it; resumed, the run
// ends like an uninterrupted one.
func TestSignalSavesTheRun(t *testing.T) {
	skipWithoutSignals(t)
	const steps = 250
	for _, test := range []struct {
		signal os.Signal
		code   int
	}{{os.Interrupt, 130}, {syscall.SIGTERM, 143}, {syscall.SIGQUIT, 131}, {syscall.SIGHUP, 129}} {
		t.Run(test.signal.String(), func(t *testing.T) {
			config := own(t, steps)
			code, out := signalled(t, test.signal, func() bool { return entries("runs/own-1") >= 30 }, "run", config)
			if code != test.code || !strings.Contains(out, "go on with `train resume runs"+string(filepath.Separator)+"own-1`") {
				t.Fatalf("found exit code %d, expected %d and how to go on\n%s", code, test.code, out)
			}
			says(t, out, "stopping after this step, then saving; again to stop now")
			stopped := entries("runs/own-1")
			if stopped >= steps {
				t.Fatalf("the run was over before the signal: %d releases", stopped)
			}
			if test.signal != os.Interrupt {
				return // saved as that one is
			}
			r := lastLine(t, succeed(t, "resume", "runs/own-1", "--json"))
			if r["status"] != "done" || r["steps"] != float64(steps) || entries("runs/own-1") != steps || r["epsilon"].(float64) > 5 {
				t.Errorf("stopped at %d, found %v and %d releases, expected %d", stopped, r, entries("runs/own-1"), steps)
			}
		})
	}
}

// A run whose output nobody reads any more, as in `train run | head`, saves and ends like one that
// a signal stops.
func TestReaderThatIsGone(t *testing.T) {
	skipWithoutSignals(t)
	const steps = 200
	config := own(t, steps)
	c, out := program(t, "run", config, "--set", "training.evaluate_every=1")
	read, write, err := os.Pipe()
	tiny.Check(t, err)
	c.Stdout = write
	tiny.Check(t, c.Start())
	write.Close()
	_, err = bufio.NewReaderSize(read, 16).ReadString('\n')
	tiny.Check(t, err)
	read.Close()
	_ = c.Wait()
	same(t, "exit code after\n"+out.String(), c.ProcessState.ExitCode(), 141)
	if r := lastLine(t, succeed(t, "resume", "runs/own-1", "--json")); r["status"] != "done" || entries("runs/own-1") != steps {
		t.Errorf("found %v and %d releases, expected %d", r, entries("runs/own-1"), steps)
	}
}

// A signal ends a command that saves nothing at once, whatever it is computing.
func TestSignalEndsAQuestion(t *testing.T) {
	skipWithoutSignals(t)
	var question strings.Builder // one that takes an accountant minutes
	question.WriteString(`{"accountant":"pld","delta":1e-5,"phases":[`)
	for i := range 20_000 {
		fmt.Fprintf(&question, `{"sampling_probability":%g,"noise_multiplier":1,"steps":1000},`, 0.01+1e-7*float64(i))
	}
	question.WriteString(`{"sampling_probability":0.02,"noise_multiplier":1,"steps":1}]}` + "\n")
	hearSignals(t)
	c, out := program(t, "epsilon", "--batch")
	in, err := c.StdinPipe()
	tiny.Check(t, err)
	tiny.Check(t, c.Start())
	_, err = in.Write([]byte(question.String())) // longer than a pipe holds: the program is reading
	tiny.Check(t, err)
	time.Sleep(100 * time.Millisecond) // for it to begin, and a signal ends it before all the same
	tiny.Check(t, c.Process.Signal(os.Interrupt))
	_ = c.Wait() // the exit code says it
	if code := c.ProcessState.ExitCode(); code != 130 || out.Len() > 0 {
		t.Errorf("found exit code %d and %q, expected 130 and nothing", code, out)
	}
}

// A run that nohup started goes on when its terminal is gone.
func TestHangupIsIgnoredUnderNohup(t *testing.T) {
	skipWithoutSignals(t)
	nohup, err := exec.LookPath("nohup")
	if err != nil {
		t.Skip("this system has no nohup")
	}
	c, out := program(t, "run", own(t, 40))
	c.Args, c.Path = append([]string{nohup, c.Path}, c.Args[1:]...), nohup
	tiny.Check(t, c.Start())
	waitFor(t, func() bool { return entries("runs/own-1") >= 5 })
	tiny.Check(t, c.Process.Signal(syscall.SIGHUP))
	if err := c.Wait(); err != nil || entries("runs/own-1") != 40 {
		t.Errorf("found %v and %d of 40 steps\n%s", err, entries("runs/own-1"), out)
	}
}

// After kill -9 at any moment a run can be resumed, its ledger never shrinks, and the budget is not
// passed.
func TestKilledRunResumes(t *testing.T) {
	skipWithoutSignals(t)
	const run, steps = "runs/own-1", 250
	args := []string{"run", own(t, steps)}
	spent, epsilon := 0, 0.
	for range 3 {
		before := entries(run)
		signalled(t, syscall.SIGKILL, func() bool { return entries(run) >= before+25 }, args...)
		if now := entries(run); now < spent+25 {
			t.Fatalf("the ledger holds %d releases after %d", now, spent)
		}
		spent = entries(run)
		says(t, succeed(t, "epsilon", run), "\nby now there are ")
		cost := lastLine(t, succeed(t, "epsilon", run, "--json"))
		if e := cost["epsilon"].(float64); e < epsilon || e < 4.99 || e > 5 {
			t.Errorf("ε is %v after %v, expected that of the plan, never less, and at most 5", e, epsilon)
		} else {
			epsilon = e
		}
		// The ledger of the data holds as much, or lags by the entry at work.
		var total struct{ Datasets []struct{ Releases int } }
		if err := json.Unmarshal([]byte(succeed(t, "ledger", "show", "--json")), &total); err != nil || total.Datasets[0].Releases != spent {
			t.Errorf("found %+v (%v), expected %d releases", total, err, spent)
		}
		succeed(t, "ledger", "verify")
		args = []string{"resume", run}
	}
	r := lastLine(t, succeed(t, "resume", run, "--json"))
	// The noise is calibrated for all releases, repeated ones among them.
	if r["epsilon"].(float64) > 5 || entries(run) != steps || r["steps"].(float64) > steps {
		t.Errorf("found %v with %d releases", r, entries(run))
	}
}

// kill -9 again and again, at random moments, costs one step of budget each time at most: by
// default each step is in a checkpoint before the event of the next is written.
// TestGoesOnAfterEveryStep of internal/run holds this without a process.
func TestKillCostsOneStep(t *testing.T) {
	skipWithoutSignals(t)
	slow.Evidence(t)
	const run, steps, kills = "runs/own-1", 400, 12
	config := own(t, steps)
	tiny.Write(t, config, strings.Replace(tiny.Read(t, config), "run: {checkpoint_every: 20}\n", "", 1))
	args, lost := []string{"run", config}, 0
	for kill := range kills {
		moment := entries(run) + 1 + rand.IntN(10)
		signalled(t, syscall.SIGKILL, func() bool { return entries(run) >= moment }, args...)
		saved, _, err := checkpoints.Latest(filepath.Join(run, "checkpoints"))
		tiny.Check(t, err)
		if now := entries(run) - saved.Step; now < lost || now > lost+1 {
			t.Fatalf("kill %d: the ledger holds %d releases beside step %d, expected %d or %d more", kill+1, entries(run), saved.Step, lost, lost+1)
		} else {
			lost = now
		}
		args = []string{"resume", run}
	}
	before := entries(run)
	r := lastLine(t, succeed(t, "resume", run, "--json"))
	// The noise is calibrated for all releases, those that were lost among them.
	if r["epsilon"].(float64) > 5 || entries(run) != steps || r["steps"] != float64(steps-lost) || before >= steps {
		t.Errorf("found %v with %d releases and %d lost in %d kills, expected %d steps", r, entries(run), lost, kills, steps-lost)
	}
	succeed(t, "ledger", "verify")
	t.Logf("%d kills lost %d steps of %d", kills, lost, steps)
}

// Runs that are trained at the same time, each by a process of its own, share one ledger of their
// data, and both are in it, whole.
func TestRunsAtTheSameTime(t *testing.T) {
	skipWithoutSignals(t)
	config := own(t, 80)
	first, out := program(t, "run", config)
	tiny.Check(t, first.Start())
	waitFor(t, func() bool { return entries("runs/own-1") > 0 })
	r := lastLine(t, succeed(t, "run", config, "--json"))
	if err := first.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var total struct {
		Datasets []struct {
			Releases int
			Epsilon  float64
		}
	}
	tiny.Check(t, json.Unmarshal([]byte(succeed(t, "ledger", "show", "--json")), &total))
	if len(total.Datasets) != 1 || total.Datasets[0].Releases != 160 || r["dataset_runs"] != 2. || r["dataset_epsilon"].(float64) > total.Datasets[0].Epsilon {
		t.Errorf("found %+v after %v, expected 160 releases of two runs", total, r)
	}
	succeed(t, "ledger", "verify")
}

// A second process on a run or sweep is turned away.
func TestInUse(t *testing.T) {
	skipWithoutSignals(t)
	t.Chdir(t.TempDir())
	const run = "runs/own-1"
	signalled(t, os.Interrupt, func() bool {
		if entries(run) < 5 {
			return false
		}
		refused(t, shell.ExitInUse, "in use by another process", "resume", run)
		return true
	}, "run", ownConfig(t, pictures(t), 2000))
}

// SIGINT ends a sweep after the step at work, saved, and says how to go on.
func TestInterruptedSweepSaysHowToGoOn(t *testing.T) {
	skipWithoutSignals(t)
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+own(t, 300)+"\nseeds: [1, 2]\n")
	code, out := signalled(t, os.Interrupt, func() bool { return entries("runs/grid/seed=1") >= 10 }, "sweep", "grid.yaml")
	if code != 130 || !strings.Contains(out, "stopped and saved with 0 of 2 trials finished; go on with `train sweep grid.yaml`") {
		t.Errorf("found exit code %d\n%s", code, out)
	}
	code, out = signalled(t, os.Interrupt, func() bool { return entries("runs/grid/seed=2") >= 10 }, "sweep", "grid.yaml", "--trial", "2")
	if code != 130 || !strings.Contains(out, "0 of the 1 trials of this task have a result; go on with the same command") {
		t.Errorf("a task: found exit code %d\n%s", code, out)
	}
}
