package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsgd/internal/books"
	"dpsgd/internal/slow"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// A victim is a job that is killed with kill -9 and gone on with, again and again, in the working
// directory, whose folder of runs is "runs".
type victim struct {
	*testing.T
	begin, again []string // command lines; again goes on
	// kill ends processes of the job; nil ends the one that was started.
	kill func(started *exec.Cmd)
	// over waits for processes that outlive one that was killed, and ends the one that was started.
	over func()
	// launch makes the process of a command line; nil is program.
	launch func(args []string) (*exec.Cmd, *bytes.Buffer)

	known map[string]string  // what the ledgers hold for certain, by their paths
	spent map[string]float64 // the largest ε that was told of each data set
}

// victims are the kinds of job, by the number of the one that begins.
var victims = []func(t *testing.T) victim{trainingVictim, correlatedVictim, sweepVictim, binsVictim}

// trainingVictim trains on the drawn digits.
func trainingVictim(t *testing.T) victim {
	t.Chdir(t.TempDir())
	return victim{T: t, again: []string{"resume", "runs/digits-1"},
		begin: []string{"run", "digits", "--set", "training.batch_size=64", "--set", "training.steps=200", "--set", "privacy.accountant=rdp", "--set", "performance.threads=1"}}
}

// correlatedVictim is killed in the middle of bands.
func correlatedVictim(t *testing.T) victim {
	v := trainingVictim(t)
	v.begin = append(v.begin, "--set", "training.sampling=cyclic", "--set", "privacy.correlation=banded")
	return v
}

// binsVictim is killed inside epochs of 10 steps, which it has paid for.
func binsVictim(t *testing.T) victim {
	v := trainingVictim(t)
	v.begin = []string{"run", "digits", "--set", "training.batch_size=2000", "--set", "training.steps=400", "--set", "training.sampling=balls_in_bins", "--set", "privacy.accountant=rdp", "--set", "performance.threads=1", "--set", "privacy.noise_multiplier=4", "--set", "privacy.epsilon=none"}
	return v
}

// sweepVictim is a sweep of two trials at a time.
func sweepVictim(t *testing.T) victim {
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+own(t, 150)+"\nseeds: 24\n")
	sweep := []string{"sweep", "grid.yaml", "--parallel", "2"}
	return victim{T: t, begin: sweep, again: sweep}
}

// released reports whether a run of the job has released something.
func (v *victim) released() bool {
	for _, dir := range v.runs() {
		if entries(dir) > 0 {
			return true
		}
	}
	return false
}

func (v *victim) runs() (dirs []string) {
	for _, pattern := range []string{"runs/*/ledger.jsonl", "runs/*/*/ledger.jsonl"} {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	return dirs
}

// note holds the ledgers, as they are now, against what was known of them: a whole line stays.
func (v *victim) note() {
	v.Helper()
	files := []string{"runs/datasets.jsonl"}
	for _, dir := range v.runs() {
		files = append(files, filepath.Join(dir, "ledger.jsonl"))
	}
	for path := range v.known {
		if _, err := os.Stat(path); err != nil {
			v.Errorf("%s is gone: %v", path, err)
		}
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		whole := string(content[:bytes.LastIndexByte(content, '\n')+1])
		if !strings.HasPrefix(whole, v.known[path]) {
			v.Errorf("%s has lost lines: found\n%s\nexpected that it begins with\n%s", path, whole, v.known[path])
		}
		if strings.Count(whole, "\n") > 1 { // a run that has released nothing may be begun anew
			v.known[path] = whole
		}
	}
}

// told asks what all releases cost, which never falls.
func (v *victim) told() {
	v.Helper()
	var shown books.Totals
	tiny.Check(v.T, json.Unmarshal([]byte(succeed(v.T, "ledger", "show", "--json")), &shown))
	for _, d := range shown.Datasets {
		if d.Epsilon < v.spent[d.Data.Name] {
			v.Errorf("ε of %s fell from %v to %v", d.Data.Name, v.spent[d.Data.Name], d.Epsilon)
		}
		v.spent[d.Data.Name] = d.Epsilon
	}
	succeed(v.T, "ledger", "verify")
}

// next returns the arguments of the job's next life: it goes on where it has released something.
func (v *victim) next() []string {
	if v.released() {
		return v.again
	}
	tiny.Check(v.T, os.RemoveAll("runs")) // nothing was promised yet
	clear(v.known)
	return v.begin
}

// live lets the job live until a random moment, or its end, and reports whether it was killed.
func (v *victim) live() (killed bool) {
	v.Helper()
	args := v.next()
	c, out := v.launch(args)
	tiny.Check(v.T, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	if rand.IntN(4) > 0 { // else it may die before its first step
		before := v.size()
		for v.size() == before && len(ended) == 0 {
			time.Sleep(2 * time.Millisecond)
		}
	}
	select {
	case err := <-ended:
		if err != nil {
			v.Fatalf("%v ended by itself: %v\n%s", args, err, out)
		}
		return false
	case <-time.After(time.Duration(rand.IntN(300_000)) * time.Microsecond):
	}
	v.note()
	v.kill(c)
	v.over()
	err := <-ended
	v.note()
	return err != nil
}

// size is how many bytes the ledger of the data has.
func (v *victim) size() int64 {
	info, err := os.Stat("runs/datasets.jsonl")
	if err != nil {
		return 0
	}
	return info.Size()
}

// die kills a job at most so many times, and then lets it come to its end. It returns how many
// times it was killed.
func (v *victim) die(most int) (kills int) {
	v.Helper()
	if v.launch == nil {
		v.launch = func(args []string) (*exec.Cmd, *bytes.Buffer) { return program(v.T, args...) }
	}
	if v.kill == nil {
		v.kill = func(c *exec.Cmd) { _ = c.Process.Kill() } // it may have ended
	}
	if v.over == nil {
		v.over = func() {}
	}
	v.known, v.spent = map[string]string{}, map[string]float64{}
	for kills < most && v.live() {
		kills++
		if v.released() {
			v.told()
		}
	}
	args := v.next()
	c, out := v.launch(args)
	if err := c.Run(); err != nil {
		v.Fatalf("%v: %v\n%s", args, err, out)
	}
	v.note()
	v.told()
	for _, dir := range v.runs() {
		if s := tiny.Must(statement.Read(dir))(v.T); s.Status != "done" && s.Status != "budget_exhausted" {
			v.Errorf("%s ended as %q", dir, s.Status)
		}
	}
	return kills
}

// kill -9 at random moments of training, sweeps and, with the tag mpi, ranks: no entry of a ledger
// is lost, no ε that was told falls, and what was killed goes on and comes to its end.
//
//	DPSGD_KILLS=1000 go test -tags mpi -timeout 0 -v -run TestKills ./cmd/train
func TestKills(t *testing.T) {
	skipWithoutSignals(t)
	if os.Getenv("DPSGD_KILLS") == "" {
		slow.Evidence(t)
	}
	kills := slow.Number(t, "DPSGD_KILLS", 20, 20)
	for job := 0; kills > 0; job++ {
		t.Run("", func(t *testing.T) {
			v := victims[job%len(victims)](t)
			n := v.die(min(kills, 25))
			kills -= n
			t.Logf("%v was killed %d times; %d to go", v.begin, n, kills)
		})
		if t.Failed() {
			return
		}
	}
}
