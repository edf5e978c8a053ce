package checkpoints

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"dpsgd/internal/disk"
)

// Set in the environment of a child: the directory of the run that it trains until it is killed.
const crashChildVariable = "CHECKPOINTS_CRASH_CHILD"

// Sets how often TestKill kills; 40 takes a few seconds, a nightly job may set 1000.
const killsVariable = "CHECKPOINTS_KILLS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashChildVariable); dir != "" {
		crashChild(dir)
		return
	}
	os.Exit(m.Run())
}

// crashChild trains for ever and writes what it was told on standard output.
func crashChild(dir string) {
	run := &crashRun{files: disk.System, dir: dir, saved: -1}
	step, err := run.resume()
	for err == nil {
		fmt.Printf("%d %d\n", run.acknowledged, run.saved) // unbuffered
		step++
		err = run.train(step-1, step, 3)
	}
	fmt.Println("error", err)
}

// TestKill kills a process with SIGKILL at random times while it creates, opens, appends and saves,
// and checks after each kill that nothing it reported is lost. (A kill leaves the page cache: what
// a power loss does is TestPowerLoss.)
func TestKill(t *testing.T) {
	kills := 40
	if s := os.Getenv(killsVariable); s != "" {
		kills = must(strconv.Atoi(s))
	}
	total := 0
	dir := t.TempDir()
	run := &crashRun{files: disk.System, dir: dir, saved: -1}
	for kill := range kills {
		if kill%20 == 19 { // often enough at the beginning of a run
			dir = t.TempDir()
			run = &crashRun{files: disk.System, dir: dir, saved: -1}
		}
		killAfter(t, run, kill%2*4, time.Duration(rand.IntN(40_000))*time.Microsecond)
		if err := run.check(disk.System); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		_, info, err := ReadJournal(run.ledgerPath())
		if err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		total += info.Entries - run.acknowledged
		run.acknowledged = info.Entries // check has recorded one more
	}
	if total < kills {
		t.Errorf("%d kills left %d entries: the children hardly ran", kills, total)
	}
}

// killAfter runs a child for a while after so many signs of life, of which each but the first comes
// after an entry, or after its start.
func killAfter(t *testing.T, run *crashRun, signs int, delay time.Duration) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashChildVariable+"="+run.dir)
	output := must(child.StdoutPipe())
	child.Stderr = os.Stderr
	must(0, child.Start())
	lines := bufio.NewScanner(output)
	for ; signs > 0 && lines.Scan(); signs-- {
		note(t, run, lines.Text())
	}
	time.AfterFunc(delay, func() { child.Process.Kill() })
	for lines.Scan() {
		note(t, run, lines.Text())
	}
	io.Copy(io.Discard, output)
	child.Wait() // reports the kill
}

// note takes over what a child was told. Its first line comes before it has appended.
func note(t *testing.T, run *crashRun, line string) {
	t.Helper()
	var acknowledged, saved int
	if _, err := fmt.Sscanf(line, "%d %d", &acknowledged, &saved); err != nil {
		t.Fatalf("child: %s", line)
	}
	run.acknowledged = max(run.acknowledged, acknowledged)
	run.saved = max(run.saved, saved)
}
