package sweep

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

// Several trials at a time end as one after the other: the same table in the same order, each
// release in the ledger once. They are under way at the same time, and the watcher hears one at a
// time.
func TestTrialsSideBySide(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, tinySweep+"parallel: 3\n"), sweepOptions(t)
	var calls sync.Mutex
	under, most := 0, 0
	o.Watcher = Watcher{
		TrialStarted: func(TrialOverview) {
			if !calls.TryLock() {
				t.Error("the watcher is told two things at a time")
				return
			}
			defer calls.Unlock()
			under++
			most = max(most, under)
		},
		TrialStepped: func(TrialOverview, train.Progress) {
			if most < 2 {
				time.Sleep(100 * time.Millisecond) // so that others can begin meanwhile
			}
		},
		TrialFinished: func(books.Row) { under-- },
	}
	r := runSweep(t, s, o)
	if most < 2 || most > 3 {
		t.Errorf("found up to %d trials at a time, expected 3", most)
	}
	one := runSweep(t, sweepOf(t, tiny.Config, tinySweep), sweepOptions(t))
	for i, row := range r.Rows {
		if other := one.Rows[i]; row.Trial != other.Trial || row.Epsilon != other.Epsilon || row.Steps != 12 {
			t.Errorf("row %d is %+v, expected %+v", i, row, other)
		}
	}
	if len(r.Rows) != 8 || !(math.Abs(r.Composed.Epsilon/one.Composed.Epsilon-1) <= 1e-12) {
		t.Errorf("found %d rows with ε = %v together, expected %v", len(r.Rows), r.Composed.Epsilon, one.Composed.Epsilon)
	}
	if check, err := books.Verify(o.RunsDir, ""); err != nil || check.Releases != 96 || check.Runs != 8 {
		t.Errorf("found %+v (%v), expected 96 releases of 8 runs", check, err)
	}
}

// Stopped from outside, all that are under way are saved, and go on together.
func TestTrialsSideBySideAreInterrupted(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, tinySweep), sweepOptions(t)
	o.Jobs = 2
	interruptSweep(t, s, o, 30)
	if r := runSweep(t, s, o); r.Finished != 8 || r.Composed.Releases != 96 {
		t.Errorf("found %d results and %d releases, expected 8 and 96", r.Finished, r.Composed.Releases)
	}
}

// An error of one trial ends the sweep with its name; the others are saved.
func TestTrialsSideBySideEndWithOneError(t *testing.T) {
	s, o := sweepOf(t, tiny.Config, tinySweep), sweepOptions(t)
	o.Jobs = 2
	interruptSweep(t, s, o, 15)
	// Of the two that were under way, of 12 steps each, one is not over after 15.
	broken := "clip_norm=0.1,noise_multiplier=1,seed=2"
	if rows, _ := os.ReadFile(filepath.Join(o.RunsDir, "sweep", folder.Rows)); strings.Contains(string(rows), broken) {
		broken = "clip_norm=0.1,noise_multiplier=1,seed=1"
	}
	lock, err := checkpoints.TakeLock(filepath.Join(o.RunsDir, "sweep", broken+lockEnd)) // somebody works at it
	tiny.Check(t, err)
	defer lock.Remove()
	_, err = Run(t.Context(), s, o)
	if !errors.Is(err, checkpoints.ErrLocked) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "trial "+broken+": ") {
		t.Errorf("found error %v", err)
	}
}

// BenchmarkSideBySide trains three small trials one after the other, each on all cores, and three
// at a time, in turn, and reports the examples per second of both and their ratio, which `parallel`
// should make 1 or more.
func BenchmarkSideBySide(b *testing.B) {
	tiny.Synced(b)
	source := tiny.Must(data.Load(data.Spec{Name: "digits", Seed: 1}))(b)
	const steps, batch = 150, 512
	seconds := map[int]float64{}
	for b.Loop() {
		for _, parallel := range []int{1, 3} {
			s := tiny.Must(configs.ParseSweep("bench.yaml", fmt.Appendf(nil, `
name: bench
base: digits
set: {model.name: mnist-cnn, privacy.epsilon: none, privacy.noise_multiplier: 1, training.steps: %d, training.batch_size: %d}
seeds: 3
parallel: %d
`, steps, batch, parallel)))(b)
			var start time.Time
			watcher := Watcher{TrialStarted: func(TrialOverview) {
				if start.IsZero() {
					start = time.Now()
				}
			}}
			runSweep(b, s, Options{Request: setup.Request{Given: source}, RunsDir: b.TempDir(), Watcher: watcher})
			seconds[parallel] += time.Since(start).Seconds()
		}
	}
	examples := float64(b.N * 3 * steps * batch)
	b.ReportMetric(examples/seconds[1], "one-examples/s")
	b.ReportMetric(examples/seconds[3], "three-examples/s")
	b.ReportMetric(seconds[1]/seconds[3], "ratio")
	b.ReportMetric(0, "ns/op")
}
